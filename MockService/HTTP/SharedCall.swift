/// Lets concurrent callers share one call, so that hundreds of them need a few connections (service 1.8).
///
/// A caller gets what a call brought that began after the caller came: an earlier one could not have seen what the
/// caller did before. Calls go on when callers are cancelled.
package actor SharedCall<Value: Sendable> {
    private typealias Waiters = [Int: CheckedContinuation<Value, any Error>]

    private let limit: Int
    private let call: @Sendable () async throws -> Value
    /// Those who get what the next call brings.
    private var next: Waiters = [:]
    private var running: [Int: (task: Task<Void, Never>, waiters: Waiters)] = [:]
    private var lastID = 0
    private var isClosed = false

    /// Makes a call that nobody has made yet.
    ///
    /// - Parameters:
    ///   - limit: How many calls may be under way.
    ///   - call: What to do.
    package init(limit: Int, _ call: @escaping @Sendable () async throws -> Value) {
        self.limit = limit
        self.call = call
    }

    /// How many callers wait for a call that has not begun.
    package var waitingCount: Int { next.count }

    /// Returns what a call brings that begins now or later.
    ///
    /// - Returns: What it brings.
    /// - Throws: What the call throws, and `CancellationError`.
    package func value() async throws -> Value {
        let id = nextID()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                if isClosed || Task.isCancelled {
                    continuation.resume(throwing: CancellationError())
                } else {
                    next[id] = continuation
                    begin()
                }
            }
        } onCancel: {
            Task { await self.leave(id) }
        }
    }

    /// Cancels the calls; whoever waits, now or later, gets `CancellationError`.
    package func close() {
        isClosed = true
        var all = next
        for run in running.values {
            run.task.cancel()
            all.merge(run.waiters) { first, _ in first }
        }
        (next, running) = ([:], [:])
        for waiter in all.values { waiter.resume(throwing: CancellationError()) }
    }

    private func nextID() -> Int {
        lastID += 1
        return lastID
    }

    private func begin() {
        guard running.count < limit, !next.isEmpty else { return }
        let number = nextID()
        let task = Task { [call] in
            do {
                end(number, .success(try await call()))
            } catch {
                end(number, .failure(error))
            }
        }
        running[number] = (task, next)
        next = [:]
    }

    private func end(_ number: Int, _ result: Result<Value, any Error>) {
        let waiters = running.removeValue(forKey: number)?.waiters ?? [:]
        for waiter in waiters.values { waiter.resume(with: result) }
        begin()
    }

    private func leave(_ id: Int) {
        var waiter = next.removeValue(forKey: id)
        for number in running.keys {
            if let found = running[number]?.waiters.removeValue(forKey: id) { waiter = found }
        }
        waiter?.resume(throwing: CancellationError())
    }
}
