import Foundation

/// What this run of the tests may use.
enum TestEnvironment {
    /// False in unit runs, which start no database.
    static let hasDatabase = ProcessInfo.processInfo.environment["POWERSYNC_TESTS"] != "unit"
}
