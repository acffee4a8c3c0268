#include "CPowerSyncBenchmarks.h"
#include "baseline.h"

#include <libpq-fe.h>

// How many operations a transaction has, as many as a service would have to read again after a crash.
enum { operations_of_transaction = 10000 };

static char unescaped(char letter) {
    switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'v': return '\v';
    default: return letter;
    }
}

// Cuts a row of COPY's text format into its cells, which lie in the row: escapes are undone where they stand.
static bool cut(char *row, size_t count, struct cell cells[column_count]) {
    char *from = row;
    const char *end = row + count;
    for (int column = 0; column < column_count; column++) {
        char *start = from;
        char *to = from;
        bool is_null = end - from >= 2 && from[0] == '\\' && from[1] == 'N';
        while (from < end && *from != '\t' && *from != '\n') {
            char byte = *from++;
            if (byte == '\\' && from < end) byte = unescaped(*from++);
            *to++ = byte;
        }
        char last = column + 1 < column_count ? '\t' : '\n';
        if (from == end || *from++ != last) return false;
        cells[column] = (struct cell){is_null ? NULL : start, is_null ? 0 : (size_t)(to - start)};
    }
    return from == end;
}

// Whether the COPY came to its end; the server tells of an error behind its rows.
static bool has_ended_well(PGconn *connection) {
    PGresult *end = PQgetResult(connection);
    bool is_well = PQresultStatus(end) == PGRES_COMMAND_OK;
    PQclear(end);
    return is_well;
}

// Stores all rows of the COPY that is under way.
static int store_rows(
    PGconn *connection, struct store *store, struct hasher *hasher, int64_t *rows, char *error, size_t room) {
    struct operation operation = {0};
    struct cell cells[column_count];
    int result = store_run(store, "BEGIN") ? 0 : limit_fail(error, room, "SQLite", store_error(store));
    while (result == 0) {
        char *row = NULL;
        int count = PQgetCopyData(connection, &row, 0);
        if (count == -1 && has_ended_well(connection)) break;
        if (count < 0) {
            result = limit_fail(error, room, "COPY", PQerrorMessage(connection));
        } else if (!cut(row, (size_t)count, cells) || !operation_make(&operation, hasher, cells)) {
            result = limit_fail(error, room, "COPY", "a row is not as it should be");
        } else if (!store_add(store, &operation)) {
            result = limit_fail(error, room, "SQLite", store_error(store));
        } else if (operation.op_id % operations_of_transaction == 0 && !store_run(store, "COMMIT; BEGIN")) {
            result = limit_fail(error, room, "SQLite", store_error(store));
        }
        PQfreemem(row);
    }
    if (result == 0 && !store_run(store, "COMMIT")) result = limit_fail(error, room, "SQLite", store_error(store));
    *rows = operation.op_id;
    buffer_free(&operation.data);
    return result;
}

int powersync_limit_store(const char *uri, const char *path, int64_t *rows, char *error, size_t room) {
    struct store store = {0};
    struct hasher hasher = {0};
    PGconn *connection = PQconnectdb(uri);
    PGresult *copy = NULL;
    int result = -1;
    if (PQstatus(connection) != CONNECTION_OK) {
        limit_fail(error, room, "Postgres", PQerrorMessage(connection));
    } else if (!store_open(&store, path)) {
        limit_fail(error, room, "SQLite", store_error(&store));
    } else if (!hasher_open(&hasher)) {
        limit_fail(error, room, "libcrypto", "no SHA-1 or SHA-256");
    } else {
        copy = PQexec(connection, "COPY items (id, name, a, b, n, x) TO STDOUT");
        if (PQresultStatus(copy) == PGRES_COPY_OUT) {
            result = store_rows(connection, &store, &hasher, rows, error, room);
        } else {
            limit_fail(error, room, "COPY", PQerrorMessage(connection));
        }
    }
    PQclear(copy);
    PQfinish(connection);
    hasher_close(&hasher);
    store_close(&store);
    return result;
}
