import PowerSyncSystem

/// The status of one database file: kept here alone, for syncing and for all instances.
///
/// Whoever changes it changes the newest one, and nobody keeps a copy to write back. So no status is told after one
/// that came true later:
///
/// - While a stream is open or being opened, its iteration alone tells what is stored (priorities and streams), each
///   time after the commit. Whoever stores something beside it tells the iteration, which reads it then.
/// - At any other time it is read from the database: on whichever connection, and as slowly as that takes. What was
///   read counts only if nothing was told since the reading began. Otherwise it may be the older of the two, and is
///   read again (``refresh(resetting:reading:)``).
/// - A sync session tells nothing any more once the next one has begun (``SyncStatusHub``).
package final class SharedStatus: Sendable {
    /// Receives statuses in their order; nil stands for one that is not known yet.
    package typealias Observer = @Sendable (SyncStatusSnapshot?) -> Void

    private struct State {
        /// Nil until the stored status was read.
        var snapshot: SyncStatusSnapshot?
        /// How often something was told.
        var told = 0
        /// The newest sync session.
        var session = 0
        /// How many instances show the status.
        var users = 0
        var observers: [Int: Observer] = [:]
        var lastObserver = 0

        mutating func tell(_ snapshot: SyncStatusSnapshot) {
            self.snapshot = snapshot
            told += 1
            for observer in observers.values { observer(snapshot) }
        }
    }

    private let state: Lock<State>

    /// Makes a status.
    ///
    /// - Parameter snapshot: what is known; nil as long as nobody has read the stored one.
    package init(_ snapshot: SyncStatusSnapshot? = nil) {
        state = Lock(State(snapshot: snapshot))
    }

    /// The newest status; nil before the stored one was read.
    package var current: SyncStatusSnapshot? { state.withLock { $0.snapshot } }

    // MARK: Changing it

    /// Changes the status and tells it.
    ///
    /// - Parameters:
    ///   - session: the sync session that speaks; nothing happens if it is not the newest. Nil for everybody else.
    ///   - change: changes the newest status; returns whether that is news.
    package func update(inSession session: Int? = nil, _ change: (inout SyncStatusSnapshot) -> Bool) {
        state.withLock { state in
            guard session == nil || session == state.session else { return }
            var snapshot = state.snapshot ?? SyncStatusSnapshot()
            if change(&snapshot) { state.tell(snapshot) }
        }
    }

    /// Shows what is stored, unless a stream is open or being opened: its iteration does that.
    ///
    /// - Parameters:
    ///   - resetting: whether everything else is forgotten, errors too.
    ///   - read: reads the database; is called again as long as something else is told meanwhile.
    /// - Throws: what `read` throws.
    package func refresh(
        resetting: Bool = false, reading read: @Sendable () async throws -> SyncIterationStatus
    ) async throws {
        while true {
            let before = state.withLock { $0.told }
            let stored = try await read()
            let isOver = state.withLock { state in
                var snapshot = state.snapshot ?? SyncStatusSnapshot()
                if snapshot.connected || snapshot.connecting { return true }
                guard state.told == before else { return false }
                if resetting { snapshot = SyncStatusSnapshot() }
                snapshot.iteration.priorities = stored.priorities
                snapshot.iteration.streams = stored.streams
                if resetting || snapshot.iteration != state.snapshot?.iteration { state.tell(snapshot) }
                return true
            }
            if isOver { return }
        }
    }

    /// Says that a sync session begins.
    ///
    /// - Returns: its number; earlier sessions are not heard any more.
    func beginSession() -> Int {
        state.withLock { state in
            state.session += 1
            return state.session
        }
    }

    // MARK: Showing it

    /// Says that an instance shows the status; the first one begins without what was known of an earlier use.
    func join() {
        state.withLock { state in
            if state.users == 0 { state.snapshot = nil }
            state.users += 1
        }
    }

    /// Says that an instance shows the status no longer.
    func leave() { state.withLock { $0.users -= 1 } }

    /// Tells each status from now on.
    ///
    /// - Parameters:
    ///   - includesCurrent: whether that begins with the status as it is now.
    ///   - observer: runs under the lock: it must be quick, and must not touch this status.
    /// - Returns: the number to give to ``forget(_:)``, and the status as it is now.
    @discardableResult
    package func observe(
        includingCurrent includesCurrent: Bool = true, _ observer: @escaping Observer
    ) -> (id: Int, current: SyncStatusSnapshot?) {
        state.withLock { state in
            state.lastObserver += 1
            state.observers[state.lastObserver] = observer
            if includesCurrent { observer(state.snapshot) }
            return (state.lastObserver, state.snapshot)
        }
    }

    /// Ends what ``observe(includingCurrent:_:)`` began.
    func forget(_ id: Int) {
        // Returned from the section, so that what the observer holds is not released within it.
        _ = state.withLock { $0.observers.removeValue(forKey: id) }
    }
}
