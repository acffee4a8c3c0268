#include "CPowerSyncBenchmarks.h"
#include "baseline.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__

double powersync_process_seconds(int process) {
    clockid_t clock;
    return clock_getcpuclockid(process, &clock) == 0 ? clock_seconds(clock) : -1;
}

// Of the children that have ended and were waited for (proc(5), /proc/pid/stat, cutime and cstime).
static double ended_seconds(int process) {
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    bool is_read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    // The name of the program may have spaces and parentheses in it.
    const char *end = is_read ? strrchr(line, ')') : NULL;
    long user = 0, system = 0;
    static const char format[] = ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %ld %ld";
    if (end == NULL || sscanf(end, format, &user, &system) != 2) return -1;
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

double powersync_family_seconds(int process) {
    char path[64];
    double seconds = powersync_process_seconds(process);
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", process, process);
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    int child = 0;
    while (fscanf(file, "%d", &child) == 1) {
        // One that has just ended is among those below.
        double more = powersync_process_seconds(child);
        if (more > 0) seconds += more;
    }
    fclose(file);
    double ended = ended_seconds(process);
    return seconds < 0 || ended < 0 ? -1 : seconds + ended;
}

#else

double powersync_process_seconds(int process) {
    (void)process;
    return -1;
}

double powersync_family_seconds(int process) {
    (void)process;
    return -1;
}

#endif

static double seconds_of(struct timeval time) {
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

double powersync_ended_children_seconds(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0) return -1;
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}
