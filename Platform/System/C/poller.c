#include "CPowerSyncSystem.h"

#include <errno.h>
#include <unistd.h>

static const uint64_t wake_token = UINT64_MAX;

#if defined(__linux__)

#include <sys/epoll.h>
#include <sys/eventfd.h>

int powersync_poller_open(struct powersync_poller *poller) {
    poller->queue = epoll_create1(EPOLL_CLOEXEC);
    if (poller->queue < 0) return -errno;
    poller->waker = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = wake_token};
    if (poller->waker < 0 || epoll_ctl(poller->queue, EPOLL_CTL_ADD, poller->waker, &event) < 0) {
        int error = errno;
        if (poller->waker >= 0) close(poller->waker);
        close(poller->queue);
        return -error;
    }
    return 0;
}

void powersync_poller_close(const struct powersync_poller *poller) {
    close(poller->waker);
    close(poller->queue);
}

int powersync_poller_add(const struct powersync_poller *poller, int descriptor, uint64_t token) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.u64 = token};
    return epoll_ctl(poller->queue, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

int powersync_poller_remove(const struct powersync_poller *poller, int descriptor) {
    struct epoll_event event = {0};
    return epoll_ctl(poller->queue, EPOLL_CTL_DEL, descriptor, &event) < 0 ? -errno : 0;
}

int powersync_poller_wait(
    const struct powersync_poller *poller, struct powersync_event *events, int capacity, int milliseconds) {
    struct epoll_event raw[256];
    if (capacity > 256) capacity = 256;
    int count = epoll_wait(poller->queue, raw, capacity, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    int kept = 0;
    for (int index = 0; index < count; index++) {
        // The waker is edge-triggered too, so its counter never needs to be read.
        if (raw[index].data.u64 == wake_token) continue;
        uint32_t bits = raw[index].events;
        bool hung_up = (bits & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        events[kept].token = raw[index].data.u64;
        events[kept].readable = hung_up || (bits & EPOLLIN) != 0;
        events[kept].writable = (bits & (EPOLLOUT | EPOLLHUP | EPOLLERR)) != 0;
        events[kept].hung_up = hung_up;
        kept++;
    }
    return kept;
}

void powersync_poller_wake(const struct powersync_poller *poller) {
    uint64_t one = 1;
    // Fails only when the counter is full, and then the poller is awake anyway.
    ssize_t written = write(poller->waker, &one, sizeof one);
    (void)written;
}

#else

#include <sys/event.h>
#include <sys/time.h>
#include <fcntl.h>

int powersync_poller_open(struct powersync_poller *poller) {
    poller->waker = -1;
    poller->queue = kqueue();
    if (poller->queue < 0) return -errno;
    fcntl(poller->queue, F_SETFD, FD_CLOEXEC);
    struct kevent change;
    EV_SET(&change, 0, EVFILT_USER, EV_ADD | EV_CLEAR, 0, 0, (void *)(uintptr_t)wake_token);
    if (kevent(poller->queue, &change, 1, NULL, 0, NULL) < 0) {
        int error = errno;
        close(poller->queue);
        return -error;
    }
    return 0;
}

void powersync_poller_close(const struct powersync_poller *poller) {
    close(poller->queue);
}

int powersync_poller_add(const struct powersync_poller *poller, int descriptor, uint64_t token) {
    struct kevent changes[2];
    EV_SET(&changes[0], descriptor, EVFILT_READ, EV_ADD | EV_CLEAR, 0, 0, (void *)(uintptr_t)token);
    EV_SET(&changes[1], descriptor, EVFILT_WRITE, EV_ADD | EV_CLEAR, 0, 0, (void *)(uintptr_t)token);
    // A pipe has one direction only: one of the two registrations is enough.
    bool reads = kevent(poller->queue, &changes[0], 1, NULL, 0, NULL) == 0;
    bool writes = kevent(poller->queue, &changes[1], 1, NULL, 0, NULL) == 0;
    return reads || writes ? 0 : -errno;
}

int powersync_poller_remove(const struct powersync_poller *poller, int descriptor) {
    struct kevent changes[2];
    EV_SET(&changes[0], descriptor, EVFILT_READ, EV_DELETE, 0, 0, NULL);
    EV_SET(&changes[1], descriptor, EVFILT_WRITE, EV_DELETE, 0, 0, NULL);
    bool reads = kevent(poller->queue, &changes[0], 1, NULL, 0, NULL) == 0;
    bool writes = kevent(poller->queue, &changes[1], 1, NULL, 0, NULL) == 0;
    return reads || writes ? 0 : -errno;
}

int powersync_poller_wait(
    const struct powersync_poller *poller, struct powersync_event *events, int capacity, int milliseconds) {
    struct kevent raw[256];
    if (capacity > 256) capacity = 256;
    struct timespec timeout = {.tv_sec = milliseconds / 1000, .tv_nsec = (milliseconds % 1000) * 1000000L};
    int count = kevent(poller->queue, NULL, 0, raw, capacity, milliseconds < 0 ? NULL : &timeout);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    int kept = 0;
    for (int index = 0; index < count; index++) {
        if (raw[index].filter == EVFILT_USER) continue;
        bool ended = (raw[index].flags & EV_EOF) != 0;
        events[kept].token = (uint64_t)(uintptr_t)raw[index].udata;
        events[kept].readable = ended || raw[index].filter == EVFILT_READ;
        events[kept].writable = raw[index].filter == EVFILT_WRITE;
        events[kept].hung_up = ended;
        kept++;
    }
    return kept;
}

void powersync_poller_wake(const struct powersync_poller *poller) {
    struct kevent change;
    EV_SET(&change, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, (void *)(uintptr_t)wake_token);
    kevent(poller->queue, &change, 1, NULL, 0, NULL);
}

#endif
