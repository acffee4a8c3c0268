#ifndef CPowerSyncBenchmarks_H
#define CPowerSyncBenchmarks_H

// The limits that service and backend are measured beside: the least that a program in C does for the same promise, on one
// thread and with the same libraries; and what sends requests to the backend. All block. They return 0, or -1 with a line
// of text in `error`, which has `room` bytes.

#include <stddef.h>
#include <stdint.h>

// MARK: The service

// Copies the table items out of a Postgres and makes an operation of each row: its columns as JSON, SHA-1 for its
// subkey, SHA-256 for its checksum. Stores all in a new SQLite file at `path`, ten thousand in a transaction that is on
// the disk when it ends (synchronous FULL). `rows` becomes how many there were.
int powersync_limit_store(const char *uri, const char *path, int64_t *rows, char *error, size_t room);

// Forwards what is inserted into items to one client, as the lines of a sync stream: makes a temporary slot for the
// publication "powersync", accepts the client at `listener`, and for each transaction stores its operations as above
// and then sends one data line. The client gets a checkpoint without buckets and its complete line first; from then on
// it misses nothing. Ends when `stop`, the reading end of a pipe, becomes readable or hangs up.
int powersync_limit_forward(
    const char *uri, const char *path, int listener, int stop, char *error, size_t room);

// MARK: The backend

// What a run has taken.
struct powersync_run {
    // From before the first that is measured to the end of the last, in seconds.
    double seconds;
    // The processor time of the thread meanwhile, in seconds.
    double processor;
};

// Transactions of rows for one table or several: in each the row at the place r is one of the table r % tables.
struct powersync_uploads {
    // For each table an upsert whose parameters are the columns in their order: one value each, or an array of them.
    const char *const *statements;
    int tables;
    int columns;
    // Of each transaction.
    int rows;
    // At least two: the first is not measured, since a new session knows no table and has no plan yet.
    int transactions;
    // The columns of each row of each transaction, texts that end with a zero; NULL is that of SQL.
    const char *const *cells;
};

// Writes the rows with a prepared upsert a table, which gets arrays, each transaction in one round trip. Ends early, as
// failed, when `stop`, the reading end of a pipe, becomes readable or hangs up.
int powersync_limit_upserts(
    const char *uri, const struct powersync_uploads *uploads, int stop, struct powersync_run *run, char *error,
    size_t room);

// Writes the rows one by one in their order with a prepared upsert a table, each transaction in one pipeline; ends as above.
int powersync_limit_rows(
    const char *uri, const struct powersync_uploads *uploads, int stop, struct powersync_run *run, char *error,
    size_t room);

// Requests for one server, as they are sent.
struct powersync_requests {
    const uint8_t *bytes;
    // Where each request begins, those of a connection one behind the other, and where the last one ends.
    const size_t *places;
    int connections;
    // Of each connection.
    int requests;
    // How many of them are sent before all others, and not measured; at least one must be left.
    int warm;
};

// Sends requests to 127.0.0.1 over connections that stay open, on each the next one when the former is answered.
// `latencies` becomes the seconds from the beginning of each request that is measured to the end of its answer, connection
// by connection. Another status than 200, and an answer that does not say its length, is a failure; so is not to be done
// after so many milliseconds. Ends early as above.
int powersync_send_requests(
    int port, const struct powersync_requests *requests, int stop, int milliseconds, double *latencies,
    struct powersync_run *run, char *error, size_t room);

// MARK: Processor time

// What a process has taken so far with all its threads, in seconds; below 0 if it is not there, and elsewhere than on Linux.
double powersync_process_seconds(int process);
// The same with its children, those that have ended included, of which the system counts in hundredths of a second.
double powersync_family_seconds(int process);
// What children of this process have taken that have ended, in seconds.
double powersync_ended_children_seconds(void);

#endif
