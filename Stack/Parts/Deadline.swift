/// Waits for states, never for time alone.
package enum Deadline {
    /// Asks until the answer is there.
    ///
    /// - Parameters:
    ///   - limit: how long to ask; a pause that takes longer than it should prolongs it.
    ///   - pause: how long to wait between two questions.
    ///   - state: what is waited for, in words that complete "waited 10 s for …".
    ///   - isolation: the actor that asks.
    ///   - seen: what there was instead, for the error; nil for nothing to tell.
    ///   - answer: returns nil as long as the state has not come.
    /// - Returns: the first answer.
    /// - Throws: `StackError` with `.deadline`, what `answer` throws, or `CancellationError`.
    @discardableResult
    package static func wait<Answer>(
        _ limit: Duration, pause: Duration = .milliseconds(10), for state: String,
        isolation: isolated (any Actor)? = #isolation, seen: () -> String? = { nil },
        _ answer: () async throws -> Answer?
    ) async throws -> Answer {
        let clock = ContinuousClock()
        var end = clock.now + limit
        while true {
            if let answer = try await answer() { return answer }
            guard clock.now < end else {
                let instead = seen().map { "; last seen: \($0)" } ?? ""
                throw StackError(.deadline, "waited \(limit.components.seconds) s for \(state)\(instead)")
            }
            let asleep = clock.now
            try await clock.sleep(for: pause)
            // While a machine stands still, or gives its processors to others, what is waited for does not get on either.
            end += max(Duration.zero, clock.now - asleep - pause)
        }
    }
}
