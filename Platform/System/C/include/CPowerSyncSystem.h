#ifndef CPowerSyncSystem_H
#define CPowerSyncSystem_H

// What the standard library of Swift cannot reach: readiness queues, threads with blocked signals, orderly
// spawning, signals as bytes in a pipe. Every function that can fail returns a negative errno.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

// MARK: Readiness (epoll or kqueue)

struct powersync_poller {
    int queue;
    int waker; // an eventfd, or -1 where the queue wakes itself
};

struct powersync_event {
    uint64_t token;
    bool readable;
    bool writable;
    bool hung_up;
};

int powersync_poller_open(struct powersync_poller *poller);
void powersync_poller_close(const struct powersync_poller *poller);
// One edge-triggered registration for reading, writing and hang-up.
int powersync_poller_add(const struct powersync_poller *poller, int descriptor, uint64_t token);
int powersync_poller_remove(const struct powersync_poller *poller, int descriptor);
// Returns the number of events written; a negative time-out waits for ever. Wake-ups are no events.
int powersync_poller_wait(
    const struct powersync_poller *poller, struct powersync_event *events, int capacity, int milliseconds);
void powersync_poller_wake(const struct powersync_poller *poller);

// MARK: Descriptors

// Accepts with close-on-exec and non-blocking set, without a moment in which a child could inherit it. The peer is the
// address of who connected, also where that has left again: getpeername does not know it any more then.
int powersync_accept(int listener, struct sockaddr_storage *peer);
// A socket with close-on-exec and non-blocking set.
int powersync_socket(int family, int type);
// A pipe with close-on-exec set on both ends.
int powersync_pipe(int *read_end, int *write_end);
// Sends parts as one piece, as far as the system takes them; never raises SIGPIPE.
ssize_t powersync_send(int descriptor, const struct iovec *parts, int count);
// Receives into a buffer.
ssize_t powersync_receive(int descriptor, void *buffer, size_t count);
// Sends small pieces at once instead of waiting for more.
void powersync_set_no_delay(int descriptor);
// Ends the connection when its peer was not heard of for so long: asks it (keepalive) while nothing is under way,
// and gives up what it does not acknowledge. On Linux this is also the end of a peer that is heard of but has no
// room for so long (TCP_USER_TIMEOUT in tcp(7)): it holds our memory, and nothing tells when it will read again.
void powersync_set_peer_timeout(int descriptor, int milliseconds);
// Bounds the memory for bytes that the peer has yet to take; without it the system lets that grow to megabytes.
void powersync_set_send_buffer(int descriptor, int bytes);
// The number of bytes that were sent and that the peer's system has yet to take.
int powersync_untaken(int descriptor);
// Binds and listens. `port` is 0 for any free one and becomes the one taken. Returns the descriptor; a name that
// cannot be resolved is -EADDRNOTAVAIL.
int powersync_listen(const char *host, int *port, int backlog);
// Lets this program have as many descriptors open as it may, but at most 65,536: some programs, which inherit the
// limit, walk through all there could be. Returns how many that is.
long powersync_raise_descriptor_limit(void);

// MARK: Time

// Microseconds since 1970 (UTC).
int64_t powersync_wall_clock(void);

// Blocks the thread; a signal that it handles ends that early.
void powersync_sleep(int64_t nanoseconds);

// MARK: Memory

// Gives memory that has been freed back to the system where the C library would keep it; nothing elsewhere.
void powersync_trim_memory(void);

// From how many bytes on a piece of memory is large.
#define POWERSYNC_LARGE_MEMORY (4 << 20)

// Lets the C library map each large piece by itself, so that freeing it gives it back.
void powersync_map_large_memory(void);

// MARK: Threads

// What the system calls the threads below: 15 characters at most.
#define POWERSYNC_THREAD_NAME "powersync"

// Gives the thread that calls it that name.
void powersync_thread_name(void);

// Starts a detached thread in which every signal is blocked; a stack of 0 bytes is one of the system's choice.
int powersync_thread_start(void (*body)(void *context), void *context, size_t stack);

// Tells ThreadSanitizer that what one thread did before it hands something over comes before what another one does that has
// taken it. Returns a mark for one handing over; without that sanitizer all three do nothing.
uint64_t powersync_hand_over(void);
void powersync_handed_over(uint64_t mark);
void powersync_taken_over(uint64_t mark);

// MARK: Processes

enum { POWERSYNC_SPAWN_INHERIT = -1, POWERSYNC_SPAWN_NULL = -2 };

// Starts a program with default signal actions, an empty signal mask and no descriptor above 2. `streams` holds
// three descriptors, or the constants above. A name without a slash is looked up in PATH; no environment means
// that of this program. In a session of its own it gets no signal of the terminal.
int powersync_spawn(
    pid_t *process, const char *executable, char *const arguments[], char *const environment[],
    const char *working_directory, const int streams[3], bool own_session);
// Blocks until the process ended and leaves it unreaped.
int powersync_wait_without_reaping(pid_t process);
// Reaps an ended process. `value` is the exit status, or the signal when `signalled` becomes true.
int powersync_reap(pid_t process, int *value, bool *signalled);

// MARK: Signals

// Turns SIGINT and SIGTERM, and SIGHUP where that is wanted and not ignored, into bytes; returns the read end of a pipe and a
// slot to give back.
int powersync_stop_signals_open(bool hang_up, int *slot);
// The same for SIGHUP alone, unless that is ignored.
int powersync_reload_signals_open(int *slot);
// The same for SIGWINCH and SIGCONT, after which a screen has to be drawn anew, and SIGQUIT, which would leave it as it is.
int powersync_screen_signals_open(int *slot);
// Ends the reader with a byte of 0 and, with the last slot that has a signal, gives that signal its default action back.
void powersync_signals_close(int slot);
// Makes the slot, and with it the pipe, available again; called by the reader after the byte of 0.
void powersync_signals_release(int slot);

// MARK: Files

// A queue of what happens to files in folders (inotify); -ENOTSUP where there is no such thing.
int powersync_changes_open(void);
// Puts a folder into the queue and returns its number, which is the same for every path to the folder.
int powersync_changes_add(int queue, const char *folder);
// Takes a folder out, which the queue tells as a last event.
int powersync_changes_remove(int queue, int folder);
// Blocks until something has happened and tells it. `folder` is -1 if too much has happened to be told, `name` is
// null where it is about the folder itself.
int powersync_changes_wait(
    int queue, void (*tell)(void *context, int folder, const char *name), void *context);

enum { POWERSYNC_LOCK_REFUSED = 0, POWERSYNC_LOCK_TAKEN = 1, POWERSYNC_LOCK_REPLACED = 2 };

// Opens a file to be locked, which children do not inherit; a symbolic link is refused. A missing one is made with
// the permissions of `model`.
int powersync_lock_open(const char *path, const char *model);
// Locks the file for this descriptor, never blocks. Says that it was replaced if the path no longer leads to it,
// whoever has it locked.
int powersync_lock_try(int descriptor, const char *path);
// Frees the lock and closes the descriptor.
void powersync_lock_close(int descriptor);

// Whether a path, not followed where it is a symbolic link, leads to the file that is open.
bool powersync_leads_to(const char *path, int descriptor);
// Opens a file for writing and reading, which children do not inherit; a symbolic link is refused, and with -EINVAL what
// is no file. A missing one is made, if that is wanted.
int powersync_staged_open(const char *path, bool make, mode_t mode);
// Makes a file as the function above does; -EEXIST where something has the name.
int powersync_staged_make(const char *path, mode_t mode);
// Gives a file another name on its file system in one step; -EEXIST where something has that, -ENOTSUP where that cannot
// be done in one step.
int powersync_rename_new(const char *old_path, const char *new_path);
// Returns when what was written is on the disk.
int powersync_file_sync(int descriptor);
// Returns when the names in a folder are on the disk.
int powersync_folder_sync(const char *path);
// Makes a folder, and those above it that are missing, for this user alone; what it makes is on the disk then.
int powersync_folders_make(const char *path);

// Removes a folder and everything in it; symbolic links are removed, not followed.
int powersync_remove_tree(const char *path);

#endif
