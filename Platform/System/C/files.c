#define _GNU_SOURCE
#include "CPowerSyncSystem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

int powersync_lock_try(int descriptor, const char *path) {
    int status;
    do status = flock(descriptor, LOCK_EX | LOCK_NB);
    while (status < 0 && errno == EINTR);
    if (status < 0 && errno != EWOULDBLOCK) return -errno;
    struct stat ours, named;
    if (fstat(descriptor, &ours) < 0 || lstat(path, &named) < 0) return POWERSYNC_LOCK_REPLACED;
    if (ours.st_dev != named.st_dev || ours.st_ino != named.st_ino) return POWERSYNC_LOCK_REPLACED;
    return status < 0 ? POWERSYNC_LOCK_REFUSED : POWERSYNC_LOCK_TAKEN;
}

void powersync_lock_close(int descriptor) {
    // Closing alone would leave the lock with a child that was forked and still has the descriptor.
    flock(descriptor, LOCK_UN);
    close(descriptor);
}
