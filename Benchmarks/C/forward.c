#include "CPowerSyncBenchmarks.h"
#include "baseline.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libpq-fe.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

// Where a write to a peer that is gone would raise SIGPIPE, the program ignores that signal.
#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

struct forwarder {
    PGconn *connection;
    struct store store;
    struct hasher hasher;
    int stop;
    int client;
    // Of the last operation that was made.
    struct operation operation;
    // The last one that was sent.
    int64_t sent_op_id;
    // The operations of the transaction that is read, with commas between them.
    struct buffer operations;
    // The line, and then the chunk with it.
    struct buffer line;
    struct buffer chunk;
    // Up to where the log is on the disk here.
    uint64_t stored;
    char *error;
    size_t room;
};

static int fail_here(struct forwarder *forwarder, const char *what, const char *reason) {
    return limit_fail(forwarder->error, forwarder->room, what, reason);
}

// MARK: Waiting

enum waiting { waiting_over, waiting_stopped, waiting_failed };

// Waits until a descriptor can be read, or all shall end.
static enum waiting wait_for(const struct forwarder *forwarder, int descriptor) {
    struct pollfd waits[2] = {{.fd = descriptor, .events = POLLIN}, {.fd = forwarder->stop, .events = POLLIN}};
    while (poll(waits, 2, -1) < 0) {
        if (errno != EINTR) return waiting_failed;
    }
    return waits[1].revents != 0 ? waiting_stopped : waiting_over;
}

// MARK: The client

static bool send_all(int client, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(client, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

// Sends what is in `line` as one chunk.
static int send_line(struct forwarder *forwarder) {
    struct buffer *chunk = &forwarder->chunk;
    char size[32];
    snprintf(size, sizeof size, "%zx\r\n", forwarder->line.count);
    chunk->count = 0;
    buffer_text(chunk, size);
    buffer_add(chunk, forwarder->line.bytes, forwarder->line.count);
    buffer_text(chunk, "\r\n");
    if (forwarder->line.is_cut || chunk->is_cut) return fail_here(forwarder, "a line", "no memory");
    if (!send_all(forwarder->client, chunk->bytes, chunk->count)) {
        return fail_here(forwarder, "the client", strerror(errno));
    }
    return 0;
}

// Accepts the client, reads the head of its request and answers; 1 if all shall end.
static int accept_client(struct forwarder *forwarder, int listener) {
    static const char head[] =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n";
    static const char first[] =
        "{\"checkpoint\":{\"last_op_id\":\"0\",\"buckets\":[],\"streams\":[]}}\n"
        "{\"checkpoint_complete\":{\"last_op_id\":\"0\"}}\n";
    while (forwarder->client < 0) {
        enum waiting waiting = wait_for(forwarder, listener);
        if (waiting == waiting_stopped) return 1;
        if (waiting == waiting_failed) return fail_here(forwarder, "poll", strerror(errno));
        forwarder->client = accept(listener, NULL, NULL);
        bool may_come = errno == EAGAIN || errno == EINTR || errno == ECONNABORTED;
        if (forwarder->client < 0 && !may_come) return fail_here(forwarder, "accept", strerror(errno));
    }
    int on = 1;
    int flags = fcntl(forwarder->client, F_GETFL);
    fcntl(forwarder->client, F_SETFL, flags & ~O_NONBLOCK);
    fcntl(forwarder->client, F_SETFD, FD_CLOEXEC);
    setsockopt(forwarder->client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    // The body says nothing that is wanted here, and stays unread.
    char request[8192];
    size_t count = 0;
    request[0] = 0;
    while (strstr(request, "\r\n\r\n") == NULL) {
        enum waiting waiting = wait_for(forwarder, forwarder->client);
        if (waiting == waiting_stopped) return 1;
        if (waiting == waiting_failed) return fail_here(forwarder, "poll", strerror(errno));
        ssize_t more = recv(forwarder->client, request + count, sizeof request - 1 - count, 0);
        if (more < 0 && errno == EINTR) continue;
        if (more <= 0) return fail_here(forwarder, "the client", "no request came");
        count += (size_t)more;
        request[count] = 0;
    }
    if (!send_all(forwarder->client, head, sizeof head - 1)) {
        return fail_here(forwarder, "the client", strerror(errno));
    }
    forwarder->line.count = 0;
    buffer_text(&forwarder->line, first);
    return send_line(forwarder);
}

// MARK: The log

static uint64_t big_endian(const unsigned char *bytes, int count) {
    uint64_t number = 0;
    for (int index = 0; index < count; index++) number = number << 8 | bytes[index];
    return number;
}

// Tells the server up to where the log is stored.
static int acknowledge(struct forwarder *forwarder) {
    char message[34] = {'r'};
    // Written, on the disk, applied; then the time and whether an answer is wanted, which stay 0.
    for (int place = 0; place < 3; place++) {
        for (int index = 0; index < 8; index++) {
            message[1 + 8 * place + index] = (char)(forwarder->stored >> (56 - 8 * index));
        }
    }
    if (PQputCopyData(forwarder->connection, message, sizeof message) == 1 && PQflush(forwarder->connection) == 0) {
        return 0;
    }
    return fail_here(forwarder, "replication", PQerrorMessage(forwarder->connection));
}

// Takes the cells of an Insert message, which lie in the message.
static bool take_cells(const unsigned char *message, size_t count, struct cell cells[column_count]) {
    // The kind of the message, the relation, the letter N, the number of columns.
    const unsigned char *from = message + 8;
    const unsigned char *end = message + count;
    if (count < 8 || message[5] != 'N' || big_endian(message + 6, 2) != column_count) return false;
    for (int column = 0; column < column_count; column++) {
        if (from == end) return false;
        unsigned char kind = *from++;
        cells[column] = (struct cell){NULL, 0};
        if (kind == 'n') continue;
        if (kind != 't' || end - from < 4) return false;
        size_t length = big_endian(from, 4);
        from += 4;
        if ((size_t)(end - from) < length) return false;
        cells[column] = (struct cell){(const char *)from, length};
        from += length;
    }
    return from == end;
}

static int insert(struct forwarder *forwarder, const unsigned char *message, size_t count) {
    struct cell cells[column_count];
    if (!take_cells(message, count, cells) || !operation_make(&forwarder->operation, &forwarder->hasher, cells)) {
        return fail_here(forwarder, "replication", "a row is not as it should be");
    }
    bool is_first = forwarder->operations.count == 0;
    if ((is_first && !store_run(&forwarder->store, "BEGIN"))
        || !store_add(&forwarder->store, &forwarder->operation)) {
        return fail_here(forwarder, "SQLite", store_error(&forwarder->store));
    }
    if (!is_first) buffer_text(&forwarder->operations, ",");
    operation_write(&forwarder->operation, &forwarder->operations);
    return 0;
}

// Stores a transaction, sends it, acknowledges it.
static int commit(struct forwarder *forwarder) {
    if (forwarder->operations.count > 0) {
        if (!store_run(&forwarder->store, "COMMIT")) {
            return fail_here(forwarder, "SQLite", store_error(&forwarder->store));
        }
        struct buffer *line = &forwarder->line;
        char text[96];
        line->count = 0;
        snprintf(text, sizeof text, "\"after\":\"%" PRId64 "\",\"has_more\":false,", forwarder->sent_op_id);
        buffer_text(line, "{\"data\":{\"bucket\":\"1#all|0[]\",");
        buffer_text(line, text);
        buffer_text(line, "\"data\":[");
        buffer_add(line, forwarder->operations.bytes, forwarder->operations.count);
        forwarder->sent_op_id = forwarder->operation.op_id;
        snprintf(text, sizeof text, "],\"next_after\":\"%" PRId64 "\"}}\n", forwarder->sent_op_id);
        buffer_text(line, text);
        if (forwarder->operations.is_cut) return fail_here(forwarder, "a line", "no memory");
        if (send_line(forwarder) != 0) return -1;
        forwarder->operations.count = 0;
    }
    return acknowledge(forwarder);
}

// Takes one message of the stream.
static int take(struct forwarder *forwarder, const unsigned char *message, size_t count) {
    if (count >= 18 && message[0] == 'k') return message[17] != 0 ? acknowledge(forwarder) : 0;
    // Behind the head of 25 bytes stands what pgoutput says.
    if (count < 26 || message[0] != 'w') return fail_here(forwarder, "replication", "an unknown message");
    const unsigned char *change = message + 25;
    count -= 25;
    switch (change[0]) {
    case 'I': return insert(forwarder, change, count);
    case 'C':
        if (count < 18) return fail_here(forwarder, "replication", "a commit is cut");
        // Behind the flags and the position of the commit: where the transaction ends.
        forwarder->stored = big_endian(change + 10, 8);
        return commit(forwarder);
    case 'U':
    case 'D':
    case 'T': return fail_here(forwarder, "replication", "inserts alone are forwarded");
    default: return 0;
    }
}

// Forwards until all shall end.
static int forward(struct forwarder *forwarder) {
    PGconn *connection = forwarder->connection;
    while (true) {
        char *message = NULL;
        int count = PQgetCopyData(connection, &message, 1);
        if (count > 0) {
            int result = take(forwarder, (const unsigned char *)message, (size_t)count);
            PQfreemem(message);
            if (result != 0) return result;
            continue;
        }
        if (count < 0) return fail_here(forwarder, "replication", PQerrorMessage(connection));
        switch (wait_for(forwarder, PQsocket(connection))) {
        case waiting_stopped: return 0;
        case waiting_failed: return fail_here(forwarder, "poll", strerror(errno));
        case waiting_over: break;
        }
        if (PQconsumeInput(connection) != 1) {
            return fail_here(forwarder, "replication", PQerrorMessage(connection));
        }
    }
}

// MARK: Starting

static bool replicate(PGconn *connection, const char *command, ExecStatusType wanted) {
    PGresult *result = PQexec(connection, command);
    bool is_done = PQresultStatus(result) == wanted;
    PQclear(result);
    return is_done;
}

static int start(struct forwarder *forwarder, const char *uri, const char *path) {
    const char *const names[] = {"dbname", "replication", NULL};
    const char *const values[] = {uri, "database", NULL};
    forwarder->connection = PQconnectdbParams(names, values, 1);
    /* A server has one slot of a name, and may serve several of these. */
    int session = PQbackendPID(forwarder->connection);
    char create[128], begin[160];
    snprintf(
        create, sizeof create,
        "CREATE_REPLICATION_SLOT powersync_limit_%d TEMPORARY LOGICAL pgoutput NOEXPORT_SNAPSHOT", session);
    snprintf(
        begin, sizeof begin,
        "START_REPLICATION SLOT powersync_limit_%d LOGICAL 0/0 (proto_version '1', publication_names 'powersync')",
        session);
    bool is_started =
        PQstatus(forwarder->connection) == CONNECTION_OK
        && replicate(forwarder->connection, create, PGRES_TUPLES_OK)
        && replicate(forwarder->connection, begin, PGRES_COPY_BOTH);
    if (!is_started) return fail_here(forwarder, "replication", PQerrorMessage(forwarder->connection));
    if (!store_open(&forwarder->store, path)) {
        return fail_here(forwarder, "SQLite", store_error(&forwarder->store));
    }
    if (!hasher_open(&forwarder->hasher)) return fail_here(forwarder, "libcrypto", "no SHA-1 or SHA-256");
    return 0;
}

int powersync_limit_forward(
    const char *uri, const char *path, int listener, int stop, char *error, size_t room) {
    struct forwarder forwarder = {.stop = stop, .client = -1, .error = error, .room = room};
    int result = start(&forwarder, uri, path);
    if (result == 0) result = accept_client(&forwarder, listener);
    if (result == 0) result = forward(&forwarder);
    if (forwarder.client >= 0) close(forwarder.client);
    PQfinish(forwarder.connection);
    hasher_close(&forwarder.hasher);
    store_close(&forwarder.store);
    buffer_free(&forwarder.operation.data);
    buffer_free(&forwarder.operations);
    buffer_free(&forwarder.line);
    buffer_free(&forwarder.chunk);
    return result < 0 ? -1 : 0;
}
