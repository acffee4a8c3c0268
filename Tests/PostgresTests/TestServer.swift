import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import Synchronization
import Testing

/// One server for all tests of this target; it ends with the test process.
enum TestServer {
    private static let server = Task { try await PostgresServer.start() }
    private static let lastDatabase = Atomic(0)

    static func shared() async throws -> PostgresServer {
        try await server.value
    }

    /// The URI of a new, empty database.
    static func database(_ poller: Poller) async throws -> String {
        let number = lastDatabase.add(1, ordering: .relaxed).newValue
        return try await shared().createDatabase("test_\(number)", poller: poller)
    }

    /// A connection to a new, empty database.
    static func connection(_ poller: Poller) async throws -> PostgresConnection {
        try await PostgresConnection.connect(try await database(poller), poller: poller)
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
