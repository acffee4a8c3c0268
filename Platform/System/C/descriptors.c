#define _GNU_SOURCE
#include "CPowerSyncSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#if !defined(__linux__)
static int prepare(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    return descriptor;
}
#endif

int powersync_accept(int listener) {
#if defined(__linux__)
    int descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
#else
    int descriptor = accept(listener, NULL, NULL);
    return descriptor < 0 ? -errno : prepare(descriptor);
#endif
}

int powersync_socket(int family, int type) {
#if defined(__linux__)
    int descriptor = socket(family, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return descriptor < 0 ? -errno : descriptor;
#else
    int descriptor = socket(family, type, 0);
    return descriptor < 0 ? -errno : prepare(descriptor);
#endif
}

int powersync_pipe(int *read_end, int *write_end) {
    int ends[2];
#if defined(__linux__)
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
#else
    if (pipe(ends) < 0) return -errno;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
#endif
    *read_end = ends[0];
    *write_end = ends[1];
    return 0;
}

ssize_t powersync_send(
    int descriptor, const void *first, size_t first_count, const void *second, size_t second_count) {
    struct iovec parts[2] = {
        {.iov_base = (void *)first, .iov_len = first_count},
        {.iov_base = (void *)second, .iov_len = second_count},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = second_count > 0 ? 2 : 1};
#if defined(__linux__)
    ssize_t count = sendmsg(descriptor, &message, MSG_NOSIGNAL);
#else
    ssize_t count = sendmsg(descriptor, &message, 0);
#endif
    return count < 0 ? -errno : count;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}

int powersync_remove_tree(const char *path) {
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0 ? -errno : 0;
}
