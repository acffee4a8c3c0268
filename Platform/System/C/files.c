#define _GNU_SOURCE
#include "CPowerSyncSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

// MARK: Changes

#if defined(__linux__)

#include <sys/inotify.h>

int powersync_changes_open(void) {
    int queue = inotify_init1(IN_CLOEXEC);
    return queue < 0 ? -errno : queue;
}

int powersync_changes_add(int queue, const char *folder) {
    const uint32_t events =
        IN_MODIFY | IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR;
    int number = inotify_add_watch(queue, folder, events);
    return number < 0 ? -errno : number;
}

int powersync_changes_remove(int queue, int folder) {
    return inotify_rm_watch(queue, folder) < 0 ? -errno : 0;
}

int powersync_changes_wait(
    int queue, void (*tell)(void *context, int folder, const char *name), void *context) {
    _Alignas(struct inotify_event) char buffer[16384];
    ssize_t length;
    do length = read(queue, buffer, sizeof buffer);
    while (length < 0 && errno == EINTR);
    if (length < 0) return -errno;
    for (ssize_t at = 0; at < length;) {
        const struct inotify_event *event = (const void *)(buffer + at);
        tell(context, event->wd, event->len > 0 ? event->name : NULL);
        at += (ssize_t)(sizeof *event + event->len);
    }
    return 0;
}

#else

int powersync_changes_open(void) {
    return -ENOTSUP;
}

int powersync_changes_add(int queue, const char *folder) {
    (void)queue, (void)folder;
    return -ENOTSUP;
}

int powersync_changes_remove(int queue, int folder) {
    (void)queue, (void)folder;
    return -ENOTSUP;
}

int powersync_changes_wait(
    int queue, void (*tell)(void *context, int folder, const char *name), void *context) {
    (void)queue, (void)tell, (void)context;
    return -ENOTSUP;
}

#endif

// MARK: Locks

static int make_like(const char *path, const char *model) {
    struct stat status;
    bool known = stat(model, &status) == 0;
    mode_t mode = known ? status.st_mode & 0666 : 0600;
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (descriptor < 0) return -errno;
    if (known) {
        // Against the mask of this process, and for others where the superuser comes first, as SQLite does with what
        // it puts beside a database. Where it fails, those others cannot lock, and say so.
        int ignored = fchmod(descriptor, mode);
        if (geteuid() == 0) ignored = fchown(descriptor, status.st_uid, status.st_gid);
        (void)ignored;
    }
    return descriptor;
}

int powersync_lock_open(const char *path, const char *model) {
    int descriptor;
    // Somebody may make it or remove it between the two tries.
    for (int tries = 0; tries < 8; tries++) {
        descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (descriptor >= 0) return descriptor;
        if (errno != ENOENT) return -errno;
        descriptor = make_like(path, model);
        if (descriptor != -EEXIST) return descriptor;
    }
    return -EEXIST;
}

bool powersync_leads_to(const char *path, int descriptor) {
    struct stat ours, named;
    if (fstat(descriptor, &ours) < 0 || lstat(path, &named) < 0) return false;
    return ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

int powersync_lock_try(int descriptor, const char *path) {
    int status;
    do status = flock(descriptor, LOCK_EX | LOCK_NB);
    while (status < 0 && errno == EINTR);
    if (status < 0 && errno != EWOULDBLOCK) return -errno;
    if (!powersync_leads_to(path, descriptor)) return POWERSYNC_LOCK_REPLACED;
    return status < 0 ? POWERSYNC_LOCK_REFUSED : POWERSYNC_LOCK_TAKEN;
}

void powersync_lock_close(int descriptor) {
    // Closing alone would leave the lock with a child that was forked and still has the descriptor.
    flock(descriptor, LOCK_UN);
    close(descriptor);
}

// MARK: Files that are written under another name

int powersync_staged_open(const char *path, bool make, mode_t mode) {
    // Without waiting for whoever reads a pipe that stands in its place.
    int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (make ? O_CREAT : 0);
    int descriptor = open(path, flags, mode);
    if (descriptor < 0) return -errno;
    struct stat status;
    int error = fstat(descriptor, &status) < 0 ? errno : S_ISREG(status.st_mode) ? 0 : EINVAL;
    if (error == 0) return descriptor;
    close(descriptor);
    return -error;
}

int powersync_staged_make(const char *path, mode_t mode) {
    int descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    return descriptor < 0 ? -errno : descriptor;
}

int powersync_rename_new(const char *old_path, const char *new_path) {
#if defined(__linux__)
    // RENAME_NOREPLACE; not every C library has the function.
    long status = syscall(SYS_renameat2, AT_FDCWD, old_path, AT_FDCWD, new_path, 1u);
#elif defined(__APPLE__)
    long status = renamex_np(old_path, new_path, RENAME_EXCL);
#else
    (void)old_path, (void)new_path;
    long status = -1;
    errno = ENOTSUP;
#endif
    if (status == 0) return 0;
    // Of a file system, or a system, that does not know it.
    return errno == EINVAL || errno == ENOSYS ? -ENOTSUP : -errno;
}

int powersync_file_sync(int descriptor) {
#if defined(__APPLE__)
    // What fsync(2) leaves in the memory of the disk; some file systems have no such thing.
    if (fcntl(descriptor, F_FULLFSYNC) == 0) return 0;
#endif
    int status;
    do status = fsync(descriptor);
    while (status < 0 && errno == EINTR);
    return status < 0 ? -errno : 0;
}

int powersync_folder_sync(const char *path) {
    int descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // One may have the right to write in a folder and not to read it.
    if (descriptor < 0) return errno == EACCES ? 0 : -errno;
    int status = powersync_file_sync(descriptor);
    close(descriptor);
    // Of a file system that writes names down by itself.
    return status == -EINVAL || status == -ENOTSUP ? 0 : status;
}

// Cuts a path before its last name; false if there is nothing before it.
static bool cut_last_name(char *path) {
    char *slash = strrchr(path, '/');
    while (slash && slash > path && slash[-1] == '/') slash--;
    if (!slash || slash == path) return false;
    *slash = 0;
    return true;
}

static int make_folders(char *path) {
    struct stat status;
    if (stat(path, &status) == 0) return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
    if (errno != ENOENT) return -errno;
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') path[--length] = 0;
    char *above = strdup(path);
    if (!above) return -ENOMEM;
    bool has_above = cut_last_name(above);
    int error = has_above ? make_folders(above) : 0;
    // Somebody else may make it meanwhile.
    if (error == 0 && mkdir(path, 0700) < 0 && errno != EEXIST) error = -errno;
    if (error == 0) error = powersync_folder_sync(has_above ? above : *path == '/' ? "/" : ".");
    free(above);
    return error;
}

int powersync_folders_make(const char *path) {
    char *copy = strdup(path);
    if (!copy) return -ENOMEM;
    int status = make_folders(copy);
    free(copy);
    return status;
}
