#ifndef CPowerSyncSQLite_SHIM_H
#define CPowerSyncSQLite_SHIM_H

// The pre-update hook is compiled into the distributions, but declared only on demand.
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

// The header of Apple's systems marks it as deprecated, as their SQLite refuses it; other copies there do not.
static inline int powersync_sqlite3_auto_extension(void (*entry_point)(void)) {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
    return sqlite3_auto_extension(entry_point);
#pragma clang diagnostic pop
}

#endif
