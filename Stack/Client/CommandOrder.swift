import PowerSyncSystem

/// The order in which commands take effect: that of their arrival.
///
/// What changes something takes a turn, and is done when all earlier turns are over. What only looks waits for the turns
/// that were taken before it came, and then works beside everything else.
package final class CommandOrder: Sendable {
    private struct Waiter {
        let turn: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var last = 0
        /// This turn and all before it are over.
        var done = 0
        /// Later turns that are over, since they were given up.
        var over: Set<Int> = []
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private let state = Lock(State())

    /// Makes an order in which nobody has taken a turn.
    package init() {}

    /// The turn that was taken last; 0 before the first.
    package var last: Int { state.withLock { $0.last } }

    /// Takes the next turn, which has to be ended.
    package func take() -> Int {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    /// Waits until a turn and all before it are over.
    ///
    /// - Throws: `CancellationError`.
    package func wait(for turn: Int) async throws {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let known = state.withLock { state -> Result<Void, any Error>? in
                    // The handler of a task that is cancelled already has run, and found nobody to wake.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if turn <= state.done { return .success(()) }
                    state.waiters[id] = Waiter(turn: turn, continuation: continuation)
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?
                .continuation.resume(throwing: CancellationError())
        }
    }

    /// Ends a turn, also one that never came.
    package func end(_ turn: Int) {
        let ready = state.withLock { state in
            state.over.insert(turn)
            while state.over.remove(state.done + 1) != nil { state.done += 1 }
            let ready = state.waiters.filter { $0.value.turn <= state.done }
            for id in ready.keys { state.waiters[id] = nil }
            return ready.values.sorted { $0.turn < $1.turn }
        }
        for waiter in ready { waiter.continuation.resume() }
    }
}
