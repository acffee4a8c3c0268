import CPowerSyncLossyFiles
import PowerSyncCommandLine
import PowerSyncMockService
import PowerSyncSQLite
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A process that applies a script to a state on files that lose what was not synced, and kills itself: for exit tests.
enum StoreChild {
    /// What such a process is to do.
    struct Plan: Codable, Sendable {
        /// Where the state and the journal lie.
        var folder: String
        /// What the script is drawn by, the same for all processes of a state.
        var seed: Int
        /// What is drawn by in this process: which writes go to the system before they are synced.
        var draw: UInt64
        /// How many of a hundred do.
        var percentThrough: Int
        /// Whether syncing does anything.
        var isSyncing = true
        /// After how many transactions of its own the end is near; 0 for while it opens the state.
        var transactions: Int
        /// How long after that it comes.
        var delay: Duration
        /// Whether it comes while the state is kept small.
        var isInUpkeep = false

        var state: String { folder + "/state.db" }
        var journal: String { folder + "/journal" }
        var script: StoreScript { StoreScript(seed: seed) }
    }

    /// Goes on until it is killed.
    static func run(_ plan: Plan) async throws {
        let result = powersync_lossy_files_register(plan.draw, Int32(plan.percentThrough), plan.isSyncing)
        guard result == 0 else {
            throw StoreSession.Failure(description: "SQLite refuses the files: \(result)")
        }
        if plan.transactions == 0 { try killSoon(plan.delay) }
        let journal = try StoreJournal(path: plan.journal)
        var session = try await StoreSession(path: plan.state, script: plan.script)
        let upkeep = StoreUpkeep(
            session.store, clock: stoppedClock, log: Log(label: "upkeep", level: .error), served: { nil })
        try await session.leaveStream()
        var count = 0
        while true {
            let checkpoint = try await session.applyNext()
            try journal.published(checkpoint, of: session.stream.number)
            if session.last % 5 == 0 { try journal.given(try await session.takeWriteCheckpoint()) }
            count += 1
            if count == plan.transactions {
                // There shall be something to do.
                if plan.isInUpkeep { try await session.leaveStream() }
                try killSoon(plan.delay)
                if plan.isInUpkeep { try await keepUp(upkeep, session, journal) }
            }
            if session.last % 4 == 0 { try await keepUp(upkeep, session, journal) }
            if session.last % 8 == 0 { try await session.copyLog() }
        }
    }

    /// Does all that upkeep finds to do, and empties the log.
    private static func keepUp(
        _ upkeep: StoreUpkeep, _ session: StoreSession, _ journal: StoreJournal
    ) async throws {
        while true {
            let step = try await upkeep.step()
            guard step != .nothing else { break }
            try journal.kept(step.rawValue)
        }
        if try await session.store.pool.truncateLog() { try journal.kept("emptied") }
    }

    /// The time, which nobody asks for here.
    private static let stoppedClock = ServiceClock(
        now: { 0 }, monotonic: { 0 }, sleep: { _ in }, random: { 0 })

    /// While this process goes on.
    private static func killSoon(_ delay: Duration) throws {
        try DetachedThread.start {
            DetachedThread.sleep(for: delay)
            _ = kill(getpid(), SIGKILL)
        }
    }
}
