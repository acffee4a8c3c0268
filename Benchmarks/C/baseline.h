#ifndef BASELINE_H
#define BASELINE_H

#include <openssl/evp.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

// MARK: Bytes

// Bytes that grow. Once there was no memory for some, nothing more is added and `is_cut` stays true.
struct buffer {
    char *bytes;
    size_t count;
    size_t room;
    bool is_cut;
};

void buffer_add(struct buffer *buffer, const void *bytes, size_t count);
void buffer_text(struct buffer *buffer, const char *text);
// Adds a text as it stands between the quotes of a string in JSON.
void buffer_escaped(struct buffer *buffer, const char *bytes, size_t count);
void buffer_free(struct buffer *buffer);

// MARK: Operations

// The columns of items in their order, the id first; from `first_number` on they are numbers, the others texts.
enum { column_count = 6, first_number = 4 };

// A value as text; without bytes it is NULL.
struct cell {
    const char *bytes;
    size_t count;
};

// Digests whose algorithms are looked up once and whose contexts are kept.
struct hasher {
    EVP_MD *sha1;
    EVP_MD *sha256;
    EVP_MD_CTX *context;
};

bool hasher_open(struct hasher *hasher);
void hasher_close(struct hasher *hasher);

// What a row is for clients; `data` is used again for the next one.
struct operation {
    int64_t op_id;
    struct cell id;
    unsigned char subkey[16];
    uint32_t checksum;
    struct buffer data;
};

// Makes an operation of the cells of a row, which must stay as long as it; false without memory or without an id.
bool operation_make(struct operation *operation, struct hasher *hasher, const struct cell cells[column_count]);
// Adds an operation as it stands in a data line.
void operation_write(const struct operation *operation, struct buffer *line);

// MARK: The file

// A SQLite file of operations.
struct store {
    sqlite3 *database;
    sqlite3_stmt *insert;
};

// Makes a file; with `store_close` behind it, whatever it returns.
bool store_open(struct store *store, const char *path);
bool store_run(struct store *store, const char *sql);
bool store_add(struct store *store, const struct operation *operation);
const char *store_error(const struct store *store);
void store_close(struct store *store);

// MARK: Time

// The seconds of a clock.
double clock_seconds(clockid_t clock);
// Whether `stop`, the reading end of a pipe, says that all shall end.
bool is_stopped(int stop);

// MARK: Errors

// Writes one line, what failed and why, and returns -1.
int limit_fail(char *error, size_t room, const char *what, const char *reason);

#endif
