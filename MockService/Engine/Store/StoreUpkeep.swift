import PowerSyncCommandLine
import PowerSyncSQLite
import PowerSyncSystem

/// Keeps the file of a store small and quick to read, while nobody else wants to write (DESIGN.md, 1).
///
/// It removes what stopped streams hold, merges small segments, trims lookups, gives free pages back, and empties the log
/// of a store at rest. Each is done in short transactions, of which one begins only if nobody has the connection that
/// writes, waits for it or is about to; so a write waits for one of them at most. Where none could begin for some seconds,
/// one takes its turn among those who write. However the service ends, it goes on where it was.
package final class StoreUpkeep: Sendable {
    /// What one transaction did.
    package enum Step: String, Sendable, CaseIterable {
        /// It removed a piece of what a stopped stream holds.
        case removed
        /// It merged segments of a bucket.
        case merged
        /// It looked at a bucket of which no segments can be merged, or at versions of lookups that are all needed.
        case looked
        /// It removed versions of lookups that nobody asks for any more.
        case trimmed
        /// It gave free pages back.
        case vacuumed
        /// Nothing is to be done.
        case nothing
        /// Nothing was done: somebody else writes, or is about to.
        case busy
    }

    private let store: ServiceStore
    private let clock: ServiceClock
    private let log: Log
    private let served: @Sendable () -> StreamNumber?
    private let stopped: StoppedStreams
    private let merger: SegmentMerger
    private let trimmer: LookupTrimmer
    private let isShortening = Lock(false)
    /// Since when others have written whenever a step could have begun; nil behind a step.
    private let heldUpSince = Lock<Double?>(nil)
    private var limits: StoreLimits { store.limits }

    /// Makes the upkeep of a store, which does nothing before `run`.
    ///
    /// - Parameters:
    ///   - store: The store, which must be closed behind the end of `run` alone.
    ///   - clock: The time.
    ///   - log: Gets what fails.
    ///   - served: The stream that clients are served from; nothing of it is removed, whatever the file says of it.
    package init(
        _ store: ServiceStore, clock: ServiceClock, log: Log,
        served: @escaping @Sendable () -> StreamNumber?
    ) {
        self.store = store
        self.clock = clock
        self.log = log
        self.served = served
        stopped = StoppedStreams(limits: store.limits)
        merger = SegmentMerger(limits: store.limits)
        trimmer = LookupTrimmer(limits: store.limits)
    }

    /// Works until the task is cancelled; returns behind the transaction that is under way then.
    package func run() async {
        // A failure of the store has been told, and is tried again. What ends a round is the end of the task, or of what
        // keeps the time.
        while (try? await round()) != nil {}
    }

    /// Does what there is to do, and waits for something new.
    private func round() async throws {
        let writes = store.activity.writes
        guard let isDone = try await attempt({ try await self.work() }) else {
            return try await sleep(limits.upkeepRetry)
        }
        if isDone { try await rest(behind: writes) }
        try await sleep(limits.upkeepPause)
    }

    /// Works until nothing is left to do, or somebody wants to write.
    ///
    /// - Returns: Whether nothing is left.
    /// - Throws: `SQLiteError`, `CancellationError`; `StoreError` if a segment cannot be read.
    package func work() async throws -> Bool {
        while true {
            switch try await step() {
            case .nothing: return true
            case .busy: return false
            case .removed, .merged, .looked, .trimmed, .vacuumed: try await store.pool.shortenLog()
            }
        }
    }

    /// Does one thing, if nobody else writes, or if that has been so for too long.
    ///
    /// - Returns: What it was.
    /// - Throws: As `work`.
    package func step() async throws -> Step {
        let step = try await isOverdue ? store.pool.write { try self.step($0) } : stepIfFree()
        let now = clock.monotonic()
        heldUpSince.withLock { $0 = step == .busy ? $0 ?? now : nil }
        return step
    }

    private func stepIfFree() async throws -> Step {
        guard !store.activity.isAwaited else { return .busy }
        return try await store.pool.writeIfFree { try self.step($0) } ?? .busy
    }

    /// Whether others have written for so long that a step takes its turn.
    private var isOverdue: Bool {
        guard let since = heldUpSince.withLock({ $0 }) else { return false }
        return clock.monotonic() >= since + limits.upkeepPatience / .seconds(1)
    }

    private func step(_ connection: SQLiteConnection) throws -> Step {
        if try stopped.removePiece(but: served(), connection) { return .removed }
        if let fewer = try merger.merge(connection) { return fewer > 0 ? .merged : .looked }
        if let fewer = try trimmer.trim(connection) { return fewer > 0 ? .trimmed : .looked }
        return try shorten(connection) ? .vacuumed : .nothing
    }

    private func shorten(_ connection: SQLiteConnection) throws -> Bool {
        let free = try FreePages(connection)
        let isWanted = free.areTooMany(limits, isGoingOn: isShortening.withLock { $0 })
        let isShorter = try isWanted && free.giveBack(limits.vacuumedPages, connection)
        isShortening.withLock { $0 = isShorter }
        return isShorter
    }

    /// Returns behind the next write; if none comes for a while, the log is emptied before.
    private func rest(behind writes: UInt64) async throws {
        while try await isAtRest(behind: writes) {
            // A reader that needs the log is not waited for.
            guard try await attempt({ try await self.store.pool.truncateLog() }) == true else { continue }
            return try await store.activity.next(after: writes)
        }
    }

    /// Whether nothing is written for as long as a log is kept.
    private func isAtRest(behind writes: UInt64) async throws -> Bool {
        let activity = store.activity
        return try await clock.first(until: clock.monotonic() + limits.logRest / .seconds(1)) {
            try await activity.next(after: writes)
        } == nil
    }

    /// Tries something; nil if it fails, which is told.
    private func attempt<Value: Sendable>(
        _ body: @Sendable () async throws -> Value
    ) async throws(CancellationError) -> Value? {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            log.warning(
                "the state is not kept small for the moment, and this will be tried again",
                ["error": "\(error)"])
            return nil
        }
    }

    private func sleep(_ duration: Duration) async throws {
        try await clock.sleep(clock.monotonic() + duration / .seconds(1))
    }
}
