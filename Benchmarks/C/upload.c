#include "CPowerSyncBenchmarks.h"
#include "baseline.h"

#include <libpq-fe.h>
#include <stdio.h>

enum { most_columns = 16, most_tables = 8 };

struct uploader {
    const struct powersync_uploads *uploads;
    PGconn *connection;
    // The arrays of one upsert.
    struct buffer arrays[most_columns];
    char *error;
    size_t room;
};

// Sends the statements of the transaction at a place; returns how many, or -1.
typedef int (*send_transaction)(struct uploader *uploader, int transaction);

static int fail_here(struct uploader *uploader, const char *what) {
    return limit_fail(uploader->error, uploader->room, what, PQerrorMessage(uploader->connection));
}

// The columns of a row.
static const char *const *row_at(const struct uploader *uploader, int transaction, int row) {
    const struct powersync_uploads *uploads = uploader->uploads;
    return uploads->cells + ((size_t)transaction * (size_t)uploads->rows + (size_t)row) * (size_t)uploads->columns;
}

// What the statement of a table is called.
static void statement_name(char name[16], int table) {
    snprintf(name, 16, "table_%d", table);
}

static bool send_prepared(struct uploader *uploader, int table, const char *const *values) {
    char name[16];
    statement_name(name, table);
    int columns = uploader->uploads->columns;
    return PQsendQueryPrepared(uploader->connection, name, columns, values, NULL, NULL, 0) == 1;
}

static bool send_plain(struct uploader *uploader, const char *sql) {
    return PQsendQueryParams(uploader->connection, sql, 0, NULL, NULL, NULL, NULL, 0) == 1;
}

// MARK: Rows

static int send_rows(struct uploader *uploader, int transaction) {
    const struct powersync_uploads *uploads = uploader->uploads;
    for (int row = 0; row < uploads->rows; row++) {
        if (!send_prepared(uploader, row % uploads->tables, row_at(uploader, transaction, row))) return -1;
    }
    return uploads->rows;
}

// MARK: Arrays

// Adds a value to an array as SQL spells it.
static void add_element(struct buffer *array, const char *value) {
    if (array->count > 1) buffer_text(array, ",");
    if (value == NULL) {
        buffer_text(array, "NULL");
        return;
    }
    buffer_text(array, "\"");
    const char *plain = value;
    for (const char *byte = value; *byte != 0; byte++) {
        if (*byte != '"' && *byte != '\\') continue;
        buffer_add(array, plain, (size_t)(byte - plain));
        buffer_text(array, "\\");
        plain = byte;
    }
    buffer_text(array, plain);
    buffer_text(array, "\"");
}

static int send_upserts(struct uploader *uploader, int transaction) {
    const struct powersync_uploads *uploads = uploader->uploads;
    const char *values[most_columns];
    for (int table = 0; table < uploads->tables; table++) {
        for (int column = 0; column < uploads->columns; column++) {
            uploader->arrays[column].count = 0;
            buffer_text(&uploader->arrays[column], "{");
        }
        for (int row = table; row < uploads->rows; row += uploads->tables) {
            const char *const *cells = row_at(uploader, transaction, row);
            for (int column = 0; column < uploads->columns; column++) {
                add_element(&uploader->arrays[column], cells[column]);
            }
        }
        for (int column = 0; column < uploads->columns; column++) {
            struct buffer *array = &uploader->arrays[column];
            buffer_add(array, "}", 2);
            if (array->is_cut) return -1;
            values[column] = array->bytes;
        }
        if (!send_prepared(uploader, table, values)) return -1;
    }
    return uploads->tables;
}

// MARK: Transactions

// Reads the results of a pipeline up to its end, of so many statements that all must have gone well.
static int finish(struct uploader *uploader, int statements) {
    int done = 0;
    bool has_failed = false, was_null = false;
    while (true) {
        PGresult *result = PQgetResult(uploader->connection);
        if (result == NULL) {
            // One behind each statement; nothing else follows where the connection is lost.
            if (was_null || PQstatus(uploader->connection) != CONNECTION_OK) return fail_here(uploader, "Postgres");
            was_null = true;
            continue;
        }
        was_null = false;
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
            done++;
        } else if (status != PGRES_PIPELINE_SYNC && !has_failed) {
            has_failed = true;
            limit_fail(uploader->error, uploader->room, "Postgres", PQresultErrorMessage(result));
        }
        PQclear(result);
        if (status == PGRES_PIPELINE_SYNC) break;
    }
    if (has_failed) return -1;
    if (done == statements) return 0;
    return limit_fail(uploader->error, uploader->room, "Postgres", "a transaction lacks results");
}

static int run_transaction(struct uploader *uploader, int transaction, send_transaction send) {
    if (!send_plain(uploader, "BEGIN")) return fail_here(uploader, "Postgres");
    int count = send(uploader, transaction);
    if (count < 0) return fail_here(uploader, "a transaction");
    if (!send_plain(uploader, "COMMIT") || PQpipelineSync(uploader->connection) != 1) {
        return fail_here(uploader, "Postgres");
    }
    return finish(uploader, count + 2);
}

static int prepare(struct uploader *uploader, const char *uri) {
    // A statement that waits for ever would keep the thread.
    const char *const names[] = {"dbname", "options", "connect_timeout", NULL};
    const char *const values[] = {uri, "-c statement_timeout=120000", "60", NULL};
    uploader->connection = PQconnectdbParams(names, values, 1);
    if (PQstatus(uploader->connection) != CONNECTION_OK) return fail_here(uploader, "Postgres");
    const struct powersync_uploads *uploads = uploader->uploads;
    for (int table = 0; table < uploads->tables; table++) {
        char name[16];
        statement_name(name, table);
        PGresult *result =
            PQprepare(uploader->connection, name, uploads->statements[table], uploads->columns, NULL);
        bool is_prepared = PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
        if (!is_prepared) return fail_here(uploader, "Postgres");
    }
    return PQenterPipelineMode(uploader->connection) == 1 ? 0 : fail_here(uploader, "Postgres");
}

static int run_all(struct uploader *uploader, int stop, send_transaction send, struct powersync_run *run) {
    double start = 0, processor = 0;
    for (int transaction = 0; transaction < uploader->uploads->transactions; transaction++) {
        if (is_stopped(stop)) return limit_fail(uploader->error, uploader->room, "Postgres", "stopped");
        if (transaction == 1) {
            start = clock_seconds(CLOCK_MONOTONIC);
            processor = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
        }
        if (run_transaction(uploader, transaction, send) != 0) return -1;
    }
    run->seconds = clock_seconds(CLOCK_MONOTONIC) - start;
    run->processor = clock_seconds(CLOCK_THREAD_CPUTIME_ID) - processor;
    return 0;
}

static int upload(
    const char *uri, const struct powersync_uploads *uploads, int stop, send_transaction send,
    struct powersync_run *run, char *error, size_t room) {
    bool fits = uploads->columns > 0 && uploads->columns <= most_columns && uploads->tables > 0
        && uploads->tables <= most_tables && uploads->rows >= uploads->tables && uploads->transactions > 1;
    if (!fits) return limit_fail(error, room, "a transaction", "too many or too few rows, tables or columns");
    struct uploader uploader = {.uploads = uploads, .error = error, .room = room};
    int result = prepare(&uploader, uri);
    if (result == 0) result = run_all(&uploader, stop, send, run);
    PQfinish(uploader.connection);
    for (int column = 0; column < most_columns; column++) buffer_free(&uploader.arrays[column]);
    return result;
}

int powersync_limit_upserts(
    const char *uri, const struct powersync_uploads *uploads, int stop, struct powersync_run *run, char *error,
    size_t room) {
    return upload(uri, uploads, stop, send_upserts, run, error, room);
}

int powersync_limit_rows(
    const char *uri, const struct powersync_uploads *uploads, int stop, struct powersync_run *run, char *error,
    size_t room) {
    return upload(uri, uploads, stop, send_rows, run, error, room);
}
