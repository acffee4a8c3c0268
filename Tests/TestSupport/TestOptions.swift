import Foundation

/// What this run of the tests may use, by the environment (CONTRIBUTING.md, Tests).
package enum TestOptions {
    /// Whether tests may start databases and the programs of this package: not if `POWERSYNC_TESTS` is `unit`.
    package static let hasDatabase = environment["POWERSYNC_TESTS"] != "unit"

    /// Whether a sanitizer watches, which has memory of its own for all that is used.
    package static let hasSanitizer = environment["POWERSYNC_SANITIZER"] != nil

    /// How much longer than usual to wait for a state: `POWERSYNC_TEST_PATIENCE`, a factor; 1 unless set.
    package static let patience: Double = {
        guard let text = environment["POWERSYNC_TEST_PATIENCE"], !text.isEmpty else { return 1 }
        guard let factor = Double(text), factor >= 1 else {
            preconditionFailure("POWERSYNC_TEST_PATIENCE=\(text) is no factor of at least 1")
        }
        return factor
    }()

    /// The one deadline of everything that tests wait for.
    ///
    /// Only a test that fails takes as long; a machine whose processors somebody else has may need most of it.
    package static let deadline = Duration.seconds(180) * patience

    /// How long something may take in a test that waits for it to be given up, where being given up too early fails the test:
    /// as long as a machine may well stand still.
    package static let standstill = Duration.seconds(20) * patience

    /// Returns a whole number of the environment, such as how many seeds to try.
    ///
    /// - Parameters:
    ///   - name: The variable.
    ///   - standard: The number if the variable is not set.
    /// - Returns: The number; a text that is none stops the run.
    package static func number(_ name: String, standard: Int) -> Int {
        guard let text = environment[name], !text.isEmpty else { return standard }
        guard let number = Int(text) else { preconditionFailure("\(name)=\(text) is no whole number") }
        return number
    }

    private static var environment: [String: String] { ProcessInfo.processInfo.environment }
}
