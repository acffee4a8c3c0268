#include "CPowerSyncLossyFiles.h"

#include <stddef.h>

#if defined(__GLIBC__) || defined(__APPLE__)

#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

// The signal comes again behind it, and ends the process.
static void say(int signal) {
    (void)signal;
    void *frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
}

void powersync_say_traps(void) {
    // It loads what it needs the first time, which must not be in a handler.
    void *frames[1];
    backtrace(frames, 1);
    struct sigaction action = {.sa_handler = say, .sa_flags = SA_RESETHAND};
    const int signals[] = {SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV};
    for (size_t index = 0; index < sizeof signals / sizeof *signals; index++) sigaction(signals[index], &action, NULL);
}

#else

void powersync_say_traps(void) {}

#endif
