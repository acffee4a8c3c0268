import PowerSyncSystem

/// A lock that is held across waits; those who wait get it in the order in which they came.
final class AsyncLock: Sendable {
    private struct State {
        var isHeld = false
        var waiters: [(id: UInt64, continuation: CheckedContinuation<Void, any Error>)] = []
        var lastID: UInt64 = 0
    }

    private let state = Lock(State())

    /// How many wait.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Runs a body while nobody else has the lock; must not be called inside such a body.
    ///
    /// - Parameter body: what to do; may wait.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws; `CancellationError` when the task is cancelled while it waits for the lock.
    func withLock<Value: Sendable>(_ body: @Sendable () async throws -> Value) async throws -> Value {
        try await take()
        defer { release() }
        return try await body()
    }

    private func take() async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let answer = state.withLock { state -> Result<Void, any Error>? in
                    // The handler below runs after the task is marked: one of the two sees the other.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if !state.isHeld {
                        state.isHeld = true
                        return .success(())
                    }
                    state.waiters.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<Void, any Error>? in
                guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
                return state.waiters.remove(at: index).continuation
            }
            waiter?.resume(throwing: CancellationError())
        }
    }

    private func release() {
        let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
            // It is handed over, so that nobody who comes now is before those who wait.
            state.isHeld = !state.waiters.isEmpty
            return state.isHeld ? state.waiters.removeFirst().continuation : nil
        }
        next?.resume()
    }
}
