#include "CPowerSyncLossyFiles.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// Each file is kept once a process, whoever has it open: up to `lasting` it is what the system's file is, over that lie
// blocks that were written and not synced, and everything else up to `size` is zeros. A sync hands the blocks over.

enum { block_size = 4096 };

struct content {
    struct content *next;
    char *name; // null once it was deleted: who has it open goes on
    int handles;
    sqlite3_int64 size;
    sqlite3_int64 lasting; // never more than `size`, nor than the system's file has
    bool is_cut;           // was truncated, so the system's file may be longer than it should be
    unsigned char **blocks; // by number; null where none is kept
    size_t places;
    size_t kept;
};

struct lossy_file {
    sqlite3_file base;
    sqlite3_file *system; // lies behind this one
    struct content *content; // null for a temporary file
    bool is_database;        // and neither its log nor its journal
};

// Guards all that follows, and the contents. The system's reads and writes are made under it: threads see whole ones.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct content *contents;
static uint64_t random_state;
static uint64_t percent;
static bool is_syncing;
static bool is_refusing;
static int refused;

static sqlite3_vfs *system_vfs(sqlite3_vfs *vfs) {
    return vfs->pAppData;
}

static sqlite3_file *system_file(sqlite3_file *file) {
    return ((struct lossy_file *)file)->system;
}

static struct content *content_of(sqlite3_file *file) {
    return ((struct lossy_file *)file)->content;
}

// Whether the next write goes to the system at once (SplitMix64).
static bool goes_through(void) {
    uint64_t mixed = random_state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return (mixed ^ (mixed >> 31)) % 100 < percent;
}

// MARK: Contents

static struct content *find(const char *name) {
    struct content *content = contents;
    while (content && !(content->name && strcmp(content->name, name) == 0)) content = content->next;
    return content;
}

static void free_content(struct content *content) {
    for (size_t number = 0; number < content->places; number++) free(content->blocks[number]);
    free(content->blocks);
    free(content->name);
    free(content);
}

// Forgets a file that nobody has open, unless it is there and the system does not have all of it.
static void drop_if_unused(struct content *content) {
    bool is_handed_over = content->kept == 0 && !content->is_cut && content->lasting == content->size;
    if (content->handles > 0 || (content->name && !is_handed_over)) return;
    struct content **place = &contents;
    while (*place != content) place = &(*place)->next;
    *place = content->next;
    free_content(content);
}

// A part of a range that lies in one block.
struct piece {
    size_t number;
    size_t start;
    size_t count;
};

static struct piece first_piece(sqlite3_int64 offset, size_t count) {
    struct piece piece = {.number = (size_t)(offset / block_size), .start = (size_t)(offset % block_size)};
    size_t left = block_size - piece.start;
    piece.count = count < left ? count : left;
    return piece;
}

static unsigned char *kept_block(const struct content *content, size_t number) {
    return number < content->places ? content->blocks[number] : NULL;
}

// Reads what the system's file has of a range, and zeros behind it.
static int read_lasting(
    const struct content *content, sqlite3_file *system, unsigned char *bytes, size_t count, sqlite3_int64 offset) {
    sqlite3_int64 there = content->lasting - offset;
    size_t lasting = there <= 0 ? 0 : (size_t)there < count ? (size_t)there : count;
    memset(bytes + lasting, 0, count - lasting);
    return lasting == 0 ? SQLITE_OK : system->pMethods->xRead(system, bytes, (int)lasting, offset);
}

static int make_place(struct content *content, size_t number) {
    if (number < content->places) return SQLITE_OK;
    size_t places = content->places ? content->places : 64;
    while (places <= number) places *= 2;
    unsigned char **blocks = realloc(content->blocks, places * sizeof *blocks);
    if (!blocks) return SQLITE_IOERR_NOMEM;
    for (size_t place = content->places; place < places; place++) blocks[place] = NULL;
    content->blocks = blocks;
    content->places = places;
    return SQLITE_OK;
}

// Makes sure that a block is kept, with what the file has there.
static int keep_block(struct content *content, sqlite3_file *system, size_t number) {
    int result = make_place(content, number);
    if (result != SQLITE_OK || content->blocks[number]) return result;
    unsigned char *block = malloc(block_size);
    if (!block) return SQLITE_IOERR_NOMEM;
    result = read_lasting(content, system, block, block_size, (sqlite3_int64)number * block_size);
    if (result != SQLITE_OK) {
        free(block);
        return result;
    }
    content->blocks[number] = block;
    content->kept++;
    return SQLITE_OK;
}

static void forget_block(struct content *content, size_t number) {
    if (!content->blocks[number]) return;
    free(content->blocks[number]);
    content->blocks[number] = NULL;
    content->kept--;
}

static void set_size(struct content *content, sqlite3_int64 size) {
    if (size < content->size) {
        content->is_cut = true;
        for (size_t number = (size_t)(size / block_size); number < content->places; number++) {
            sqlite3_int64 rest = size - (sqlite3_int64)number * block_size;
            if (rest <= 0) forget_block(content, number);
            // Should the file grow again, zeros are there.
            else if (content->blocks[number]) memset(content->blocks[number] + rest, 0, (size_t)(block_size - rest));
        }
    }
    if (content->lasting > size) content->lasting = size;
    content->size = size;
}

// Gives the system all that it does not have; a kill in between leaves a part of it there.
static int hand_over(struct content *content, sqlite3_file *system) {
    const sqlite3_io_methods *methods = system->pMethods;
    int result = content->is_cut ? methods->xTruncate(system, content->lasting) : SQLITE_OK;
    for (size_t number = 0; number < content->places && result == SQLITE_OK; number++) {
        if (!content->blocks[number]) continue;
        sqlite3_int64 offset = (sqlite3_int64)number * block_size, rest = content->size - offset;
        int count = rest < block_size ? (int)rest : block_size;
        result = methods->xWrite(system, content->blocks[number], count, offset);
    }
    // A file that ends with zeros which nobody wrote.
    sqlite3_int64 size = 0;
    if (result == SQLITE_OK) result = methods->xFileSize(system, &size);
    if (result == SQLITE_OK && size < content->size) result = methods->xTruncate(system, content->size);
    if (result != SQLITE_OK) return result;
    for (size_t number = 0; number < content->places; number++) forget_block(content, number);
    content->lasting = content->size;
    content->is_cut = false;
    return SQLITE_OK;
}

// MARK: Methods of a file

static int lossy_close(sqlite3_file *file) {
    struct content *content = content_of(file);
    if (content) {
        pthread_mutex_lock(&lock);
        content->handles--;
        drop_if_unused(content);
        pthread_mutex_unlock(&lock);
    }
    return system_file(file)->pMethods->xClose(system_file(file));
}

static int lossy_read(sqlite3_file *file, void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *system = system_file(file);
    struct content *content = content_of(file);
    if (!content) return system->pMethods->xRead(system, bytes, count, offset);
    pthread_mutex_lock(&lock);
    int result = SQLITE_OK;
    for (size_t at = 0; at < (size_t)count && result == SQLITE_OK;) {
        struct piece piece = first_piece(offset + (sqlite3_int64)at, (size_t)count - at);
        unsigned char *target = (unsigned char *)bytes + at;
        const unsigned char *block = kept_block(content, piece.number);
        if (block) memcpy(target, block + piece.start, piece.count);
        else result = read_lasting(content, system, target, piece.count, offset + (sqlite3_int64)at);
        at += piece.count;
    }
    // What lies behind the end was filled with zeros, as SQLite wants it.
    if (result == SQLITE_OK && offset + count > content->size) result = SQLITE_IOERR_SHORT_READ;
    pthread_mutex_unlock(&lock);
    return result;
}

static int lossy_write(sqlite3_file *file, const void *bytes, int count, sqlite3_int64 offset) {
    sqlite3_file *system = system_file(file);
    struct content *content = content_of(file);
    if (!content) return system->pMethods->xWrite(system, bytes, count, offset);
    pthread_mutex_lock(&lock);
    int result = SQLITE_OK;
    if (is_refusing && ((struct lossy_file *)file)->is_database) {
        refused++;
        result = SQLITE_FULL;
    }
    for (size_t at = 0; at < (size_t)count && result == SQLITE_OK;) {
        struct piece piece = first_piece(offset + (sqlite3_int64)at, (size_t)count - at);
        result = keep_block(content, system, piece.number);
        if (result == SQLITE_OK) {
            memcpy(content->blocks[piece.number] + piece.start, (const unsigned char *)bytes + at, piece.count);
        }
        at += piece.count;
    }
    if (result == SQLITE_OK && content->size < offset + count) content->size = offset + count;
    // It is kept all the same: what is read does not depend on what went through.
    if (result == SQLITE_OK && goes_through()) result = system->pMethods->xWrite(system, bytes, count, offset);
    pthread_mutex_unlock(&lock);
    return result;
}

static int lossy_truncate(sqlite3_file *file, sqlite3_int64 size) {
    sqlite3_file *system = system_file(file);
    struct content *content = content_of(file);
    if (!content) return system->pMethods->xTruncate(system, size);
    pthread_mutex_lock(&lock);
    set_size(content, size);
    int result = goes_through() ? system->pMethods->xTruncate(system, size) : SQLITE_OK;
    pthread_mutex_unlock(&lock);
    return result;
}

static int lossy_sync(sqlite3_file *file, int flags) {
    sqlite3_file *system = system_file(file);
    struct content *content = content_of(file);
    if (content) {
        if (!is_syncing) return SQLITE_OK;
        pthread_mutex_lock(&lock);
        int result = hand_over(content, system);
        pthread_mutex_unlock(&lock);
        if (result != SQLITE_OK) return result;
    }
    return system->pMethods->xSync(system, flags);
}

static int lossy_file_size(sqlite3_file *file, sqlite3_int64 *size) {
    struct content *content = content_of(file);
    if (!content) return system_file(file)->pMethods->xFileSize(system_file(file), size);
    pthread_mutex_lock(&lock);
    *size = content->size;
    pthread_mutex_unlock(&lock);
    return SQLITE_OK;
}

static int lossy_lock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xLock(system_file(file), level);
}

static int lossy_unlock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xUnlock(system_file(file), level);
}

static int lossy_check_reserved_lock(sqlite3_file *file, int *is_reserved) {
    return system_file(file)->pMethods->xCheckReservedLock(system_file(file), is_reserved);
}

static int lossy_file_control(sqlite3_file *file, int operation, void *argument) {
    switch (operation) {
    // They would have the system's file grow, or be read past this layer.
    case SQLITE_FCNTL_SIZE_HINT:
    case SQLITE_FCNTL_CHUNK_SIZE:
    case SQLITE_FCNTL_MMAP_SIZE: return SQLITE_NOTFOUND;
    default: return system_file(file)->pMethods->xFileControl(system_file(file), operation, argument);
    }
}

static int lossy_sector_size(sqlite3_file *file) {
    return system_file(file)->pMethods->xSectorSize(system_file(file));
}

// Of what the system's file promises, only that a write harms nothing beside it holds here, too.
static int lossy_device_characteristics(sqlite3_file *file) {
    sqlite3_file *system = system_file(file);
    return system->pMethods->xDeviceCharacteristics(system) & SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

// The index of the log is made anew of the log by the first who opens the database: there is nothing to be lost in it.

static int lossy_shm_map(sqlite3_file *file, int region, int size, int may_grow, void volatile **memory) {
    return system_file(file)->pMethods->xShmMap(system_file(file), region, size, may_grow, memory);
}

static int lossy_shm_lock(sqlite3_file *file, int first, int count, int flags) {
    return system_file(file)->pMethods->xShmLock(system_file(file), first, count, flags);
}

static void lossy_shm_barrier(sqlite3_file *file) {
    system_file(file)->pMethods->xShmBarrier(system_file(file));
}

static int lossy_shm_unmap(sqlite3_file *file, int is_deleted) {
    return system_file(file)->pMethods->xShmUnmap(system_file(file), is_deleted);
}

// Version 2 has shared memory, for the write-ahead log; 3 would have pages that are read from a mapped file.
static const sqlite3_io_methods lossy_methods = {
    .iVersion = 2,
    .xClose = lossy_close,
    .xRead = lossy_read,
    .xWrite = lossy_write,
    .xTruncate = lossy_truncate,
    .xSync = lossy_sync,
    .xFileSize = lossy_file_size,
    .xLock = lossy_lock,
    .xUnlock = lossy_unlock,
    .xCheckReservedLock = lossy_check_reserved_lock,
    .xFileControl = lossy_file_control,
    .xSectorSize = lossy_sector_size,
    .xDeviceCharacteristics = lossy_device_characteristics,
    .xShmMap = lossy_shm_map,
    .xShmLock = lossy_shm_lock,
    .xShmBarrier = lossy_shm_barrier,
    .xShmUnmap = lossy_shm_unmap,
};

// MARK: Methods of the VFS

// Finds or makes what is kept of a file that the system has opened.
static int attach(struct lossy_file *file, const char *name) {
    pthread_mutex_lock(&lock);
    int result = SQLITE_OK;
    struct content *content = find(name);
    if (!content) {
        content = calloc(1, sizeof *content);
        if (content) content->name = strdup(name);
        result = content && content->name ? SQLITE_OK : SQLITE_NOMEM;
        if (result == SQLITE_OK) result = file->system->pMethods->xFileSize(file->system, &content->size);
        if (result == SQLITE_OK) {
            content->lasting = content->size;
            content->next = contents;
            contents = content;
        } else if (content) {
            free_content(content);
        }
    }
    if (result == SQLITE_OK) {
        content->handles++;
        file->content = content;
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static int lossy_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *opened_flags) {
    const int temporary =
        SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TRANSIENT_DB | SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_SUBJOURNAL;
    sqlite3_vfs *system = system_vfs(vfs);
    struct lossy_file *lossy = (struct lossy_file *)file;
    memset(lossy, 0, (size_t)vfs->szOsFile);
    lossy->system = (sqlite3_file *)(lossy + 1);
    lossy->is_database = (flags & SQLITE_OPEN_MAIN_DB) != 0;
    int result = system->xOpen(system, name, lossy->system, flags, opened_flags);
    if (result == SQLITE_OK && name && !(flags & temporary)) result = attach(lossy, name);
    if (result == SQLITE_OK) lossy->base.pMethods = &lossy_methods;
    else if (lossy->system->pMethods) lossy->system->pMethods->xClose(lossy->system);
    return result;
}

static int lossy_delete(sqlite3_vfs *vfs, const char *name, int syncs_folder) {
    pthread_mutex_lock(&lock);
    struct content *content = find(name);
    if (content) {
        free(content->name);
        content->name = NULL;
        drop_if_unused(content);
    }
    pthread_mutex_unlock(&lock);
    return system_vfs(vfs)->xDelete(system_vfs(vfs), name, syncs_folder);
}

static int lossy_access(sqlite3_vfs *vfs, const char *name, int flags, int *answer) {
    if (flags == SQLITE_ACCESS_EXISTS) {
        pthread_mutex_lock(&lock);
        struct content *content = find(name);
        // An empty file does not count, as with the system's VFS.
        if (content) *answer = content->size > 0;
        pthread_mutex_unlock(&lock);
        if (content) return SQLITE_OK;
    }
    return system_vfs(vfs)->xAccess(system_vfs(vfs), name, flags, answer);
}

static int lossy_full_pathname(sqlite3_vfs *vfs, const char *name, int count, char *path) {
    return system_vfs(vfs)->xFullPathname(system_vfs(vfs), name, count, path);
}

static int lossy_randomness(sqlite3_vfs *vfs, int count, char *bytes) {
    return system_vfs(vfs)->xRandomness(system_vfs(vfs), count, bytes);
}

static int lossy_sleep(sqlite3_vfs *vfs, int microseconds) {
    return system_vfs(vfs)->xSleep(system_vfs(vfs), microseconds);
}

static int lossy_current_time(sqlite3_vfs *vfs, sqlite3_int64 *milliseconds) {
    return system_vfs(vfs)->xCurrentTimeInt64(system_vfs(vfs), milliseconds);
}

int powersync_lossy_files_refuse_database_writes(bool refuses) {
    pthread_mutex_lock(&lock);
    is_refusing = refuses;
    int count = refused;
    pthread_mutex_unlock(&lock);
    return count;
}

int powersync_lossy_files_register(uint64_t seed, int percent_through, bool syncs) {
    static sqlite3_vfs vfs;
    sqlite3_vfs *system = sqlite3_vfs_find(NULL);
    if (vfs.pAppData || !system || percent_through < 0 || percent_through > 100) return SQLITE_MISUSE;
    random_state = seed;
    percent = (uint64_t)percent_through;
    is_syncing = syncs;
    // No extension is loaded, and no error of the system asked for.
    vfs = (sqlite3_vfs){
        .iVersion = 2,
        .szOsFile = (int)sizeof(struct lossy_file) + system->szOsFile,
        .mxPathname = system->mxPathname,
        .zName = "powersync-lossy",
        .pAppData = system,
        .xOpen = lossy_open,
        .xDelete = lossy_delete,
        .xAccess = lossy_access,
        .xFullPathname = lossy_full_pathname,
        .xRandomness = lossy_randomness,
        .xSleep = lossy_sleep,
        .xCurrentTimeInt64 = lossy_current_time,
    };
    return sqlite3_vfs_register(&vfs, 1);
}
