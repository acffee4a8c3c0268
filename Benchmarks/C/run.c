#include "baseline.h"

#include <poll.h>

double clock_seconds(clockid_t clock) {
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

bool is_stopped(int stop) {
    struct pollfd wait = {.fd = stop, .events = POLLIN};
    return poll(&wait, 1, 0) > 0;
}
