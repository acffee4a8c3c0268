import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Encodings of the source database (service 7.1).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SourceEncodingTests {
    private static let config = """
        config: {edition: 3}
        streams:
          t: {auto_subscribe: true, query: SELECT * FROM t}
        """

    /// Runs a test on a service whose source has an encoding.
    private func withSource(_ encoding: String, _ body: (TestService) async throws -> Void) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(encoding: encoding, poller)
        try await TestService.run(["CREATE TABLE t(id text PRIMARY KEY, a text)"], uri: uri, body)
    }

    @Test func aSourceWithoutAnEncodingIsRefused() async throws {
        try await withSource("SQL_ASCII") { service in
            try await service.tx(#"INSERT INTO t VALUES ('1', E'\xE9')"#)
            // What replication would be told of it each time.
            await #expect(throws: PostgresError.self) { try await service.source.query("SELECT a FROM t") }
            let starting = Task { try await service.start(Self.config) { $0.apiTokens = ["admin"] } }
            try await wait(for: "the reason in the log") {
                service.port != 0
                    && service.log.contains {
                        $0.contains("encoding SQL_ASCII") && $0.contains("ENCODING 'UTF8'")
                    }
            }
            let answer = try await service.administered("diagnostics")
            let connection = answer["connections"]?.arrayValue?.first
            #expect(connection?["connected"] == .bool(true))
            let error = connection?["errors"]?.arrayValue?.first
            #expect(error?["level"] == .string("fatal"))
            #expect(error?["message"]?.stringValue?.contains("encoding SQL_ASCII") == true)
            #expect(try await service.slots().isEmpty)
            await service.stop()
            await #expect(throws: CancellationError.self) { try await starting.value }
        }
    }

    /// Postgres makes UTF-8 of the bytes that it has, of the rows that are read and of those that are told.
    @Test func textsOfAnotherEncodingAreConverted() async throws {
        try await withSource("LATIN1") { service in
            try await service.tx("INSERT INTO t VALUES ('é', 'ß')")
            let stored = try await service.source.query("SELECT octet_length(id) + octet_length(a) FROM t")
            #expect(stored.scalar == "2")
            try await service.start(Self.config)
            let stream = try await service.open()
            #expect(try await stream.holds(["t/é"]).data(of: "t/é") == #"{"id":"é","a":"ß"}"#)
            try await service.tx("INSERT INTO t VALUES ('ü', 'Ä')")
            #expect(try await stream.holds(["t/é", "t/ü"]).data(of: "t/ü") == #"{"id":"ü","a":"Ä"}"#)
        }
    }
}
