import Foundation
import PowerSyncHTTP
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What becomes of rows when their table changes under the service (service 4.8, 7.5, 7.7).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SourceTableTests {
    private static let config = """
        config: {edition: 3}
        streams:
          t: {auto_subscribe: true, query: SELECT * FROM t}
        """

    /// Columns that an index carries along identify nothing.
    @Test func aKeyWithIncludedColumnsIdentifiesRowsByItsOwnColumns() async throws {
        let schema = [
            "CREATE TABLE t(id text, name text, PRIMARY KEY (id) INCLUDE (name))",
            "INSERT INTO t VALUES ('1', 'one'), ('2', 'two')",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            try await stream.holds(["t/1", "t/2"])
            try await service.tx("UPDATE t SET name = 'uno' WHERE id = '1'")
            try await stream.holds("the new name") { $0.data(of: "t/1")?.contains("uno") == true }
            try await service.tx("DELETE FROM t WHERE id = '2'")
            try await stream.holds(["t/1"])
            // Nothing was read twice, under whatever identity.
            #expect(stream.model.listed.values.first?.count == 4)
        }
    }

    /// The identity changes while the service is away: the stream tells the old one first.
    @Test func rowsAreReadUnderTheIdentityOfNow() async throws {
        let schema = [
            "CREATE TABLE t(id text PRIMARY KEY, n int)", "INSERT INTO t VALUES ('1', 1), ('2', 2)",
        ]
        try await TestService.run(schema) { service in
            try await service.start(Self.config)
            await service.stop()
            // A table that nobody has heard of, told of under an identity that is over when it is read.
            try await service.tx("DROP TABLE t")
            try await service.tx(
                "CREATE TABLE t(id text PRIMARY KEY, n int)", "INSERT INTO t VALUES ('3', 3), ('4', 4)")
            try await service.tx("ALTER TABLE t REPLICA IDENTITY FULL")
            try await service.start(Self.config)
            let stream = try await service.open()
            // What the stream says under the old identity was read with the rest: nothing comes twice.
            #expect(try await stream.holds(["t/3", "t/4"]).listed.values.first?.count == 6)
            try await service.tx("UPDATE t SET n = 5 WHERE id = '3'")
            try await stream.holds("the update") { $0.data(of: "t/3")?.contains("5") == true }
            try await service.tx("DELETE FROM t WHERE id IN ('3', '4')")
            try await stream.holds([])
        }
    }

    private static let documents = [
        "CREATE TABLE t(id text PRIMARY KEY, doc text, other text, n int)",
        "INSERT INTO t VALUES ('1', NULL, NULL, 0)",
    ]
    /// Large values that no compression makes small.
    private static let fill = """
        UPDATE t SET n = 1, doc = (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 400) i),
            other = (SELECT string_agg(md5(i::text), '') FROM generate_series(1001, 1400) i)
        """

    /// Updates leave large values out. What the state knows of them is no more true once the table was changed, of which
    /// no row tells.
    @Test(
        arguments: [
            // Another column takes the name.
            ("ALTER TABLE t DROP COLUMN doc; ALTER TABLE t RENAME other TO doc", "\"doc\":\"b8c37e33"),
            // The same columns with other values.
            ("ALTER TABLE t ALTER doc TYPE text USING upper(doc)", "\"doc\":\"C4CA4238"),
            ("ALTER TABLE t ALTER other TYPE varchar(20000) USING upper(other)", "\"other\":\"B8C37E33"),
        ], [false, true])
    func largeValuesOfAnotherLayoutAreReadAgain(change: (sql: String, data: String), whileAway: Bool)
        async throws
    {
        try await TestService.run(Self.documents) { service in
            try await service.start(Self.config)
            if whileAway { await service.stop() }
            // The row is written whole just before.
            try await service.tx(Self.fill)
            if !whileAway {
                try await service.open().holds("the first") {
                    $0.data(of: "t/1")?.contains("\"n\":1") == true
                }
            }
            try await service.tx(change.sql.components(separatedBy: "; "))
            try await service.tx("UPDATE t SET n = 2")
            if whileAway { try await service.start(Self.config) }
            let stream = try await service.open()
            let seen = try await stream.holds("the second") {
                $0.data(of: "t/1")?.contains("\"n\":2") == true
            }
            #expect(seen.data(of: "t/1")?.contains(change.data) == true)
        }
    }
}
