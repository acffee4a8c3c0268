import PowerSyncSystem

/// The status of the file as one database instance shows it, until that is closed.
final class StatusFeed: Sendable {
    /// How many snapshots wait for whoever does not take them; beyond that the oldest go.
    static let bufferLimit = 1024

    private struct State {
        /// What is shown from the closing on.
        var last: SyncStatusValue?
        var followers: Set<Int> = []
        var waiters: [Int: AsyncThrowingStream<SyncStatusValue, any Error>.Continuation] = [:]
        var observable: Observable?
        /// Keeps the observable object up to date with other processes.
        var observation: ExternalChanges.Observation?
    }

    /// The status as an object, and the task that keeps it up to date.
    private struct Observable: Sendable {
        let status: ObservableSyncStatus
        let updates: Task<Void, Never>
    }

    private let shared: SharedStatus
    /// What other processes store; looked at while somebody follows or waits.
    private let external: ExternalChanges?
    // Its sections may take the lock of `shared`, but tell nobody anything: that resumes tasks.
    private let state = Lock(State())

    /// Shows a status, of which other processes may store something newer.
    init(of shared: SharedStatus, changedBy external: ExternalChanges? = nil) {
        self.shared = shared
        self.external = external
        shared.join()
    }

    deinit { close() }

    /// The newest status.
    var current: SyncStatusValue { state.withLock { $0.last } ?? SyncStatusValue(shared.current) }

    /// How many wait for a condition.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Returns the current status and every later one.
    func follow() -> AsyncStream<any SyncStatusData> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: (any SyncStatusData).self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
        if let last = state.withLock({ $0.last }) {
            continuation.yield(last)
            return stream
        }
        let (id, _) = shared.observe { continuation.yield(SyncStatusValue($0)) }
        let isOpen = state.withLock { state in
            if state.last == nil { state.followers.insert(id) }
            return state.last == nil
        }
        if isOpen {
            let observation = external?.observe()
            continuation.onTermination = { [weak self] _ in
                withExtendedLifetime(observation) {}
                self?.forget(id)
            }
        } else {
            shared.forget(id)
        }
        return stream
    }

    /// Tells the current status and every later one before whoever changed it goes on.
    ///
    /// - Parameter observer: must be quick, and call nothing of the database.
    /// - Returns: what keeps the telling, until the database is closed.
    func observe(_ observer: @escaping @Sendable (any SyncStatusData) -> Void) -> StatusObservation {
        if let last = state.withLock({ $0.last }) {
            observer(last)
            return StatusObservation {}
        }
        let (id, _) = shared.observe { observer(SyncStatusValue($0)) }
        let isOpen = state.withLock { state in
            if state.last == nil { state.followers.insert(id) }
            return state.last == nil
        }
        guard isOpen else {
            shared.forget(id)
            return StatusObservation {}
        }
        let observation = external?.observe()
        return StatusObservation { [weak self] in
            withExtendedLifetime(observation) {}
            self?.forget(id)
        }
    }

    /// Waits until a condition holds, at once if it does.
    ///
    /// The task that waits judges each status, and not whoever tells it, under a lock: the condition is the app's.
    ///
    /// - Parameter condition: looks at a status.
    /// - Throws: `CancellationError`, and `PowerSyncError` when the database is closed.
    func wait(until condition: @escaping @Sendable (SyncStatusValue) -> Bool) async throws {
        try Task.checkCancellation()
        let (statuses, continuation) = AsyncThrowingStream<SyncStatusValue, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.bufferLimit))
        let (id, _) = shared.observe { continuation.yield(SyncStatusValue($0)) }
        let observation = external?.observe()
        defer {
            withExtendedLifetime(observation) {}
            forget(id)
        }
        let isOpen = state.withLock { state in
            if state.last == nil { state.waiters[id] = continuation }
            return state.last == nil
        }
        guard isOpen else { throw PowerSyncError.closed }
        for try await status in statuses where condition(status) { return }
        throw CancellationError()
    }

    /// Lets everybody who waits go with an error; followers keep what they have.
    func close() {
        let ended = state.withLock { state -> State? in
            guard state.last == nil else { return nil }
            defer { state = State(last: SyncStatusValue(shared.current), observable: state.observable) }
            return state
        }
        guard let ended else { return }
        for id in ended.followers.union(ended.waiters.keys) { shared.forget(id) }
        for waiter in ended.waiters.values { waiter.finish(throwing: PowerSyncError.closed) }
        ended.observable?.updates.cancel()
        shared.leave()
    }

    /// The status as an observable object, made at the first use.
    @MainActor var observable: ObservableSyncStatus {
        // Only the main actor makes one, so nobody else does beside it.
        if let known = state.withLock({ $0.observable }) { return known.status }
        // Of what comes before the main actor has time the newest is enough.
        let (newer, continuation) = AsyncStream.makeStream(
            of: SyncStatusValue.self, bufferingPolicy: .bufferingNewest(1))
        let (id, snapshot) = shared.observe(includingCurrent: false) {
            continuation.yield(SyncStatusValue($0))
        }
        let last = state.withLock { $0.last }
        let status = ObservableSyncStatus(last ?? SyncStatusValue(snapshot))
        let updates = Task { for await value in newer { status.update(value) } }
        let observation = external?.observe()
        let isOpen = state.withLock { state in
            state.observable = Observable(status: status, updates: updates)
            if state.last == nil {
                state.followers.insert(id)
                state.observation = observation
            }
            return state.last == nil
        }
        if !isOpen {
            shared.forget(id)
            updates.cancel()
        }
        return status
    }

    private func forget(_ id: Int) {
        state.withLock { state in
            state.followers.remove(id)
            state.waiters[id] = nil
        }
        shared.forget(id)
    }
}

extension SyncStatusValue {
    /// Makes the view of a status; nil stands for one that is not known yet.
    init(_ snapshot: SyncStatusSnapshot?) {
        self.init(snapshot: snapshot ?? SyncStatusSnapshot(), isLoaded: snapshot != nil)
    }
}
