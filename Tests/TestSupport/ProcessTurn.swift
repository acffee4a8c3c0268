import PowerSyncSystem

/// Lets tests of which a part runs in a process of its own for long (`processExitsWith`) do that one after the other.
///
/// As long as such a process runs, the testing library blocks a thread of the pool in which all tasks run, and one more for
/// each of its outputs that is observed. The pool has a thread for each processor: on two of them two such processes, or one that
/// is observed, stop every other test, and whoever the process waits for, until it ends. So what a process says that runs for long
/// goes to a file, and no two of them run at once.
package enum ProcessTurn {
    private static let places = TaskPlaces(TaskPlaces.Limits(active: 1))

    /// Runs a body when it is its turn.
    ///
    /// - Parameter body: Runs one process, and observes none of its outputs.
    /// - Returns: What `body` returns.
    /// - Throws: `CancellationError` when the task is cancelled while it waits, and what `body` throws.
    @discardableResult
    package static func take<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await places.run(body)
    }
}
