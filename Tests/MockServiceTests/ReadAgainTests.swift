import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncPostgresSource
@testable import PowerSyncServiceEngine

/// Rows of which an update leaves a large value out, and that are stored nowhere (service 4.6, 7.5).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ReadAgainTests {
    private static let schema = [
        "CREATE TABLE docs(id text PRIMARY KEY, doc text, n int)",
        "ALTER TABLE docs ALTER doc SET STORAGE EXTERNAL",
    ]

    private static func config(_ condition: String = "") -> String {
        """
        config: {edition: 3}
        streams:
          docs: {auto_subscribe: true, query: "SELECT * FROM docs\(condition)"}
        """
    }

    /// A value that an update leaves out, in SQL.
    private static func doc(_ kind: String) -> String {
        #"'{"kind":"\#(kind)","text":"' || repeat('x', 10000) || '"}'"#
    }

    /// Where the log has to be before anything is published: reading rows again moves it on.
    private static func hold(_ service: TestService) async throws -> LSN {
        let stream = try await service.store?.activeStream()
        return try #require(stream).noCheckpointBefore
    }

    private static func count(_ table: String, _ service: TestService) async throws -> Int64? {
        try await service.store?.pool.read { connection in
            try connection.one("SELECT count(*) FROM \(table)") { $0.int64(0) }
        }
    }

    @Test func aRowThatAQueryLeavesOutIsReadAgainOnce() async throws {
        let rows = ["a", "b"].map { "INSERT INTO docs VALUES ('\($0)', \(Self.doc("other")), 0)" }
        try await TestService.run(Self.schema + rows) { service in
            try await service.start(Self.config(" WHERE doc ->> 'kind' = 'note'"))
            let stream = try await service.open(SyncStreamRequest(clientID: "c"))
            try await stream.holds([])
            try await service.tx("UPDATE docs SET n = n + 1")
            try await wait(for: "both rows to be kept") { try await Self.count("source_row", service) == 2 }
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            try await stream.holds("the first write checkpoint") { $0.writeCheckpoint == 1 }
            let hold = try await Self.hold(service)
            for _ in 0..<200 { try await service.tx("UPDATE docs SET n = n + 1 WHERE id = 'a'") }
            #expect(try await service.writeCheckpoint(client: "c") == 2)
            try await stream.holds("the second write checkpoint") { $0.writeCheckpoint == 2 }
            #expect(try await Self.hold(service) == hold)
            #expect(try await Self.count("large_value", service) == 2)
            #expect(try await Self.count("segment", service) == 0)
            // The row comes whole once it is one of the query's.
            try await service.tx("UPDATE docs SET doc = \(Self.doc("note")) WHERE id = 'a'")
            let synced = try #require(try await stream.holds(["docs/a"]).data(of: "docs/a"))
            #expect(synced.contains(#""n":201"#) && synced.utf8.count > 10_000)
            try await service.tx("UPDATE docs SET n = n + 1")
            let updated = try await stream.holds("the next number") {
                $0.data(of: "docs/a")?.contains(#""n":202"#) == true
            }
            #expect(updated.data(of: "docs/a")?.utf8.count == synced.utf8.count)
            #expect(try await Self.hold(service) == hold)
            try await service.tx("DELETE FROM docs")
            try await stream.holds([])
            for table in ["source_row", "large_value"] {
                #expect(try await Self.count(table, service) == 0)
            }
        }
    }

    /// It was read at each of its updates, and each time everything was held back until that had a position.
    @Test func aRowThatIsTooLargeHoldsNobodyUp() async throws {
        let rows = "INSERT INTO docs VALUES ('big', repeat('x', 17 << 20), 0), ('small', 'x', 0)"
        try await TestService.run(Self.schema + [rows]) { service in
            try await service.start(Self.config())
            let stream = try await service.open(SyncStreamRequest(clientID: "c"))
            try await stream.holds(["docs/small"])
            let hold = try await Self.hold(service)
            let other = try await PostgresConnection.connect(service.uri, poller: service.poller)
            let writes = Lock(0)
            let isDone = Lock(false)
            let writing = Task {
                while !isDone.withLock({ $0 }) {
                    try await other.query("UPDATE docs SET n = n + 1 WHERE id = 'big'")
                    writes.withLock { $0 += 1 }
                }
            }
            defer { isDone.withLock { $0 = true } }
            try await wait(for: "some updates") { writes.withLock { $0 } >= 20 }
            #expect(try await service.writeCheckpoint(client: "c") == 1)
            try await stream.holds("the write checkpoint") { $0.writeCheckpoint == 1 }
            isDone.withLock { $0 = true }
            try await wait(forEndOf: writing)
            #expect(try await Self.hold(service) == hold)
            #expect(service.log.contains { $0.contains("PSYNC_S1002") })
            try await service.tx("UPDATE docs SET doc = 'short' WHERE id = 'big'")
            let synced = try await stream.holds(["docs/big", "docs/small"])
            #expect(synced.data(of: "docs/big")?.contains(#""doc":"short""#) == true)
            await other.close()
        }
    }

    /// A table is looked up once for all of its rows: what is said of the later ones may be of another one by then.
    @Test func aTableThatIsAlteredBetweenTwoRowsIsTold() async throws {
        let rows = ["a", "b"].map { "INSERT INTO docs VALUES ('\($0)', 'd', 0)" }
        try await TestService.run(Self.schema + rows) { service in
            let catalog = SourceCatalog(service.source)
            let types = try await catalog.types()
            let published = try #require(try await catalog.table(schema: "public", name: "docs"))
            let table = SourceTable(
                id: 1, uuid: "", description: published.description, isSnapshotDone: true, snapshotKey: nil,
                types: types)
            for alters in [false, true] {
                var reselection = RowReselection(connection: service.source, types: types)
                for id in ["a", "b"] {
                    let row = IncompleteRow(table: table, values: [id, nil, nil])
                    guard case .row(_, let values) = try await reselection.read(row) else {
                        Issue.record("the row \(id) is there")
                        return
                    }
                    #expect(values == [id, "d", "0"])
                    guard alters, id == "a" else { continue }
                    try await service.tx("ALTER TABLE docs ADD other int")
                    // Of one row nobody asks: it was read right behind the table.
                    let altered = try await reselection.altered()
                    #expect(altered.isEmpty)
                }
                let altered = try await reselection.altered()
                #expect(altered.map(\.id) == (alters ? [1] : []))
            }
        }
    }
}
