import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Notes what a process does with its state, and kills it a while behind one of these moments.
final class StoreMoments: Sendable {
    /// What is done, and may be cut.
    enum Moment: String, Codable, Sendable, CaseIterable {
        /// The file is being opened.
        case opening
        /// A piece of a table was read.
        case piece
        /// All tables have been read; from now on a commit may make clients be served from this stream.
        case read
        /// A commit is stored, and published if it may be.
        case commit
        /// Rows are missing, and are about to be read again.
        case again
        /// Clients are served from another stream than before.
        case switched
        /// A piece of what a stopped stream holds was removed.
        case removed
        /// Segments were merged.
        case merged
        /// Free pages were given back.
        case vacuumed
        /// The log was emptied.
        case emptied
    }

    /// Behind so many commits the process is killed wherever it is: the moment does not come.
    private static let lastCommit = 800

    private let moment: Moment
    private let count: Int
    private let delay: Duration
    private let journal: StoreJournal
    private let state = Lock((seen: [Moment: Int](), isOver: false))

    /// Makes the moments of this process.
    ///
    /// - Parameters:
    ///   - moment: Behind which it is killed.
    ///   - count: The how manieth of those.
    ///   - delay: How long behind.
    ///   - journal: Is told of all of them.
    init(killedBehind moment: Moment, count: Int, delay: Duration, _ journal: StoreJournal) {
        self.moment = moment
        self.count = count
        self.delay = delay
        self.journal = journal
    }

    /// Notes that a moment has come.
    ///
    /// - Throws: `SystemError` without a thread that could kill this process.
    func note(_ moment: Moment) throws {
        journal.did(moment.rawValue)
        let isLast = state.withLock { state in
            state.seen[moment, default: 0] += 1
            let isAimedAt = state.seen[self.moment] == count && moment == self.moment
            guard !state.isOver, isAimedAt || state.seen[.commit] == Self.lastCommit else { return false }
            state.isOver = true
            return true
        }
        if isLast { try end(behind: moment.rawValue) }
    }

    /// Kills this process although the moment has not come.
    ///
    /// - Throws: As `note`.
    func giveUp() throws {
        let isLast = state.withLock { state in
            defer { state.isOver = true }
            return !state.isOver
        }
        if isLast { try end(behind: "nothing") }
    }

    private func end(behind what: String) throws {
        journal.killing(what)
        let delay = delay
        try DetachedThread.start {
            DetachedThread.sleep(for: delay)
            _ = kill(getpid(), SIGKILL)
        }
    }
}
