#ifndef CPowerSyncLossyFiles_H
#define CPowerSyncLossyFiles_H

// An SQLite VFS on which kill -9 is a power failure (reliability F22): what was written to a database, its log or its
// journal stays in the memory of the process until it is synced. It stands on the system's, as that is on Unix.

#include <stdbool.h>
#include <stdint.h>

// Registers the VFS as the default of this process; before the first connection, and once.
//
// Of a hundred writes and truncations, `percent_through` go to the system at once, as a kernel may write them back
// whenever it likes; `seed` draws which, as far as threads come in the same order. Unless `syncs`, syncing does
// nothing: a test on such files has to find losses.
//
// Names of files come and go at once, as if folders were synced; temporary files, shared memory and locks are the
// system's.
// Returns a result code of SQLite.
int powersync_lossy_files_register(uint64_t seed, int percent_through, bool syncs);

// From now on, or no longer, a database takes no write, as on a disk that is full; its log and its journal do.
// Returns how many writes were refused so far.
int powersync_lossy_files_refuse_database_writes(bool refuses);

// Has a process that ends by a signal of its own making, as one that traps, say on its standard error where that was: lines
// of program and offset, for addr2line.
void powersync_say_traps(void);

#endif
