import PowerSyncSystem

/// Lets so many requests of a class be in work and so many wait for that; further ones are refused (service 1.1).
package final class RequestPlaces: Sendable {
    /// How many requests of a class there may be.
    package struct Limits: Sendable, Equatable {
        /// Requests in work.
        package var active: Int
        /// Requests that wait.
        package var waiting: Int

        /// Makes limits.
        package init(active: Int, waiting: Int) {
            self.active = active
            self.waiting = waiting
        }
    }

    /// Thrown to a request for which there is no room.
    package struct Full: Error {}

    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var active = 0
        /// In the order in which they came.
        var waiters: [Waiter] = []
        var lastID: UInt64 = 0
    }

    private let limits: Limits
    private let state = Lock(State())

    /// Makes places that are all free.
    package init(_ limits: Limits) { self.limits = limits }

    /// How many requests are in work, and how many wait.
    package var counts: Limits { state.withLock { Limits(active: $0.active, waiting: $0.waiters.count) } }

    /// Runs `body` once there is a place for it.
    ///
    /// - Parameter body: What the request needs the place for.
    /// - Returns: What `body` returns.
    /// - Throws: `Full`, `CancellationError`, and what `body` throws.
    package func run<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await body()
    }

    private func enter() async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // The cancellation handler may have run already and have found nobody waiting.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.active < limits.active {
                        state.active += 1
                        return .success(())
                    }
                    if state.waiters.count >= limits.waiting { return .failure(Full()) }
                    state.waiters.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Hands the place to the next who waits.
    private func leave() {
        let next = state.withLock { state -> Waiter? in
            if !state.waiters.isEmpty { return state.waiters.removeFirst() }
            state.active -= 1
            return nil
        }
        next?.continuation.resume()
    }
}
