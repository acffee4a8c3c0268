// strcasestr is no part of POSIX.
#define _GNU_SOURCE

#include "CPowerSyncBenchmarks.h"
#include "baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Where a write to a peer that is gone would raise SIGPIPE, the program ignores that signal.
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

// A connection with its request and what came of the answer.
struct lane {
    int socket;
    int request;
    double start;
    size_t sent;
    char head[4096];
    size_t count;
    bool has_head;
    // Of the body, once the head is there.
    size_t rest;
    bool is_done;
};

struct load {
    const struct powersync_requests *requests;
    struct lane *lanes;
    struct pollfd *waits;
    double *latencies;
    double deadline;
    char *error;
    size_t room;
};

static int fail_here(struct load *load, const char *what, const char *reason) {
    return limit_fail(load->error, load->room, what, reason);
}

// MARK: One connection

static bool may_come(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int open_lane(struct load *load, struct lane *lane, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    lane->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (lane->socket < 0) return fail_here(load, "a socket", strerror(errno));
    int on = 1;
    fcntl(lane->socket, F_SETFD, FD_CLOEXEC);
    setsockopt(lane->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(lane->socket, (const struct sockaddr *)&address, sizeof address) != 0) {
        return fail_here(load, "connecting", strerror(errno));
    }
    fcntl(lane->socket, F_SETFL, fcntl(lane->socket, F_GETFL) | O_NONBLOCK);
    return 0;
}

// Sends of a request what the system takes.
static int send_more(struct load *load, struct lane *lane) {
    const struct powersync_requests *requests = load->requests;
    int connection = (int)(lane - load->lanes);
    const size_t *place =
        requests->places + (size_t)connection * (size_t)requests->requests + (size_t)lane->request;
    size_t size = place[1] - place[0];
    while (lane->sent < size) {
        const uint8_t *bytes = requests->bytes + place[0] + lane->sent;
        ssize_t count = send(lane->socket, bytes, size - lane->sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && may_come()) {
            load->waits[connection].events = POLLIN | POLLOUT;
            return 0;
        }
        if (count < 0) return fail_here(load, "a request", strerror(errno));
        lane->sent += (size_t)count;
    }
    load->waits[connection].events = POLLIN;
    return 0;
}

static int begin(struct load *load, struct lane *lane, int request) {
    lane->request = request;
    lane->sent = 0;
    lane->count = 0;
    lane->has_head = false;
    lane->is_done = false;
    lane->start = clock_seconds(CLOCK_MONOTONIC);
    return send_more(load, lane);
}

// Looks whether the head is whole, and how long its body is.
static int read_head(struct load *load, struct lane *lane) {
    static const char length_field[] = "\r\ncontent-length:";
    lane->head[lane->count] = 0;
    char *end = strstr(lane->head, "\r\n\r\n");
    if (end == NULL) {
        return lane->count + 1 < sizeof lane->head ? 0 : fail_here(load, "an answer", "its head is too long");
    }
    size_t more = lane->count - (size_t)(end + 4 - lane->head);
    *end = 0;
    const char *length = strcasestr(lane->head, length_field);
    long long size = length == NULL ? -1 : atoll(length + sizeof length_field - 1);
    if (strncmp(lane->head, "HTTP/1.1 200 ", 13) != 0) {
        lane->head[strcspn(lane->head, "\r\n")] = 0;
        return fail_here(load, "an answer", lane->head);
    }
    if (size < 0) return fail_here(load, "an answer", "it does not say its length");
    if (more > (size_t)size) return fail_here(load, "an answer", "more comes behind it");
    lane->has_head = true;
    lane->rest = (size_t)size - more;
    return 0;
}

// Reads what has come of an answer.
static int receive(struct load *load, struct lane *lane) {
    static _Thread_local char body[65536];
    ssize_t count;
    if (lane->has_head) {
        size_t wanted = lane->rest < sizeof body ? lane->rest : sizeof body;
        count = recv(lane->socket, body, wanted, 0);
    } else {
        count = recv(lane->socket, lane->head + lane->count, sizeof lane->head - 1 - lane->count, 0);
    }
    if (count < 0) return may_come() ? 0 : fail_here(load, "an answer", strerror(errno));
    if (count == 0) return fail_here(load, "an answer", "the connection was closed");
    if (lane->has_head) {
        lane->rest -= (size_t)count;
        return 0;
    }
    lane->count += (size_t)count;
    return read_head(load, lane);
}

// MARK: All connections

// Goes on with a connection; -1 on failure.
static int advance(struct load *load, struct lane *lane, short events, int end) {
    const struct powersync_requests *requests = load->requests;
    if ((events & POLLOUT) != 0 && send_more(load, lane) != 0) return -1;
    if ((events & (POLLIN | POLLHUP | POLLERR)) != 0 && receive(load, lane) != 0) return -1;
    if (!lane->has_head || lane->rest > 0) return 0;
    if (lane->request >= requests->warm) {
        size_t measured = (size_t)(requests->requests - requests->warm);
        size_t place = (size_t)(lane - load->lanes) * measured + (size_t)(lane->request - requests->warm);
        load->latencies[place] = clock_seconds(CLOCK_MONOTONIC) - lane->start;
    }
    if (lane->request + 1 < end) return begin(load, lane, lane->request + 1);
    lane->is_done = true;
    load->waits[lane - load->lanes].events = 0;
    return 0;
}

// Sends on each connection the requests from one place up to another.
static int play(struct load *load, int first, int end) {
    if (first == end) return 0;
    int connections = load->requests->connections;
    for (int index = 0; index < connections; index++) {
        if (begin(load, &load->lanes[index], first) != 0) return -1;
    }
    int left = connections;
    while (left > 0) {
        double wait = (load->deadline - clock_seconds(CLOCK_MONOTONIC)) * 1000;
        if (wait <= 0) return fail_here(load, "requests", "they are not answered in time");
        int count = poll(load->waits, (nfds_t)connections + 1, (int)wait + 1);
        if (count < 0 && errno != EINTR) return fail_here(load, "poll", strerror(errno));
        if (count <= 0) continue;
        if (load->waits[connections].revents != 0) return fail_here(load, "requests", "stopped");
        for (int index = 0; index < connections; index++) {
            struct lane *lane = &load->lanes[index];
            // A connection that hangs up behind its last answer has nothing to say any more.
            if (load->waits[index].revents == 0 || lane->is_done) continue;
            if (advance(load, lane, load->waits[index].revents, end) != 0) return -1;
            if (lane->is_done) left--;
        }
    }
    return 0;
}

static int send_all(struct load *load, int port, struct powersync_run *run) {
    const struct powersync_requests *requests = load->requests;
    for (int index = 0; index < requests->connections; index++) {
        if (open_lane(load, &load->lanes[index], port) != 0) return -1;
        load->waits[index] = (struct pollfd){.fd = load->lanes[index].socket, .events = POLLIN};
    }
    if (play(load, 0, requests->warm) != 0) return -1;
    double start = clock_seconds(CLOCK_MONOTONIC);
    double processor = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
    if (play(load, requests->warm, requests->requests) != 0) return -1;
    run->seconds = clock_seconds(CLOCK_MONOTONIC) - start;
    run->processor = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - processor;
    return 0;
}

int powersync_send_requests(
    int port, const struct powersync_requests *requests, int stop, int milliseconds, double *latencies,
    struct powersync_run *run, char *error, size_t room) {
    if (requests->connections < 1 || requests->warm < 0 || requests->requests <= requests->warm) {
        return limit_fail(error, room, "requests", "there are none");
    }
    size_t connections = (size_t)requests->connections;
    struct load load = {.requests = requests, .latencies = latencies, .error = error, .room = room};
    load.deadline = clock_seconds(CLOCK_MONOTONIC) + (double)milliseconds / 1000;
    load.lanes = calloc(connections, sizeof *load.lanes);
    load.waits = calloc(connections + 1, sizeof *load.waits);
    int result = -1;
    if (load.lanes == NULL || load.waits == NULL) {
        limit_fail(error, room, "requests", "no memory");
    } else {
        for (size_t index = 0; index < connections; index++) load.lanes[index].socket = -1;
        load.waits[connections] = (struct pollfd){.fd = stop, .events = POLLIN};
        result = send_all(&load, port, run);
    }
    for (size_t index = 0; load.lanes != NULL && index < connections; index++) {
        if (load.lanes[index].socket >= 0) close(load.lanes[index].socket);
    }
    free(load.lanes);
    free(load.waits);
    return result;
}
