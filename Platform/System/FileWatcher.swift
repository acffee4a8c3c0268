import CPowerSyncSystem

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Tells of changes of files, by their names in a folder (inotify).
///
/// All watches share one queue of the system and one thread, which are there as long as somebody watches.
package final class FileWatcher: Sendable {
    /// Files that are watched, for as long as it lives.
    package final class Watch: Sendable {
        private let end: @Sendable () -> Void

        fileprivate init(end: @escaping @Sendable () -> Void) { self.end = end }

        deinit { end() }
    }

    /// How long the thread rests after each change, so that many of them together cost little.
    private static let rest: UInt32 = 10_000

    private struct Entry {
        let folder: Int32
        let names: Set<String>
        let tell: @Sendable () -> Void
    }

    private struct State {
        /// Nil while nobody watches.
        var queue: Int32?
        var entries: [UInt64: Entry] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Lock(State())
    private let open: @Sendable () -> Int32

    /// Makes a watcher, which takes nothing of the system before ``watch(_:in:_:)``.
    ///
    /// - Parameter open: Opens the queue; a negative result is an error number.
    package init(open: @escaping @Sendable () -> Int32 = { powersync_changes_open() }) {
        self.open = open
    }

    /// Tells from now on when files are written, closed after writing, made, replaced or removed.
    ///
    /// Changes that come close together are told together, the first of them at once. Writing through memory that is
    /// mapped, and what other machines do in a shared folder, shows nowhere.
    ///
    /// - Parameters:
    ///   - names: The names of the files, which need not exist.
    ///   - folder: The folder they lie in.
    ///   - tell: Called on a thread of the watcher, now and then without a reason, and perhaps once more when the watch
    ///     ends; must not block.
    /// - Returns: The watch, which ends with its last reference.
    /// - Throws: When the system refuses, for it gives each user a number of queues and of folders; with ENOTSUP where it
    ///   has no such thing.
    package func watch(
        _ names: Set<String>, in folder: String, _ tell: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Watch {
        let shared = state
        let id = try shared.withLock { state throws(SystemError) -> UInt64 in
            let queue: Int32
            if let known = state.queue {
                queue = known
            } else {
                queue = try SystemError.check(self.open(), .file, "cannot watch files")
            }
            do throws(SystemError) {
                let number = try SystemError.check(
                    powersync_changes_add(queue, folder), .file, "cannot watch \(folder)")
                if state.queue == nil { try DetachedThread.start { Self.run(queue, shared) } }
                state.queue = queue
                state.lastID += 1
                state.entries[state.lastID] = Entry(folder: number, names: names, tell: tell)
                return state.lastID
            } catch {
                if state.queue == nil { close(queue) }
                throw error
            }
        }
        return Watch { Self.end(id, shared) }
    }

    /// Whether the system's queue is open.
    var isOpen: Bool { state.withLock { $0.queue != nil } }

    private static func end(_ id: UInt64, _ shared: Lock<State>) {
        // The entry goes outside of the lock: what its closure holds may end another watch.
        _ = shared.withLock { state -> Entry? in
            guard let entry = state.entries.removeValue(forKey: id) else { return nil }
            if let queue = state.queue, !state.entries.values.contains(where: { $0.folder == entry.folder }) {
                // The thread gets a last event for it. It fails where the folder itself is gone; then the thread waits
                // for the next watch.
                _ = powersync_changes_remove(queue, entry.folder)
            }
            return entry
        }
    }

    // MARK: The thread

    /// What the queue told at once.
    private final class Events {
        var all: [(folder: Int32, name: String?)] = []
    }

    private static func run(_ queue: Int32, _ shared: Lock<State>) {
        let events = Events()
        while true {
            events.all = []
            let status = powersync_changes_wait(
                queue,
                { context, folder, name in
                    guard let context else { return }
                    Unmanaged<Events>.fromOpaque(context).takeUnretainedValue().all
                        .append((folder, name.map { String(cString: $0) }))
                }, Unmanaged.passUnretained(events).toOpaque())
            // The queue is ours and open, and the buffer larger than any event.
            precondition(status >= 0, "waiting for changes of files failed: \(SystemError.text(of: -status))")
            let told = shared.withLock { state -> [@Sendable () -> Void]? in
                guard !state.entries.isEmpty else {
                    state.queue = nil
                    return nil
                }
                return state.entries.values.filter { entry in
                    events.all.contains { folder, name in
                        folder < 0
                            || folder == entry.folder && (name.map { entry.names.contains($0) } ?? true)
                    }
                }.map { $0.tell }
            }
            guard let told else {
                close(queue)
                return
            }
            for tell in told { tell() }
            usleep(rest)
        }
    }
}
