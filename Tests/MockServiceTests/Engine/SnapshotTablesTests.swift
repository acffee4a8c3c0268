import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncPostgresSource
@testable import PowerSyncServiceEngine

/// Several tables at once (DESIGN.md, 3).
@Suite(.patient())
struct SnapshotTablesTests {
    private static func tables(_ names: String...) -> SnapshotTables {
        SnapshotTables(names.map { (schema: "public", name: $0) })
    }

    @Test func helpIsForTablesThatWait() async throws {
        let tables = Self.tables("a", "b")
        let helping = Task { try await tables.needsHelp() }
        #expect(tables.next()?.name == "a")
        tables.askForHelp()
        #expect(try await wait(forEndOf: helping))
        #expect(tables.next()?.name == "b")
        tables.askForHelp()
        #expect(try await !tables.needsHelp(), "there is none left")
        #expect(tables.next() == nil)
    }

    /// Small tables come one by one.
    @Test func whereNoTableIsLargeNobodyHelps() async throws {
        let tables = Self.tables("a", "b")
        let helping = Task { try await tables.needsHelp() }
        #expect(tables.next()?.name == "a")
        // Whoever reads has failed.
        tables.end()
        #expect(try await !wait(forEndOf: helping))
        #expect(try await !Self.tables().needsHelp())
    }

    @Test func whoWaitsToHelpCanBeCancelled() async throws {
        let tables = Self.tables("a")
        let helping = Task { try await tables.needsHelp() }
        helping.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: helping) }
    }
}

/// The same with a source.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct SeveralTablesTests {
    private static let config = """
        config: {edition: 3}
        streams:
          large: {auto_subscribe: true, query: SELECT * FROM a WHERE id < 3}
          small: {auto_subscribe: true, query: SELECT * FROM b}
          last: {auto_subscribe: true, query: SELECT * FROM c}
        """

    /// The first one has more than two pieces, so that a second connection reads those behind it.
    @Test func tablesThatAreReadAtOnceAreAllComplete() async throws {
        try await TestService.run([
            "CREATE TABLE a(id int PRIMARY KEY)", "INSERT INTO a SELECT generate_series(1, 25000)",
            "CREATE TABLE b(id int PRIMARY KEY)", "INSERT INTO b VALUES (1), (2)",
            "CREATE TABLE c(id int PRIMARY KEY)", "INSERT INTO c VALUES (7)",
        ]) { service in
            try await service.start(Self.config)
            let stream = try await service.open()
            let held = try await stream.holds(["a/1", "a/2", "b/1", "b/2", "c/7"])
            #expect(held.listed["1#large|0[]"]?.count == 2)
            let store = try #require(service.store)
            let tables = try await store.pool.read { connection in
                try connection.query("SELECT snapshot_done, snapshot_key FROM source_table ORDER BY name") {
                    "\($0.int64(0)) \($0.text(1) ?? "-")"
                }
            }
            #expect(tables == ["1 -", "1 -", "1 -"])
            try await service.tx("INSERT INTO c VALUES (8)", "DELETE FROM b WHERE id = 1")
            try await stream.holds(["a/1", "a/2", "b/2", "c/7", "c/8"])
        }
    }
}
