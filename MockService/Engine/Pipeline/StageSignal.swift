import PowerSyncSystem

/// Wakes tasks that found nothing to do, or no room, once something has changed.
///
/// Whoever waits reads the count first and looks then: what changes in between is not missed.
package final class StageSignal: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var count: UInt64 = 0
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
    }

    private let state = Lock(State())

    /// Makes a signal that was never given.
    package init() {}

    /// How often it was given.
    package var count: UInt64 { state.withLock { $0.count } }

    /// Wakes everybody who waits.
    package func ring() {
        let waiters = state.withLock { state in
            state.count += 1
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter.resume() }
    }

    /// Returns once the signal was given more often than before, which may have been already.
    ///
    /// - Parameter count: How often it was given when the caller looked.
    /// - Throws: `CancellationError` when the task is cancelled.
    package func next(after count: UInt64) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: Waiter) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.count > count { return .success(()) }
                    state.waiters[id] = continuation
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(throwing: CancellationError())
        }
    }
}
