import PowerSyncSystem

/// A flag that one task waits for; raising it twice before it was seen counts once.
package final class AsyncFlag: Sendable {
    private struct State {
        var isRaised = false
        var waiter: Resumption<Void, any Error>?
    }

    private let state = Lock(State())

    /// Makes a flag that is not raised.
    package init() {}

    /// Whether the flag is raised and nobody has seen it yet.
    package var isRaised: Bool { state.withLock { $0.isRaised } }

    /// Whether a task waits: it has come to the end of all that it was woken for.
    package var isAwaited: Bool { state.withLock { $0.waiter != nil } }

    /// Raises the flag; never blocks.
    package func raise() {
        let waiter = state.withLock { state in
            let waiter = state.waiter
            state.waiter = nil
            state.isRaised = waiter == nil
            return waiter
        }
        waiter?.resume()
    }

    /// Waits until the flag is raised, and lowers it; for one task at a time.
    ///
    /// - Throws: `CancellationError`; the flag stays as it is then.
    package func wait() async throws {
        try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Void, any Error>) in
                let result = state.withLock { state -> Result<Void, any Error>? in
                    // The handler below runs after the task is marked: one of the two sees the other.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isRaised {
                        state.isRaised = false
                        return .success(())
                    }
                    precondition(state.waiter == nil, "two tasks wait for one signal")
                    state.waiter = continuation
                    return nil
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiter
                state.waiter = nil
                return waiter
            }
            waiter?.resume(throwing: CancellationError())
        }
    }
}
