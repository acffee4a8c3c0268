/// Lets so many tasks be in work and so many wait for that, in the order in which they came; further ones are refused.
package final class TaskPlaces: Sendable {
    /// How many tasks there may be.
    package struct Limits: Sendable, Equatable {
        /// Tasks in work.
        package var active: Int
        /// Tasks that wait.
        package var waiting: Int

        /// Makes limits; any number waits unless another one is given.
        package init(active: Int, waiting: Int = .max) {
            self.active = active
            self.waiting = waiting
        }
    }

    /// Thrown to a task for which there is no room.
    package struct Full: Error {}

    private struct Waiter {
        let id: UInt64
        let continuation: Resumption<Void, any Error>
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

    /// How many tasks are in work, and how many wait.
    package var counts: Limits { state.withLock { Limits(active: $0.active, waiting: $0.waiters.count) } }

    /// Runs `body` once there is a place for it; must not be called inside such a body that has the last place.
    ///
    /// - Parameter body: What the task needs the place for; may wait.
    /// - Returns: What `body` returns.
    /// - Throws: `Full`, `CancellationError` when the task is cancelled while it waits for a place, what `body` throws.
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
            try await withThrowingResumption {
                (continuation: Resumption<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // The handler below runs after the task is marked: one of the two sees the other.
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

    /// Hands the place to the next who waits, so that nobody who comes now is before those.
    private func leave() {
        let next = state.withLock { state -> Waiter? in
            if !state.waiters.isEmpty { return state.waiters.removeFirst() }
            state.active -= 1
            return nil
        }
        next?.continuation.resume()
    }
}
