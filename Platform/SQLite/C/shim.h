#ifndef CPowerSyncSQLite_SHIM_H
#define CPowerSyncSQLite_SHIM_H

// The pre-update hook is compiled into the distributions, but declared only on demand.
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

#endif
