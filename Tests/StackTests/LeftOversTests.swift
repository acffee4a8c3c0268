import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncStack

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LeftOversTests {
    private func connect(_ uri: String, _ poller: Poller) async throws -> PostgresConnection {
        try await PostgresConnection.connect(uri, poller: poller, deadline: TestOptions.deadline)
    }

    /// As a part of a connection's text, in either form, the name would lead to a host where nobody listens.
    @Test(arguments: [true, false])
    func aSlotGoesWhateverItsDatabaseIsCalledAndHolds(isURI: Bool) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await PostgresServer.start()
        let name = "a?host=127.0.0.254 b' host=127.0.0.254"
        let slot = OwnedNames().slotPrefix + "1"
        let uri = try await server.createDatabase(name, poller: poller)
        let owner = try await connect(uri, poller)
        try await owner.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [slot])
        try await owner.script(
            """
            CREATE SCHEMA trap;
            CREATE FUNCTION trap.pg_drop_replication_slot(name) RETURNS void LANGUAGE plpgsql
            AS $$BEGIN RAISE 'a function of the database was called'; END$$;
            ALTER DATABASE \(quoteIdentifier(name)) SET search_path = trap, pg_catalog
            """)
        await owner.close()
        let text =
            "host=127.0.0.1 port=\(server.port) user=postgres password=\(server.password) dbname=postgres"
        let warnings = Lock<[String]>([])
        let dropped = try await LeftOvers.drop(uri: isURI ? server.uri() : text, poller: poller) { warning in
            warnings.withLock { $0.append(warning) }
        }
        let told = warnings.withLock { $0 }
        #expect(dropped == [slot])
        #expect(told.count == 1, "that it waits, and nothing else: \(told)")
        let maintenance = try await connect(server.uri(), poller)
        let left = try await maintenance.query("SELECT count(*) FROM pg_replication_slots").scalar
        #expect(left == "0")
        await maintenance.close()
        await server.stop()
    }

    /// Somebody keeps it to look at it.
    @Test func aCopyOfADatabaseOfOursStays() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let server = try await PostgresServer.start()
        let copy = OwnedNames().database + "_copy"
        let uri = try await server.createDatabase(copy, poller: poller)
        let dropped = try await LeftOvers.drop(uri: server.uri(), poller: poller) { warning in
            Issue.record(Comment(rawValue: warning))
        }
        #expect(dropped == [])
        let connection = try await connect(uri, poller)
        await connection.close()
        await server.stop()
    }
}
