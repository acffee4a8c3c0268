#define _GNU_SOURCE
#include "CPowerSyncSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__linux__)
#include <linux/sockios.h>
#endif

#if !defined(__linux__)
static int prepare(int descriptor) {
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
    return descriptor;
}
#endif

int powersync_accept(int listener, struct sockaddr_storage *peer) {
    socklen_t length = sizeof *peer;
#if defined(__linux__)
    int descriptor = accept4(listener, (struct sockaddr *)peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
#else
    int descriptor = accept(listener, (struct sockaddr *)peer, &length);
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

ssize_t powersync_send(int descriptor, const struct iovec *parts, int count) {
    struct msghdr message = {0};
    message.msg_iov = (struct iovec *)parts;
    message.msg_iovlen = count;
#if defined(__linux__)
    int flags = MSG_NOSIGNAL;
#else
    int flags = 0;
#endif
    ssize_t sent;
    do sent = sendmsg(descriptor, &message, flags);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? -errno : sent;
}

ssize_t powersync_receive(int descriptor, void *buffer, size_t count) {
    ssize_t received;
    do received = recv(descriptor, buffer, count, 0);
    while (received < 0 && errno == EINTR);
    return received < 0 ? -errno : received;
}

void powersync_set_no_delay(int descriptor) {
    int on = 1;
    // Only a slower connection, if it fails.
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void set_tcp_option(int descriptor, int option, int value) {
    // Only a connection that ends later, if it fails.
    setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value);
}

void powersync_set_peer_timeout(int descriptor, int milliseconds) {
    int on = 1, seconds = milliseconds / 1000;
    int rest = seconds / 2 > 1 ? seconds / 2 : 1, pause = seconds / 6 > 1 ? seconds / 6 : 1;
    setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    set_tcp_option(descriptor, TCP_KEEPINTVL, pause);
    set_tcp_option(descriptor, TCP_KEEPCNT, 3);
#if defined(__APPLE__)
    set_tcp_option(descriptor, TCP_KEEPALIVE, rest);
    set_tcp_option(descriptor, TCP_RXT_CONNDROPTIME, seconds > 1 ? seconds : 1);
#else
    set_tcp_option(descriptor, TCP_KEEPIDLE, rest);
    set_tcp_option(descriptor, TCP_USER_TIMEOUT, milliseconds);
#endif
}

void powersync_set_send_buffer(int descriptor, int bytes) {
#if defined(__linux__)
    // Linux doubles the number, for what a packet takes beside its bytes (socket(7)).
    bytes /= 2;
#endif
    // Only more memory, if it fails.
    setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

int powersync_untaken(int descriptor) {
    int bytes = 0;
#if defined(__APPLE__)
    socklen_t length = sizeof bytes;
    if (getsockopt(descriptor, SOL_SOCKET, SO_NWRITE, &bytes, &length) < 0) return -errno;
#else
    if (ioctl(descriptor, SIOCOUTQ, &bytes) < 0) return -errno;
#endif
    return bytes;
}

static int listen_on(const struct addrinfo *address, int *port, int backlog) {
    int descriptor = powersync_socket(address->ai_family, SOCK_STREAM);
    if (descriptor < 0) return descriptor;
    int on = 1, off = 0;
    // A port whose last connections have not faded away is free; one that somebody listens on is not.
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (address->ai_family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    struct sockaddr_storage bound;
    socklen_t length = sizeof bound;
    if (bind(descriptor, address->ai_addr, address->ai_addrlen) < 0 || listen(descriptor, backlog) < 0 ||
        getsockname(descriptor, (struct sockaddr *)&bound, &length) < 0) {
        int error = errno;
        close(descriptor);
        return -error;
    }
    *port = ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port
                                              : ((struct sockaddr_in *)&bound)->sin_port);
    return descriptor;
}

int powersync_listen(const char *host, int *port, int backlog) {
    char service[16];
    snprintf(service, sizeof service, "%d", *port);
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, service, &hints, &found) != 0) return -EADDRNOTAVAIL;
    // A name with both kinds, like localhost, means the older kind to most of those who write 127.0.0.1.
    const struct addrinfo *chosen = found;
    for (const struct addrinfo *each = found; each != NULL; each = each->ai_next) {
        if (each->ai_family == AF_INET) {
            chosen = each;
            break;
        }
    }
    int descriptor = listen_on(chosen, port, backlog);
    freeaddrinfo(found);
    return descriptor;
}

long powersync_raise_descriptor_limit(void) {
#if defined(__APPLE__)
    const rlim_t most = OPEN_MAX;
#else
    const rlim_t most = 1 << 16;
#endif
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0) return 256;
    rlim_t wanted = limit.rlim_max < most ? limit.rlim_max : most;
    if (limit.rlim_cur < wanted) {
        struct rlimit raised = {.rlim_cur = wanted, .rlim_max = limit.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return limit.rlim_cur < 1 << 20 ? (long)limit.rlim_cur : 1 << 20;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status, (void)kind, (void)place;
    return remove(path);
}

int powersync_remove_tree(const char *path) {
    return nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) < 0 ? -errno : 0;
}
