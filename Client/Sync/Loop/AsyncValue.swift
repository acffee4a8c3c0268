import PowerSyncSystem

/// A value that any number of tasks wait for until it is as they need it.
package final class AsyncValue<Value: Sendable>: Sendable {
    private struct Waiter {
        let condition: @Sendable (Value) -> Bool
        let continuation: Resumption<Value, any Error>
    }

    private struct State {
        var value: Value
        var waiters: [Int: Waiter] = [:]
        var lastWaiter = 0
    }

    private let state: Lock<State>

    /// Holds a value.
    package init(_ value: Value) { state = Lock(State(value: value)) }

    /// The value as it is now.
    package var current: Value { state.withLock { $0.value } }

    /// How many tasks wait.
    package var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Changes the value, and lets those go on whose condition it fulfils; never blocks.
    ///
    /// - Parameter change: must be quick and call nothing else.
    /// - Returns: what `change` returns.
    @discardableResult
    package func change<Result>(_ change: (inout Value) -> Result) -> Result {
        let (result, value, woken) = state.withLock { state -> (Result, Value, [Waiter]) in
            let result = change(&state.value)
            let value = state.value
            let due = state.waiters.filter { $0.value.condition(value) }
            for id in due.keys { state.waiters[id] = nil }
            return (result, value, Array(due.values))
        }
        for waiter in woken { waiter.continuation.resume(returning: value) }
        return result
    }

    /// Waits until a condition holds, at once if it does.
    ///
    /// - Parameter condition: looks at a value; must be quick and call nothing else.
    /// - Returns: the first value for which it holds.
    /// - Throws: `CancellationError`.
    package func wait(until condition: @escaping @Sendable (Value) -> Bool) async throws -> Value {
        let id = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Value, any Error>) in
                let result = state.withLock { state -> Swift.Result<Value, any Error>? in
                    // The handler below runs after the task is marked: one of the two sees the other.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if condition(state.value) { return .success(state.value) }
                    state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.continuation
                .resume(throwing: CancellationError())
        }
    }
}
