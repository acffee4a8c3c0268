import PowerSyncSystem

/// The right to sync one database file, which one process has at a time (client-api 2.3).
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

    /// What the name of the file has behind that of the database.
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
    private let lock: FileLock
    private let state = Lock(State())

    /// Makes what does nothing before ``claim(_:log:told:)``.
    init(_ files: DatabaseFiles) {
        self.files = files
        lock = FileLock(path: files.path + Self.ending, like: files.path)
    }

    deinit { release() }

    /// Takes the lock, or waits for it in the background; until ``release()``, or until it is claimed anew.
    ///
    /// Where the file cannot be locked, this process is taken to be the only one, with one warning.
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
        let changes = files.changes(of: [Self.ending], environment: environment, log: log)
        // Nil only for somebody who was overtaken, and does not sync either.
        let holder = attempt(claim, log)?.holder ?? .another
        state.withLock { state in
            guard state.claim == claim else { return }
            state.waiting = follow(changes, claim, environment, log, told)
        }
        return holder
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

    /// Tries whenever the lock may have become free; a holder looks whether it still has it.
    private func follow(
        _ changes: FileChanges, _ claim: Int, _ environment: SyncEnvironment, _ log: @escaping SyncLog,
        _ told: @escaping @Sendable (Holder) -> Void
    ) -> Task<Void, Never> {
        Task { [weak self] in
            do {
                while true {
                    try await changes.next()
                    for _ in 0..<Self.tries {
                        guard let (holder, isNew) = self?.attempt(claim, log) else { return }
                        if isNew { told(holder) }
                        // Nobody tells a holder anything, so it would only look at its own lock.
                        if holder == .us, !changes.isTold { return }
                        if holder == .us || !changes.isTold { break }
                        try await environment.waitForFiles(Self.gap)
                    }
                }
            } catch {
                // Cancelled: the claim is over.
            }
        }
    }

    /// Tries once; nil if the claim is over.
    private func attempt(_ claim: Int, _ log: SyncLog) -> (holder: Holder, isNew: Bool)? {
        let (outcome, failure) = state.withLock { state -> ((holder: Holder, isNew: Bool)?, SystemError?) in
            guard state.claim == claim else { return (nil, nil) }
            var holder = Holder.us
            var failure: SystemError?
            do throws(SystemError) {
                if try !lock.take() { holder = .another }
            } catch {
                if !state.hasFailed { failure = error }
                state.hasFailed = true
            }
            defer { state.holder = holder }
            return ((holder: holder, isNew: state.holder != nil && state.holder != holder), failure)
        }
        if let failure {
            log(.warning, "Other processes that sync this database cannot be kept out: \(failure)")
        }
        return outcome
    }
}
