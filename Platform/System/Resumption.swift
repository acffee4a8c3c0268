import CPowerSyncSystem

/// A continuation whose handing over ThreadSanitizer sees.
///
/// It does not see that Swift orders the memory of a task that is resumed before it has begun to wait, and so takes what a
/// thread leaves for the task for a race. Nothing else differs from `CheckedContinuation`; without that sanitizer the
/// functions of C do nothing.
package struct Resumption<Value, Failure: Error>: Sendable {
    private let continuation: CheckedContinuation<Value, Failure>
    private let mark: UInt64

    fileprivate init(_ continuation: CheckedContinuation<Value, Failure>, _ mark: UInt64) {
        self.continuation = continuation
        self.mark = mark
    }

    /// Lets the task go on with a value.
    ///
    /// - Parameter value: What the task gets.
    package func resume(returning value: sending Value) {
        powersync_handed_over(mark)
        continuation.resume(returning: value)
    }

    /// Lets the task go on with an error.
    ///
    /// - Parameter error: What is thrown to it.
    package func resume(throwing error: Failure) {
        powersync_handed_over(mark)
        continuation.resume(throwing: error)
    }

    /// Lets the task go on with a value or an error.
    ///
    /// - Parameter result: What it gets.
    package func resume(with result: sending Result<Value, Failure>) {
        powersync_handed_over(mark)
        continuation.resume(with: result)
    }

    /// Lets the task go on.
    package func resume() where Value == Void {
        powersync_handed_over(mark)
        continuation.resume()
    }
}

/// Waits until somebody resumes this task.
///
/// - Parameters:
///   - isolation: Where the closure runs.
///   - body: Runs at once, and gives the continuation to whoever will resume it, exactly once.
/// - Returns: What it was resumed with.
package func withResumption<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Resumption<Value, Never>) -> Void
) async -> sending Value {
    let mark = powersync_hand_over()
    defer { powersync_taken_over(mark) }
    return await withCheckedContinuation(isolation: isolation) { body(Resumption($0, mark)) }
}

/// Waits until somebody resumes this task, maybe with an error.
///
/// - Parameters:
///   - isolation: Where the closure runs.
///   - body: Runs at once, and gives the continuation to whoever will resume it, exactly once.
/// - Returns: What it was resumed with.
/// - Throws: The error that it was resumed with.
package func withThrowingResumption<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (Resumption<Value, any Error>) -> Void
) async throws -> sending Value {
    let mark = powersync_hand_over()
    defer { powersync_taken_over(mark) }
    return try await withCheckedThrowingContinuation(isolation: isolation) { body(Resumption($0, mark)) }
}
