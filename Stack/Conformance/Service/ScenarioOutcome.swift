/// What became of one scenario.
package enum ScenarioOutcome: Sendable, Equatable {
    /// Everything that was compared is equal.
    case passed(lineByLine: Bool)
    /// Something differs, or could not be done.
    case failed([String])
    /// The service refuses the configuration, as the list says; with what it says.
    case refusedAsListed(String)
    /// It was left out, or its rest was.
    case notRun(String)
}

/// Counts outcomes and words the last line of a run.
package struct OutcomeCount: Sendable {
    private var passed = 0
    private var lineByLine = 0
    private var failed = 0
    private var refused = 0
    private var notRun = 0

    /// Makes a count of nothing.
    package init() {}

    /// Adds an outcome.
    package mutating func add(_ outcome: ScenarioOutcome) {
        switch outcome {
        case .passed(let isLineByLine):
            passed += 1
            if isLineByLine { lineByLine += 1 }
        case .failed: failed += 1
        case .refusedAsListed: refused += 1
        case .notRun: notRun += 1
        }
    }

    /// Whether something was done and nothing failed.
    package var isSuccess: Bool { failed == 0 && passed + refused > 0 }

    /// The last line of a run.
    package var summary: String {
        var text = "\(passed) passed (\(lineByLine) of them line by line too), \(failed) failed"
        if refused > 0 { text += ", \(refused) refused as listed" }
        if notRun > 0 { text += ", \(notRun) not run" }
        return text
    }
}
