import PowerSyncSystem

/// The background syncing of one database file: at most one coordinator, whichever instance started it.
///
/// Starting and stopping happen one after the other, in the order they were asked for.
final class GroupSync: Sendable {
    private struct State {
        var coordinator: SyncCoordinator?
        var owner: ObjectIdentifier?
        /// Counts what was asked for: only the last wish is fulfilled.
        var wish = 0
        var last: Task<Void, any Error>?
    }

    private let state = Lock(State())

    /// Whether a coordinator runs.
    var isRunning: Bool { state.withLock { $0.coordinator != nil } }

    /// Ends what runs and starts anew, unless something else is asked for meanwhile.
    ///
    /// - Parameters:
    ///   - owner: the instance that connects.
    ///   - make: makes the coordinator.
    /// - Throws: what `make` throws; `CancellationError` when the caller is cancelled, which stops nothing.
    func connect(
        owner: ObjectIdentifier, _ make: @escaping @Sendable () async throws -> SyncCoordinator
    ) async throws {
        try await enqueue { wish in
            await self.stopCurrent()
            guard self.isNewest(wish) else { return }
            let coordinator = try await make()
            self.state.withLock { state in
                state.coordinator = coordinator
                state.owner = owner
            }
            await coordinator.start()
        }.cancellableValue()
    }

    /// Ends what runs and waits for its end.
    ///
    /// - Throws: `CancellationError` when the caller is cancelled; syncing ends nevertheless. So an upload
    ///   that asks
    ///   for it, and is cancelled by it, does not wait for itself.
    func disconnect() async throws {
        try await enqueue { _ in await self.stopCurrent() }.cancellableValue()
    }

    /// Ends what an instance has started and waits for its end, whether or not the caller is cancelled.
    func disconnect(ownedBy owner: ObjectIdentifier) async {
        guard state.withLock({ $0.owner == owner }) else { return }
        // Stopping throws nothing.
        try? await enqueue { _ in await self.stopCurrent() }.value
    }

    /// Says that the upload queue may have something to do.
    func triggerUpload() {
        state.withLock { $0.coordinator }?.triggerUpload()
    }

    /// Says that the app holds other streams than before; returns whether anybody listens.
    func subscriptionsChanged() -> Bool {
        let coordinator = state.withLock { $0.coordinator }
        coordinator?.subscriptionsChanged()
        return coordinator != nil
    }

    private func isNewest(_ wish: Int) -> Bool { state.withLock { $0.wish == wish } }

    private func stopCurrent() async {
        let coordinator = state.withLock { state in
            state.owner = nil
            return state.coordinator.take()
        }
        await coordinator?.stop()
    }

    private func enqueue(
        _ operation: @escaping @Sendable (_ wish: Int) async throws -> Void
    ) -> Task<Void, any Error> {
        state.withLock { state in
            state.wish += 1
            let wish = state.wish
            let previous = state.last
            let task = Task {
                // What came of the earlier wish was told to its caller.
                _ = await previous?.result
                try await operation(wish)
            }
            state.last = task
            return task
        }
    }
}

extension Task where Success == Void, Failure == any Error {
    /// Waits for the end of the task; a caller that is cancelled stops waiting, the task goes on.
    fileprivate func cancellableValue() async throws {
        let (ends, end) = AsyncThrowingStream<Void, any Error>.makeStream()
        Task<Void, Never> {
            do {
                end.yield(try await value)
                end.finish()
            } catch {
                end.finish(throwing: error)
            }
        }
        for try await _ in ends { return }
        throw Swift.CancellationError()
    }
}
