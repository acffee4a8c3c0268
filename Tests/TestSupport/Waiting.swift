import PowerSyncSystem
import Testing

/// A state that did not come; the issue that goes with it has been recorded where it was waited for.
package struct StateDidNotCome: Error, CustomStringConvertible {
    /// What was waited for, and what was seen last.
    package let description: String
}

/// Waits until what is read is as it should be; every test waits through this.
///
/// - Parameters:
///   - state: What is waited for, in words that complete "waited for …".
///   - deadline: How long at most; the one deadline of all tests unless there is a reason.
///   - sourceLocation: Where it is waited for.
///   - read: Looks at the state.
///   - isReached: Whether that is the awaited one.
/// - Returns: What was read when it was.
/// - Throws: `StateDidNotCome` after recording an issue that shows what was read last; what `read` throws.
@discardableResult
package func wait<Seen>(
    for state: String, within deadline: Duration = TestOptions.deadline,
    sourceLocation: SourceLocation = #_sourceLocation,
    read: () async throws -> Seen, until isReached: (Seen) throws -> Bool
) async throws -> Seen {
    let clock = ContinuousClock()
    let end = clock.now + deadline
    var pause = Duration.milliseconds(1)
    while true {
        let seen = try await read()
        if try isReached(seen) { return seen }
        guard clock.now < end else {
            let text = "waited \(deadline) for \(state); seen last: \(seen)"
            Issue.record(Comment(rawValue: text), sourceLocation: sourceLocation)
            throw StateDidNotCome(description: text)
        }
        try await clock.sleep(for: pause)
        // Quick for what takes a moment, sparing for what takes seconds.
        pause = min(pause * 1.5, .milliseconds(20))
    }
}

/// Waits until a condition holds.
///
/// Where there is more to see than that it does not hold, use the form with `read`.
///
/// - Parameters:
///   - state: What is waited for, in words that complete "waited for …".
///   - deadline: How long at most; the one deadline of all tests unless there is a reason.
///   - sourceLocation: Where it is waited for.
///   - condition: Whether it is so.
/// - Throws: `StateDidNotCome` after recording an issue; what `condition` throws.
package func wait(
    for state: String, within deadline: Duration = TestOptions.deadline,
    sourceLocation: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    try await wait(
        for: state, within: deadline, sourceLocation: sourceLocation, read: condition, until: { $0 })
}

/// Waits for the end of a task that may never end, and returns what came of it.
///
/// - Parameters:
///   - task: The task; it goes on if its end does not come.
///   - sourceLocation: Where it is waited for.
/// - Returns: What the task returned.
/// - Throws: What the task threw; `StateDidNotCome` after recording an issue.
@discardableResult
package func wait<Value: Sendable>(
    forEndOf task: Task<Value, any Error>, sourceLocation: SourceLocation = #_sourceLocation
) async throws -> Value {
    let outcome = Lock<Result<Value, any Error>?>(nil)
    let watcher = Task {
        let result = await task.result
        outcome.withLock { $0 = result }
    }
    defer { watcher.cancel() }
    try await wait(for: "the end of a task", sourceLocation: sourceLocation) {
        outcome.withLock { $0 != nil }
    }
    return try await task.value
}
