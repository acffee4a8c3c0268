import Foundation
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import Synchronization
import Testing

/// What this run of the tests may use.
enum TestEnvironment {
    /// False in unit runs, which start no database.
    static let hasDatabase = ProcessInfo.processInfo.environment["POWERSYNC_TESTS"] != "unit"
}

/// One Postgres for all tests of this target; it ends with the test process.
enum TestServer {
    private static let server = Task { try await PostgresServer.start() }
    private static let lastDatabase = Atomic(0)

    /// The URI of a new, empty database.
    static func database(_ poller: Poller) async throws -> String {
        let number = lastDatabase.add(1, ordering: .relaxed).newValue
        return try await server.value.createDatabase("service_\(number)", poller: poller)
    }
}

/// Returns once the condition holds; records an issue when it does not within the time.
func eventually(
    within time: Duration = .seconds(20), _ what: Comment, sourceLocation: SourceLocation = #_sourceLocation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = ContinuousClock.now + time
    while try await !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what, sourceLocation: sourceLocation)
            return
        }
        try await Task.sleep(for: .milliseconds(5))
    }
}
