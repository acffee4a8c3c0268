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
///   read again (``refresh(reading:)``).
/// - When all data is removed nothing is left to be read, and that is told with the commit (``reset()``).
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

        /// Sets the newest status; returns what is to be told.
        mutating func tell(_ snapshot: SyncStatusSnapshot) -> News {
            self.snapshot = snapshot
            told += 1
            return News(observers: Array(observers.values), snapshot: snapshot)
        }
    }

    /// A status, and whoever is told it.
    private struct News {
        var observers: [Observer] = []
        var snapshot: SyncStatusSnapshot?

        func tell() { for observer in observers { observer(snapshot) } }
    }

    /// What syncing has come to, for whoever waits for a part of it.
    let progress = SessionProgress()
    private let state: Lock<State>
    /// Held from a change until it is told, so that statuses come in their order; taken before `state`.
    ///
    /// Observers run under this lock alone. They resume tasks, and resuming waits for whoever cancels the task at that
    /// moment, whose handlers come back here to forget the observer: that takes `state`, and never this.
    private let turn = Lock(())

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
        turn.withLock { _ in
            let news = state.withLock { state -> News? in
                guard session == nil || session == state.session else { return nil }
                var snapshot = state.snapshot ?? SyncStatusSnapshot()
                return change(&snapshot) ? state.tell(snapshot) : nil
            }
            news?.tell()
        }
    }

    /// Shows what is stored, unless a stream is open or being opened: its iteration does that.
    ///
    /// - Parameter read: reads the database; is called again as long as something else is told meanwhile.
    /// - Throws: what `read` throws.
    package func refresh(reading read: @Sendable () async throws -> SyncIterationStatus) async throws {
        while true {
            let before = state.withLock { $0.told }
            let stored = try await read()
            let isOver = turn.withLock { _ in
                let news = state.withLock { state -> News? in
                    var snapshot = state.snapshot ?? SyncStatusSnapshot()
                    if snapshot.connected || snapshot.connecting { return News() }
                    guard state.told == before else { return nil }
                    snapshot.iteration.priorities = stored.priorities
                    snapshot.iteration.streams = stored.streams
                    return snapshot.iteration != state.snapshot?.iteration ? state.tell(snapshot) : News()
                }
                news?.tell()
                return news != nil
            }
            if isOver { return }
        }
    }

    /// Forgets everything, errors too: all data was removed, and nothing syncs.
    ///
    /// To be called before anybody can store something again, with the writer in use: what is told is in the order of what
    /// is stored.
    package func reset() {
        update { snapshot in
            snapshot = SyncStatusSnapshot()
            return true
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
    ///   - observer: must be quick, and must not change this status. Another thread may call it once more after
    ///     ``forget(_:)``.
    /// - Returns: the number to give to ``forget(_:)``, and the status as it is now.
    @discardableResult
    package func observe(
        includingCurrent includesCurrent: Bool = true, _ observer: @escaping Observer
    ) -> (id: Int, current: SyncStatusSnapshot?) {
        turn.withLock { _ in
            let (id, snapshot) = state.withLock { state in
                state.lastObserver += 1
                state.observers[state.lastObserver] = observer
                return (state.lastObserver, state.snapshot)
            }
            if includesCurrent { observer(snapshot) }
            return (id, snapshot)
        }
    }

    /// Ends what ``observe(includingCurrent:_:)`` began.
    func forget(_ id: Int) {
        // Returned from the section, so that what the observer holds is not released within it.
        _ = state.withLock { $0.observers.removeValue(forKey: id) }
    }
}
