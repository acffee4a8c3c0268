import PowerSyncSystem

/// Whether somebody writes to a store or is about to: what waits for that works while nobody does.
package final class StoreActivity: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var writes: UInt64 = 0
        var coming = 0
        var waiters: [UInt64: (count: UInt64, continuation: Waiter)] = [:]
        var lastWaiter: UInt64 = 0

        /// Takes those for whom enough has been written.
        mutating func takeWaiters() -> [Waiter] {
            let due = waiters.filter { $0.value.count < writes }
            for id in due.keys { waiters[id] = nil }
            return due.values.map(\.continuation)
        }
    }

    private let state = Lock(State())

    /// Nobody has written.
    package init() {}

    /// How often something was written; a piece of work counts once, and one that changes nothing not at all.
    ///
    /// Tables without rowid do not count, either: who takes a write checkpoint moves the source's log, whose position is
    /// written.
    package var writes: UInt64 { state.withLock { $0.writes } }

    /// Whether something is on its way to the store that does not wait for its connection yet.
    package var isAwaited: Bool { state.withLock { $0.coming > 0 } }

    /// Notes that something is on its way to the store; `settle` has to follow once it is written, or given up.
    package func announce() { state.withLock { $0.coming += 1 } }

    /// Notes that something that was on its way is so no more.
    package func settle() {
        state.withLock { state in
            precondition(state.coming > 0, "nothing was on its way")
            state.coming -= 1
        }
    }

    /// Notes that something was written.
    package func noteWrite() {
        let waiters = state.withLock { state in
            state.writes += 1
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns once something has been written more often than so many times.
    ///
    /// - Parameter count: How often it had been.
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
                    if state.writes > count { return .success(()) }
                    state.waiters[id] = (count, continuation)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }
}
