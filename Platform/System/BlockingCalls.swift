/// Calls that block, each on a thread of its own, for callers that wait no longer than they want to.
///
/// Such a call cannot be ended: when nobody waits for it any more it goes on, and what it returns is dropped. Only so many
/// of these are borne; after that none begins.
package final class BlockingCalls: Sendable {
    private enum State<Value: Sendable> {
        case new
        case awaited(Resumption<Void, any Error>)
        case left
        case ended(Value)

        /// Takes out who waits.
        mutating func take(_ next: State) -> Resumption<Void, any Error>? {
            defer { self = next }
            guard case .awaited(let waiter) = self else { return nil }
            return waiter
        }
    }

    private let limit: Int
    private let unawaited = Lock(0)

    /// Makes calls, none of which has begun.
    ///
    /// - Parameter limit: How many may go on that nobody waits for; one more fails.
    package init(limit: Int = 64) {
        self.limit = limit
    }

    /// How many calls go on that nobody waits for.
    package var count: Int { unawaited.withLock { $0 } }

    /// Returns what a closure returns that may block.
    ///
    /// - Parameter body: What is called; its values are dropped on its thread if nobody waits any more.
    /// - Returns: Its value.
    /// - Throws: `SystemError` with `.process` if too many do not come to an end; `CancellationError`.
    package func value<Value: Sendable>(of body: @escaping @Sendable () -> Value) async throws -> Value {
        guard count < limit else { throw tooMany }
        let state = Lock(State<Value>.new)
        let unawaited = unawaited
        try await withTaskCancellationHandler {
            try await withThrowingResumption { waiter in
                let isWanted = state.withLock { state in
                    // The cancellation handler may have run already and have found nobody waiting.
                    guard case .new = state else { return false }
                    state = .awaited(waiter)
                    return true
                }
                guard isWanted else { return waiter.resume(throwing: CancellationError()) }
                do {
                    try DetachedThread.start {
                        let value = body()
                        // Handed over under the lock: ThreadSanitizer does not see that a continuation orders memory.
                        guard let waiter = state.withLock({ $0.take(.ended(value)) }) else {
                            return unawaited.withLock { $0 -= 1 }
                        }
                        waiter.resume()
                    }
                } catch {
                    state.withLock { $0.take(.left) }?.resume(throwing: error)
                }
            }
        } onCancel: {
            let waiter = state.withLock { state -> Resumption<Void, any Error>? in
                switch state {
                case .new, .left:
                    state = .left
                    return nil
                case .awaited:
                    unawaited.withLock { $0 += 1 }
                    return state.take(.left)
                case .ended: return nil
                }
            }
            waiter?.resume(throwing: CancellationError())
        }
        guard case .ended(let value) = state.withLock({ $0 }) else {
            preconditionFailure("whoever waited is woken by the end")
        }
        return value
    }

    /// Begins a call that nobody waits for.
    ///
    /// - Parameters:
    ///   - share: The part of the limit up to which such a call may begin, so that room is left for those that are waited for.
    ///   - body: What is called.
    /// - Throws: `SystemError` with `.process` if too many do not come to an end.
    package func start(share: Double = 0.5, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
        let hasRoom = unawaited.withLock { count in
            guard count < Int(Double(limit) * share) else { return false }
            count += 1
            return true
        }
        guard hasRoom else { throw tooMany }
        let unawaited = unawaited
        do throws(SystemError) {
            try DetachedThread.start {
                body()
                unawaited.withLock { $0 -= 1 }
            }
        } catch {
            unawaited.withLock { $0 -= 1 }
            throw error
        }
    }

    private var tooMany: SystemError {
        SystemError(.process, "\(limit) calls that block do not come to an end")
    }
}

extension Poller {
    /// Returns what a closure returns that may block; nil when the deadline passes first.
    ///
    /// - Parameters:
    ///   - deadline: How long to wait.
    ///   - body: What is called, on a thread of its own; it goes on when nobody waits any more.
    /// - Returns: Its value.
    /// - Throws: `SystemError` with `.process`; `CancellationError`.
    package func value<Value: Sendable>(
        until deadline: ContinuousClock.Instant, of body: @escaping @Sendable () -> Value
    ) async throws -> Value? {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { [calls] in try await calls.value(of: body) }
            group.addTask {
                try await self.sleep(until: deadline)
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
    }
}
