import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSystem
import Testing

/// DESIGN.md, 1: tables.
struct StoreSchema6Tests {
    private func withFile(_ body: (SQLiteConnection) throws -> Void) throws {
        let folder = try TemporaryDirectory(prefix: "schema-")
        defer { folder.remove() }
        let connection = try SQLiteConnection(path: "\(folder.path)/state.db")
        defer { connection.close() }
        try StoreSchema6.configure(connection, isWriter: true)
        try body(connection)
    }

    private func number(_ pragma: String, _ connection: SQLiteConnection) throws -> Int64? {
        try connection.one("PRAGMA \(pragma)") { $0.int64(0) }
    }

    @Test func aNewFileGivesItsPagesBackAndSyncsEachCommit() throws {
        try withFile { connection in
            try StoreSchema6.prepare(connection, after: FormerState())
            #expect(try number("user_version", connection) == 6)
            // INCREMENTAL, FULL.
            #expect(try number("auto_vacuum", connection) == 2)
            #expect(try number("synchronous", connection) == 2)
            #expect(try number("page_size", connection) == 4096)
            #expect(try number("journal_size_limit", connection) == 8 << 20)
            #expect(try connection.one("PRAGMA journal_mode") { $0.string(0) } == "wal")
            let last = try connection.one("SELECT last_op FROM counter") { $0.int64(0) }
            #expect(last == 0)
            // Once more, it is as it was.
            var former = FormerState()
            former.lastOperation = 5
            try StoreSchema6.prepare(connection, after: former)
            #expect(try connection.one("SELECT last_op FROM counter") { $0.int64(0) } == 0)
        }
    }

    @Test func operationIdsGoOnBehindThoseOfTheFormerFile() throws {
        try withFile { connection in
            var former = FormerState()
            former.lastOperation = 12_345
            try StoreSchema6.prepare(connection, after: former)
            #expect(try connection.one("SELECT last_op FROM counter") { $0.int64(0) } == 12_345)
        }
    }

    @Test(arguments: [1, 2, 3, 4, 5, 7]) func refusesAnotherVersion(_ version: Int) throws {
        try withFile { connection in
            try connection.execute("CREATE TABLE counter(one); PRAGMA user_version = \(version)")
            let error = #expect(throws: StoreError.self) {
                try StoreSchema6.prepare(connection, after: FormerState())
            }
            #expect(error?.message == "The state has version \(version), this service writes version 6.")
            // It is left as it was.
            #expect(try number("user_version", connection) == Int64(version))
            #expect(try connection.one("SELECT count(*) FROM sqlite_schema") { $0.int64(0) } == 1)
        }
    }

    /// Memory may still know by it what is gone: frames of a bucket that others must not see.
    @Test(arguments: [
        ("replication_stream(config_hash, config, publication, slot, state)", "'', '', 1, '', 'stopped'"),
        (
            "source_table(stream, uuid, oid, schema_name, name, identity, identity_names)",
            "1, '', 7, '', '', '', ''"
        ),
        ("bucket(stream, name)", "1, 'b'"), ("lookup_definition(stream, name)", "1, 'l'"),
    ])
    func anIdIsNeverUsedAgain(_ columns: String, _ values: String) throws {
        try withFile { connection in
            try StoreSchema6.prepare(connection, after: FormerState())
            let insert = "INSERT INTO \(columns) VALUES (\(values))"
            try connection.execute(insert)
            let first = connection.lastInsertRowID
            let table = columns.prefix { $0 != "(" }
            try connection.execute("DELETE FROM \(table); \(insert)")
            #expect(connection.lastInsertRowID > first)
        }
    }

    /// The merger finds its work in an index that holds nothing else.
    @Test func bucketsToMergeAreFoundByAnIndex() throws {
        try withFile { connection in
            try StoreSchema6.prepare(connection, after: FormerState())
            let limit = StoreLimits().smallSegments
            let plan = try connection.query(
                "EXPLAIN QUERY PLAN SELECT id FROM bucket WHERE small >= \(limit) ORDER BY small DESC LIMIT 1"
            ) { $0.string(3) }
            #expect(plan.contains { $0.contains("bucket_to_merge") }, "\(plan)")
        }
    }

    /// What version 5 has and version 6 keeps, column by column.
    @Test func sourceStreamsAndWriteCheckpointsAreThoseOfVersion5() throws {
        let former = try SQLiteConnection(path: ":memory:")
        defer { former.close() }
        try former.execute(FormerVersions.fifth)
        func columns(_ table: String, _ connection: SQLiteConnection) throws -> [String] {
            try connection.query(
                "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?)", [.text(table)]
            ) { row in (0..<5).map { row.string($0) }.joined(separator: " ") }
        }
        try withFile { connection in
            try StoreSchema6.prepare(connection, after: FormerState())
            for table in ["counter", "source", "replication_stream", "write_checkpoint"] {
                let kept = try columns(table, former)
                #expect(!kept.isEmpty)
                #expect(try columns(table, connection) == kept, "\(table)")
            }
            let ofTables = try columns("source_table", connection)
            let kept = try columns("source_table", former)
            #expect(ofTables.filter { !$0.hasPrefix("identity_names ") } == kept)
            #expect(ofTables.contains("identity_names TEXT 1  0"))
        }
    }
}
