import PowerSyncSystem
import Testing

/// Ties a test to the behaviours of client-api 7 that it proves.
///
/// `BehaviourListTests` finds the numbers in the sources, and asks for an assertion beside each. A test that does not run,
/// because its arguments turn out to be none, fails here.
package struct BehaviourTrait: TestTrait, TestScoping {
    /// How often the test has run that is running.
    @TaskLocal private static var runs: Lock<Int>?

    /// The numbers of that section.
    package let numbers: [Int]

    /// What is said below a failure.
    package var comments: [Comment] {
        [Comment(rawValue: "client-api 7: \(numbers.map(String.init).joined(separator: ", "))")]
    }

    /// Returns this trait: once for the whole test, and once for each case of it.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? { self }

    /// Runs a test, or a case of it.
    ///
    /// - Parameters:
    ///   - test: The test.
    ///   - testCase: The case; nil around all of them.
    ///   - function: Runs it.
    /// - Throws: What `function` throws.
    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if testCase != nil {
            Self.runs?.withLock { $0 += 1 }
            return try await function()
        }
        let runs = Lock(0)
        try await Self.$runs.withValue(runs) { try await function() }
        if runs.withLock({ $0 == 0 }) { Issue.record("It proves no behaviour: it has not run once") }
    }
}

extension Trait where Self == BehaviourTrait {
    /// Says that the test proves behaviours of client-api 7, by their numbers.
    package static func behaviour(_ numbers: Int...) -> Self { Self(numbers: numbers) }
}
