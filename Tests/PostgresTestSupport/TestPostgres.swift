import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Synchronization

/// One private Postgres for all suites that can share it; it ends with the test process.
///
/// A suite that stops, kills or configures its server, or counts what is on it, starts one of its own.
package enum TestPostgres {
    private static let started = Task { try await PostgresServer.start(maxReplicationSlots: 128) }
    private static let lastNumber = Atomic(0)

    /// The server.
    package static func server() async throws -> PostgresServer { try await started.value }

    /// Whether the server was built with TLS, for `.enabled("needs a Postgres with TLS") { … }`; PyPI's is not.
    package static var hasTLS: Bool {
        get async throws { try await scalar("SHOW ssl_library").map { $0 != "" } ?? false }
    }

    /// Whether the server was built with ICU, for collations that take two texts for one.
    package static var hasICU: Bool {
        get async throws {
            try await scalar("SELECT count(*) > 0 FROM pg_collation WHERE collprovider = 'i'") == "t"
        }
    }

    /// Whether an extension can be made on the server.
    package static func has(extension name: String) async throws -> Bool {
        try await scalar("SELECT count(*) FROM pg_available_extensions WHERE name = '\(name)'") == "1"
    }

    /// What the server answers to a question; nil without a server.
    private static func scalar(_ query: String) async throws -> String? {
        guard TestOptions.hasDatabase else { return nil }
        let poller = try Poller()
        defer { poller.stop() }
        let connection = try await PostgresConnection.connect(try await server().uri(), poller: poller)
        let answer = try await connection.query(query).scalar
        await connection.close()
        return answer
    }

    /// Makes an empty database that nobody else has, and returns its URI.
    package static func database(_ poller: Poller) async throws -> String {
        try await server().createDatabase(nextName(), poller: poller)
    }

    /// Makes an empty database of an encoding, such as LATIN1, and returns its URI.
    package static func database(encoding: String, _ poller: Poller) async throws -> String {
        let (server, name) = (try await Self.server(), nextName())
        let connection = try await PostgresConnection.connect(server.uri(), poller: poller)
        try await connection.script("CREATE DATABASE \(name) ENCODING '\(encoding)' TEMPLATE template0")
        await connection.close()
        return server.uri(database: name)
    }

    private static func nextName() -> String { "test_\(lastNumber.add(1, ordering: .relaxed).newValue)" }

    /// Makes an empty database and connects to it.
    package static func connection(_ poller: Poller) async throws -> PostgresConnection {
        try await PostgresConnection.connect(try await database(poller), poller: poller)
    }
}
