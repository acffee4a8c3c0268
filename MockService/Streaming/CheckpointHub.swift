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
    private typealias Waiter = CheckedContinuation<PublishedCheckpoint, any Error>

    private struct State {
        var current: PublishedCheckpoint?
        /// The stream that is about to take the place of the current one, which stands still meanwhile.
        var successor: StreamNumber?
        var sequence: UInt64 = 0
        var waiters: [UInt64: (sequence: UInt64, continuation: Waiter)] = [:]
        var nextWaiter: UInt64 = 0
        var isClosed = false
    }

    private let state = Lock(State())

    /// Makes a hub without a checkpoint.
    package init() {}

    /// The newest checkpoint, nil before the first.
    package var current: PublishedCheckpoint? { state.withLock { $0.current } }

    /// Finds out whether clients may be served from another stream from a checkpoint on: what they have must not go back.
    ///
    /// If it is older than what is served, then that stands still until it is not, so that nobody runs ahead for ever.
    ///
    /// - Parameters:
    ///   - stream: The other stream.
    ///   - checkpoint: A checkpoint of it.
    /// - Returns: Whether it may be published.
    package func mayServe(_ stream: StreamNumber, from checkpoint: StoredCheckpoint) -> Bool {
        state.withLock { state in
            guard let current = state.current, current.stream != stream else { return true }
            state.successor = stream
            return checkpoint.lsn >= current.checkpoint.lsn
        }
    }

    /// Lets what is served go on: the stream that was to take its place has been lost.
    package func abandonSwitch() { state.withLock { $0.successor = nil } }

    /// Whether the service ends.
    package var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Publishes a checkpoint.
    ///
    /// - Parameters:
    ///   - stream: The replication stream.
    ///   - config: Its configuration.
    ///   - checkpoint: The checkpoint.
    ///   - maySwitch: Whether clients may be served from this stream from now on, if they are from another.
    package func publish(
        stream: StreamNumber, config: CompiledSyncConfig, _ checkpoint: StoredCheckpoint,
        maySwitch: Bool = true
    ) {
        publish(stream, config, checkpoint) { state in
            state.current?.stream == stream ? state.successor == nil : maySwitch
        }
    }

    /// Publishes a checkpoint unless clients are served from one already.
    ///
    /// - Parameters:
    ///   - stream: The replication stream.
    ///   - config: Its configuration.
    ///   - checkpoint: The checkpoint.
    package func publishFirst(
        stream: StreamNumber, config: CompiledSyncConfig, _ checkpoint: StoredCheckpoint
    ) {
        publish(stream, config, checkpoint) { $0.current == nil }
    }

    private func publish(
        _ stream: StreamNumber, _ config: CompiledSyncConfig, _ checkpoint: StoredCheckpoint,
        if mayPublish: (State) -> Bool
    ) {
        let (published, waiters) = state.withLock { state -> (PublishedCheckpoint?, [Waiter]) in
            guard mayPublish(state) else { return (nil, []) }
            state.successor = nil
            state.sequence += 1
            let published = PublishedCheckpoint(
                stream: stream, config: config, checkpoint: checkpoint, sequence: state.sequence)
            state.current = published
            defer { state.waiters = [:] }
            return (published, state.waiters.values.map(\.continuation))
        }
        guard let published else { return }
        for waiter in waiters { waiter.resume(returning: published) }
    }

    /// Takes back what was published: it is not of this source.
    ///
    /// Streams end, and nobody gets one before the next checkpoint.
    package func retract() {
        let waiters = state.withLock { state in
            state.current = nil
            state.successor = nil
            let streams = state.waiters.filter { $0.value.sequence > 0 }
            for id in streams.keys { state.waiters[id] = nil }
            return streams.values.map(\.continuation)
        }
        for waiter in waiters { waiter.resume(throwing: CancellationError()) }
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
                    state.waiters[id] = (sequence, continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation.resume(
                throwing: CancellationError())
        }
    }

    /// Wakes everybody who waits with `CancellationError`.
    package func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters.values.map(\.continuation)
        }
        for waiter in waiters { waiter.resume(throwing: CancellationError()) }
    }
}
