import Testing

/// Waits for a state; records an issue when it has not come after thirty seconds.
func waitUntil(
    _ comment: Comment, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let clock = ContinuousClock()
    let deadline = clock.now + .seconds(30)
    while try await !condition() {
        guard clock.now < deadline else {
            Issue.record("never: \(comment)", sourceLocation: sourceLocation)
            throw CancellationError()
        }
        try await clock.sleep(for: .milliseconds(1))
    }
}
