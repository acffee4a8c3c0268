#define _GNU_SOURCE
#include "CPowerSyncSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// MARK: Threads

struct start {
    void (*body)(void *);
    void *context;
};

void powersync_thread_name(void) {
#if defined(__APPLE__)
    pthread_setname_np(POWERSYNC_THREAD_NAME);
#else
    pthread_setname_np(pthread_self(), POWERSYNC_THREAD_NAME);
#endif
}

static void *run_thread(void *argument) {
    struct start start = *(struct start *)argument;
    free(argument);
    powersync_thread_name();
    start.body(start.context);
    return NULL;
}

int powersync_thread_start(void (*body)(void *context), void *context, size_t stack) {
    struct start *start = malloc(sizeof *start);
    if (start == NULL) return -ENOMEM;
    *start = (struct start){.body = body, .context = context};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int error = stack > 0 ? pthread_attr_setstacksize(&attributes, stack) : 0;
    if (error == 0) {
        // A new thread inherits the mask of its creator.
        sigset_t all, before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        pthread_t thread;
        error = pthread_create(&thread, &attributes, run_thread, start);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (error != 0) free(start);
    return -error;
}

// MARK: Processes

extern char **environ;

static int add_stream(posix_spawn_file_actions_t *actions, int descriptor, int target) {
    if (descriptor == POWERSYNC_SPAWN_INHERIT) {
#if defined(__APPLE__)
        return posix_spawn_file_actions_addinherit_np(actions, target);
#else
        return 0;
#endif
    }
    if (descriptor == POWERSYNC_SPAWN_NULL) {
        return posix_spawn_file_actions_addopen(actions, target, "/dev/null", target == 0 ? O_RDONLY : O_WRONLY, 0);
    }
    return posix_spawn_file_actions_adddup2(actions, descriptor, target);
}

int powersync_spawn(
    pid_t *process, const char *executable, char *const arguments[], char *const environment[],
    const char *working_directory, const int streams[3], bool own_session) {
    // A source below 3 could be overwritten by an earlier dup2: such sources are moved out of the way first.
    int sources[3] = {streams[0], streams[1], streams[2]};
    int moved[3] = {-1, -1, -1};
    int error = 0;
    for (int index = 0; index < 3 && error == 0; index++) {
        if (sources[index] < 0 || sources[index] > 2) continue;
        moved[index] = fcntl(sources[index], F_DUPFD_CLOEXEC, 3);
        if (moved[index] < 0) error = errno;
        sources[index] = moved[index];
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    for (int index = 0; index < 3 && error == 0; index++) error = add_stream(&actions, sources[index], index);
    if (error == 0 && working_directory != NULL) {
        error = posix_spawn_file_actions_addchdir_np(&actions, working_directory);
    }
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
#if defined(__APPLE__)
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#else
    if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, 3);
#endif
    if (own_session) flags |= POSIX_SPAWN_SETSID;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, flags);
    if (error == 0) error = posix_spawnp(process, executable, &actions, &attributes, arguments,
                                            environment != NULL ? environment : environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    for (int index = 0; index < 3; index++) {
        if (moved[index] >= 0) close(moved[index]);
    }
    return -error;
}

int powersync_wait_without_reaping(pid_t process) {
    siginfo_t information;
    while (waitid(P_PID, (id_t)process, &information, WEXITED | WNOWAIT) < 0) {
        if (errno != EINTR) return -errno;
    }
    return 0;
}

int powersync_reap(pid_t process, int *value, bool *signalled) {
    int status = 0;
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR) return -errno;
    }
    *signalled = WIFSIGNALED(status);
    *value = *signalled ? WTERMSIG(status) : WEXITSTATUS(status);
    return 0;
}

// MARK: Signals

// Signals by what they are for: ending the program, that the terminal has gone or something is to be read again, and what
// concerns a program with a screen. A slot has one or more of these groups, as bits.
enum { group_end = 1, group_hang_up = 2, group_screen = 4, group_count = 3 };

// A handler may be between reading a slot and writing to its pipe at any moment, therefore pipes are kept open
// and used again instead of being closed.
enum { slot_count = 16 };
struct slot {
    int read_end;
    int write_end;
    bool taken;
    atomic_int groups;
    atomic_bool listening;
};
static struct slot slots[slot_count];
static int slots_made = 0;
static int slots_listening[group_count];
static pthread_mutex_t slots_lock = PTHREAD_MUTEX_INITIALIZER;

static int group_of(int signal_number) {
    if (signal_number == SIGINT || signal_number == SIGTERM) return group_end;
    return signal_number == SIGHUP ? group_hang_up : group_screen;
}

static void forward(int signal_number) {
    int before = errno;
    int group = group_of(signal_number);
    unsigned char byte = (unsigned char)signal_number;
    for (int index = 0; index < slot_count; index++) {
        if (!slots[index].listening || !(slots[index].groups & group)) continue;
        // A full pipe already holds thousands of unread arrivals.
        ssize_t written = write(slots[index].write_end, &byte, 1);
        (void)written;
    }
    errno = before;
}

static void set_action(int group, void (*handler)(int)) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    if (group == group_screen) {
        sigaction(SIGWINCH, &action, NULL);
        sigaction(SIGCONT, &action, NULL);
        sigaction(SIGQUIT, &action, NULL);
    } else if (group == group_end) {
        sigaction(SIGINT, &action, NULL);
        sigaction(SIGTERM, &action, NULL);
    } else {
        // The terminal has gone, unless somebody (nohup) wants the program to outlive it.
        struct sigaction before;
        if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, NULL);
    }
}

static int open_signals(int groups, int *slot) {
    pthread_mutex_lock(&slots_lock);
    int chosen = 0;
    while (chosen < slots_made && slots[chosen].taken) chosen++;
    int error = chosen == slot_count ? EMFILE : 0;
    if (error == 0 && chosen == slots_made) {
        error = -powersync_pipe(&slots[chosen].read_end, &slots[chosen].write_end);
        if (error == 0) {
            fcntl(slots[chosen].write_end, F_SETFL, O_NONBLOCK);
            slots_made++;
        }
    }
    int descriptor = -error;
    if (error == 0) {
        slots[chosen].taken = true;
        slots[chosen].groups = groups;
        slots[chosen].listening = true;
        for (int index = 0; index < group_count; index++) {
            if ((groups & (1 << index)) == 0) continue;
            if (slots_listening[index]++ == 0) set_action(1 << index, forward);
        }
        *slot = chosen;
        descriptor = slots[chosen].read_end;
    }
    pthread_mutex_unlock(&slots_lock);
    return descriptor;
}

int powersync_stop_signals_open(bool hang_up, int *slot) {
    return open_signals(hang_up ? group_end | group_hang_up : group_end, slot);
}

int powersync_reload_signals_open(int *slot) {
    return open_signals(group_hang_up, slot);
}

int powersync_screen_signals_open(int *slot) {
    return open_signals(group_screen, slot);
}

void powersync_signals_close(int slot) {
    pthread_mutex_lock(&slots_lock);
    int groups = slots[slot].groups;
    slots[slot].listening = false;
    for (int index = 0; index < group_count; index++) {
        if ((groups & (1 << index)) == 0) continue;
        if (--slots_listening[index] == 0) set_action(1 << index, SIG_DFL);
    }
    unsigned char end = 0;
    ssize_t written = write(slots[slot].write_end, &end, 1);
    (void)written;
    pthread_mutex_unlock(&slots_lock);
}

void powersync_signals_release(int slot) {
    pthread_mutex_lock(&slots_lock);
    slots[slot].taken = false;
    pthread_mutex_unlock(&slots_lock);
}
