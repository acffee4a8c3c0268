#ifndef CPowerSyncBenchmarks_H
#define CPowerSyncBenchmarks_H

// The limits that the service is measured beside: the least that a program in C does for the same promise, on one
// thread and with the same libraries. Both block. They return 0, or -1 with a line of text in `error`, which has
// `room` bytes.

#include <stddef.h>
#include <stdint.h>

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

#endif
