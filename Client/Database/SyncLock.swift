import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The right to do something with one database file, which one process has at a time: to sync it (client-api 2.3), or to
/// transfer the files of a table of attachments.
///
/// It is a lock on a file beside the database. The system frees it when its holder ends, however that ends, and tells the
/// others that the file was closed.
final class SyncLock: Sendable {
    /// Who has it.
    enum Holder: Sendable {
        /// This process.
        case us
        /// Another one.
        case another
    }

    /// What the right is for.
    struct Purpose: Sendable {
        /// What the name of the locked file has behind that of the database.
        let ending: String
        /// What processes do with the database that have it, for warnings.
        let deed: String

        /// Syncing.
        static let sync = Purpose(ending: SyncLock.ending, deed: "sync this database")
    }

    /// What the name of the file that is locked for syncing has behind that of the database.
    static let ending = "-sync"
    /// How often the lock is tried when it may be free: the file is told to be closed a moment before it is unlocked.
    static let tries = 20
    /// The wait between two of these tries, which together take 200 ms.
    static let gap = Duration.milliseconds(10)

    private struct State {
        /// Counts claims and their ends: what belongs to an earlier claim does nothing.
        var claim = 0
        var holder: Holder?
        var waiting: Task<Void, Never>?
        var hasFailed = false
    }

    private let files: DatabaseFiles
    private let purpose: Purpose
    private let lock: FileLock
    private let state = Lock(State())

    /// Makes what does nothing before ``claim(_:log:told:)``.
    ///
    /// - Parameters:
    ///   - files: the files of the database.
    ///   - purpose: what the right is for.
    ///   - lock: the lock beside them; that of the file if nil.
    init(_ files: DatabaseFiles, for purpose: Purpose = .sync, lock: FileLock? = nil) {
        self.files = files
        self.purpose = purpose
        self.lock = lock ?? FileLock(path: files.path + purpose.ending, like: files.path)
    }

    deinit { release() }

    /// Takes the lock, or waits for it in the background; until ``release()``, or until it is claimed anew.
    ///
    /// Where files cannot be locked, this process is taken to be the only one, with one warning. Whatever else hinders it,
    /// such as a lack of descriptors, another one may have the lock: it is tried again each second.
    ///
    /// - Parameters:
    ///   - environment: how to wait.
    ///   - log: receives warnings.
    ///   - told: called each time that the holder is another than before; must not block.
    /// - Returns: who has the lock now.
    func claim(
        _ environment: SyncEnvironment, log: @escaping SyncLog, told: @escaping @Sendable (Holder) -> Void
    ) -> Holder {
        let (claim, earlier) = state.withLock { state in
            state.claim += 1
            return (state.claim, state.waiting.take())
        }
        earlier?.cancel()
        // Before the first try, so that whoever frees the lock from now on is heard.
        let changes = files.changes(of: [purpose.ending], environment: environment, log: log)
        // Nil only for somebody who was overtaken, and does nothing either.
        guard let first = attempt(claim, log) else { return .another }
        state.withLock { state in
            guard state.claim == claim else { return }
            state.waiting = follow(changes, claim, first, environment, log, told)
        }
        return first.holder
    }

    /// Gives the lock, or the wait for it, up.
    func release() {
        let waiting = state.withLock { state in
            state.claim += 1
            state.holder = nil
            // Under the lock of the state, so that no try of the claim comes behind it.
            lock.release()
            return state.waiting.take()
        }
        waiting?.cancel()
    }

    /// What came of a try.
    private struct Attempt {
        let holder: Holder
        /// Whether it is another one than before.
        let isNew: Bool
        /// Whether the try failed, so that it is not known who has the lock.
        let hasFailed: Bool
    }

    /// Tries whenever the lock may have become free; a holder looks whether it still has it.
    private func follow(
        _ changes: FileChanges, _ claim: Int, _ first: Attempt, _ environment: SyncEnvironment,
        _ log: @escaping SyncLog, _ told: @escaping @Sendable (Holder) -> Void
    ) -> Task<Void, Never> {
        Task { [weak self] in
            do {
                var last = first
                while true {
                    // Nobody tells a holder anything there, so it would only look at its own lock.
                    if last.holder == .us, !changes.isTold { return }
                    if last.hasFailed {
                        try await environment.waitForFiles(FileChanges.interval)
                    } else {
                        try await changes.next()
                    }
                    for _ in 0..<Self.tries {
                        guard let attempt = self?.attempt(claim, log) else { return }
                        last = attempt
                        if attempt.isNew { told(attempt.holder) }
                        if attempt.holder == .us || attempt.hasFailed || !changes.isTold { break }
                        try await environment.waitForFiles(Self.gap)
                    }
                }
            } catch {
                // Cancelled: the claim is over.
            }
        }
    }

    /// Tries once; nil if the claim is over.
    private func attempt(_ claim: Int, _ log: SyncLog) -> Attempt? {
        let (attempt, warning) = state.withLock { state -> (Attempt?, String?) in
            guard state.claim == claim else { return (nil, nil) }
            var holder = Holder.another
            var failure: SystemError?
            do throws(SystemError) {
                if try lock.take() { holder = .us }
            } catch {
                failure = error
                if isLockless(error.errno) { holder = .us }
            }
            let warning =
                state.hasFailed ? nil : failure.map { "\(holder == .us ? alone : unsure): \($0)" }
            if failure != nil { state.hasFailed = true }
            defer { state.holder = holder }
            return (
                Attempt(
                    holder: holder, isNew: state.holder != nil && state.holder != holder,
                    hasFailed: failure != nil && holder == .another), warning
            )
        }
        if let warning { log(.warning, warning) }
        return attempt
    }

    private var alone: String { "Other processes that \(purpose.deed) cannot be kept out" }
    private var unsure: String {
        "Whether other processes \(purpose.deed) cannot be found out, it is tried each second"
    }

    /// Whether an error means that nobody can have a lock here: a link in its place, a file system that knows no locks, a
    /// folder in which nobody has made the file.
    private func isLockless(_ errno: Int32) -> Bool {
        switch errno {
        case ELOOP, ENOLCK, ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL: true
        case EACCES, EPERM, EROFS: access(files.path + purpose.ending, F_OK) != 0
        default: false
        }
    }
}
