import PowerSyncCommandLine
import PowerSyncSystem

/// Calls a store within the time that a request has, and tells in the log what went wrong; never within a transaction.
struct StoreCalls: Sendable {
    private enum Ending<Value: Sendable>: Sendable {
        case value(Value)
        case late
    }

    let store: any ObjectStore
    let environment: BackendEnvironment
    let poller: Poller
    let log: Log

    /// Calls the store.
    ///
    /// - Parameters:
    ///   - deadline: when the call is given up; a store that does not heed that is waited for, and what it brings counts.
    ///   - body: the call.
    /// - Returns: what it returns.
    /// - Throws: `Problem` 503 where the store is away, is late or refuses; `ObjectStoreError` with `.conflict`,
    ///   `CancellationError`.
    func call<Value: Sendable>(
        until deadline: ContinuousClock.Instant,
        _ body: @escaping @Sendable (any ObjectStore) async throws -> Value
    ) async throws -> Value {
        do {
            return try await withThrowingTaskGroup(of: Ending<Value>.self) { group in
                group.addTask { [store] in .value(try await body(store)) }
                group.addTask { [poller] in
                    try await poller.sleep(until: deadline)
                    return .late
                }
                defer { group.cancelAll() }
                var ending = try await group.next()
                if case .late? = ending {
                    group.cancelAll()
                    do {
                        ending = try await group.next()
                    } catch is CancellationError {
                        try Task.checkCancellation()
                    }
                }
                guard case .value(let value)? = ending else {
                    throw ObjectStoreError(.unavailable, "the store has not answered in time")
                }
                return value
            }
        } catch let error as ObjectStoreError {
            throw answer(to: error)
        }
    }

    /// Signs something, which asks nobody.
    ///
    /// - Parameter body: what is signed.
    /// - Returns: what it returns.
    /// - Throws: `Problem` 503.
    func sign<Value>(_ body: (any ObjectStore, Int64) throws -> Value) throws -> Value {
        do {
            return try body(store, Int64(environment.now()))
        } catch let error as ObjectStoreError {
            throw answer(to: error)
        }
    }

    /// What a request is answered where the store fails; the log is told.
    func answer(to error: ObjectStoreError) -> any Error {
        let code: String
        switch error.kind {
        case .conflict: return error
        case .unavailable:
            log.warning("the store of attachments does not answer", ["error": error.message])
            code = "STORE_UNAVAILABLE"
        case .refused:
            log.error("the store of attachments refuses", ["error": error.message])
            code = "STORE_MISCONFIGURED"
        }
        return Problem.unavailable(
            "store-unavailable", "Store unavailable", code: code,
            retryAfter: 1 + Int(environment.random() * 4))
    }
}
