import PowerSyncSystem

/// Whether somebody writes to a store or is about to: what waits for that works while nobody does.
package final class StoreActivity: Sendable {
    private typealias Waiter = CheckedContinuation<Void, any Error>

    private struct State {
        var writes: UInt64 = 0
        var sources: [UInt64: @Sendable () -> Bool] = [:]
        var waiters: [UInt64: (count: UInt64, continuation: Waiter)] = [:]
        var lastNumber: UInt64 = 0

        mutating func nextNumber() -> UInt64 {
            lastNumber += 1
            return lastNumber
        }

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

    /// Whether something is on its way to the store that may not wait for its connection yet.
    package var isAwaited: Bool {
        // Asked without the lock: they have locks of their own.
        state.withLock { Array($0.sources.values) }.contains { $0() }
    }

    /// Has `isAwaited` ask a source while a body runs.
    ///
    /// - Parameters:
    ///   - isUnderWay: Whether something of the source is on its way to the store.
    ///   - body: What the source does.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func awaiting<T: Sendable>(
        _ isUnderWay: @escaping @Sendable () -> Bool, _ body: () async throws -> T
    ) async rethrows -> T {
        let number = state.withLock { state in
            let number = state.nextNumber()
            state.sources[number] = isUnderWay
            return number
        }
        defer { state.withLock { _ = $0.sources.removeValue(forKey: number) } }
        return try await body()
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
        let id = state.withLock { $0.nextNumber() }
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
