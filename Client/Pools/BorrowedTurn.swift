import PowerSyncSystem

/// One call of a pool of the app's own: waited for until the pool comes to it, then used, or given up before.
///
/// A pool need not notice that nobody waits any more: a queue does not. So the call has a task of its own, which may go
/// on when whoever asked has gone; what it comes to then does nothing.
final class BorrowedTurn<Value: Sendable>: Sendable {
    private typealias Waiter = Resumption<Value, any Error>

    private enum Phase {
        case new
        case waiting(Waiter)
        case begun(Waiter)
        case over
    }

    private struct State {
        var phase = Phase.new
        var call: Task<Void, Never>?
        var isCancelled = false
    }

    private let state = Lock(State())

    /// Calls the pool and waits for what comes of it.
    ///
    /// - Parameter call: calls the pool, whose callback begins with ``begin()``.
    /// - Returns: what it returns.
    /// - Throws: what it throws; `CancellationError` at once for who is cancelled before the callback has begun.
    func run(_ call: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                guard wait(continuation) else {
                    continuation.resume(throwing: CancellationError())
                    return
                }
                start(call)
            }
        } onCancel: {
            cancel()
        }
    }

    /// Begins the callback.
    ///
    /// - Throws: `CancellationError` where nobody waits for it any more.
    func begin() throws {
        try state.withLock { state in
            switch state.phase {
            case .waiting(let continuation): state.phase = .begun(continuation)
            case .begun: break
            case .new, .over: throw CancellationError()
            }
        }
    }

    /// Notes who waits; false if the turn has been cancelled already.
    private func wait(_ continuation: Waiter) -> Bool {
        state.withLock { state in
            guard case .new = state.phase else { return false }
            state.phase = .waiting(continuation)
            return true
        }
    }

    private func start(_ call: @escaping @Sendable () async throws -> Value) {
        let task = Task {
            do {
                end(.success(try await call()))
            } catch {
                end(.failure(error))
            }
        }
        let isCancelled = state.withLock { state in
            switch state.phase {
            case .waiting, .begun: state.call = task
            case .new, .over: break
            }
            return state.isCancelled
        }
        if isCancelled { task.cancel() }
    }

    private func end(_ result: Result<Value, any Error>) {
        let waiter = state.withLock { state -> Waiter? in
            defer { (state.phase, state.call) = (.over, nil) }
            switch state.phase {
            case .waiting(let continuation), .begun(let continuation): return continuation
            case .new, .over: return nil
            }
        }
        waiter?.resume(with: result)
    }

    /// Tells the pool, and lets whoever waits go; who uses a connection stays until the callback is over.
    private func cancel() {
        let (call, waiter) = state.withLock { state -> (Task<Void, Never>?, Waiter?) in
            state.isCancelled = true
            switch state.phase {
            case .waiting(let continuation):
                state.phase = .over
                return (state.call.take(), continuation)
            case .new:
                state.phase = .over
                return (nil, nil)
            case .begun, .over: return (state.call, nil)
            }
        }
        call?.cancel()
        waiter?.resume(throwing: CancellationError())
    }
}
