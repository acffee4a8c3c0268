#include "baseline.h"

bool store_open(struct store *store, const char *path) {
    static const char sql[] =
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
        "CREATE TABLE operation (op_id INTEGER PRIMARY KEY, object_id TEXT NOT NULL, subkey BLOB NOT NULL,"
        " checksum INTEGER NOT NULL, data TEXT NOT NULL) STRICT;";
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    return sqlite3_open_v2(path, &store->database, flags, NULL) == SQLITE_OK && store_run(store, sql)
        && sqlite3_prepare_v2(
               store->database, "INSERT INTO operation VALUES (?1, ?2, ?3, ?4, ?5)", -1, &store->insert, NULL)
            == SQLITE_OK;
}

bool store_run(struct store *store, const char *sql) {
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK;
}

bool store_add(struct store *store, const struct operation *operation) {
    sqlite3_stmt *insert = store->insert;
    sqlite3_bind_int64(insert, 1, operation->op_id);
    sqlite3_bind_text(insert, 2, operation->id.bytes, (int)operation->id.count, SQLITE_STATIC);
    sqlite3_bind_blob(insert, 3, operation->subkey, sizeof operation->subkey, SQLITE_STATIC);
    sqlite3_bind_int64(insert, 4, operation->checksum);
    sqlite3_bind_text(insert, 5, operation->data.bytes, (int)operation->data.count, SQLITE_STATIC);
    bool is_done = sqlite3_step(insert) == SQLITE_DONE;
    return sqlite3_reset(insert) == SQLITE_OK && is_done;
}

const char *store_error(const struct store *store) {
    return sqlite3_errmsg(store->database);
}

void store_close(struct store *store) {
    sqlite3_finalize(store->insert);
    sqlite3_close(store->database);
    *store = (struct store){0};
}
