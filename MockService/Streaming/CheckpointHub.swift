import PowerSyncSystem

/// The newest checkpoint of the stream that clients are served from.
package struct PublishedCheckpoint: Sendable {
    /// The replication stream.
    package let stream: StreamNumber
    /// Its configuration.
    package let config: CompiledSyncConfig
    /// The checkpoint.
    package let checkpoint: StoredCheckpoint
    /// Counts publications.
    package let sequence: UInt64
}

/// Hands the newest checkpoint to every stream that waits; whoever is late sees only the newest.
package final class CheckpointHub: Sendable {
    private struct State {
        var current: PublishedCheckpoint?
        var waiters: [UInt64: CheckedContinuation<PublishedCheckpoint, any Error>] = [:]
        var nextWaiter: UInt64 = 0
        var isClosed = false
    }

    private let state = Lock(State())

    /// Makes a hub without a checkpoint.
    package init() {}

    /// The newest checkpoint, nil before the first.
    package var current: PublishedCheckpoint? { state.withLock { $0.current } }

    /// Publishes a checkpoint.
    package func publish(stream: StreamNumber, config: CompiledSyncConfig, _ checkpoint: StoredCheckpoint) {
        let (published, waiters) = state.withLock { state in
            let published = PublishedCheckpoint(
                stream: stream, config: config, checkpoint: checkpoint,
                sequence: (state.current?.sequence ?? 0) + 1)
            state.current = published
            defer { state.waiters = [:] }
            return (published, Array(state.waiters.values))
        }
        for waiter in waiters { waiter.resume(returning: published) }
    }

    /// Returns a checkpoint published behind `sequence`, at once if there is one.
    ///
    /// - Throws: `CancellationError` when the task is cancelled or the hub closed.
    package func next(after sequence: UInt64) async throws -> PublishedCheckpoint {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let answer: Result<PublishedCheckpoint, any Error>? = state.withLock { state in
                    if Task.isCancelled || state.isClosed { return .failure(CancellationError()) }
                    if let current = state.current, current.sequence > sequence { return .success(current) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }

    /// Wakes everybody who waits with `CancellationError`.
    package func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(throwing: CancellationError()) }
    }
}
