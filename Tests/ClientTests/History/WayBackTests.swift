import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire
import Testing

@testable import PowerSync

/// The way back to older versions, by the steps that a file carries.
struct WayBackTests {
    /// Everything of the app and of the queue, and what is kept of the sync at a version.
    private func content(_ connection: SQLiteConnection, at version: Int) throws -> [String: [[String]]] {
        var queries = [
            "lists": "SELECT id, data FROM ps_data__lists ORDER BY id",
            "todos": "SELECT id, data FROM ps_data__todos ORDER BY id",
            "drafts": "SELECT id, data FROM ps_data_local__drafts ORDER BY id",
            "untyped": "SELECT type, id, data FROM ps_untyped ORDER BY type, id",
            "queue": "SELECT id, data FROM ps_crud ORDER BY id",
            "sequence": "SELECT seq FROM sqlite_sequence WHERE name = 'ps_crud'",
            "buckets":
                "SELECT name, last_applied_op, last_op FROM ps_buckets WHERE name <> '$local' ORDER BY name",
        ]
        if version >= 3 {
            queries["client"] =
                "SELECT value FROM ps_kv WHERE key IN ('client_id', 'some_other_key') ORDER BY key"
        }
        if version >= 2 {
            queries["transactions"] = "SELECT id, tx_id, (SELECT next_tx FROM ps_tx) FROM ps_crud ORDER BY id"
        }
        if version >= 5 {
            queries["operations"] =
                "SELECT bucket, op_id, row_type, row_id, key, data, hash FROM ps_oplog ORDER BY op_id"
            queries["checksums"] =
                "SELECT id, add_checksum, op_checksum FROM ps_buckets WHERE name <> '$local' ORDER BY id"
            queries["updated"] = "SELECT row_type, row_id FROM ps_updated_rows ORDER BY 1, 2"
        }
        if version >= 7 { queries["times"] = "SELECT priority, last_synced_at FROM ps_sync_state ORDER BY 1" }
        if version >= 9 {
            queries["counts"] =
                "SELECT id, count_at_last, count_since_last FROM ps_buckets WHERE name <> '$local' ORDER BY id"
        }
        if version >= 11 { queries["streams"] = "SELECT * FROM ps_stream_subscriptions ORDER BY id" }
        if version >= 12 {
            queries["sizes"] = "SELECT id, downloaded_size FROM ps_buckets WHERE name <> '$local' ORDER BY id"
        }
        return try queries.mapValues { sql in
            try connection.query(sql) { row in (0..<row.count).map { row.text($0) ?? "null" } }
        }
    }

    private func gate(_ core: CoreDatabase) throws -> [[String]] {
        try core.rows("SELECT last_applied_op, last_op, target_op FROM ps_buckets WHERE name = '$local'")
    }

    @Test(
        "51, 53: a file that we brought to 14 goes back to the layout it had, with its data, and up again",
        arguments: 2...13)
    func leadsBackToWhereItCameFrom(_ version: Int) throws {
        let file = try HistoricFile("v\(version)")
        let core = try file.open()
        let layout = try InternalLayout(of: core.connection)
        let content = try content(core.connection, at: version)
        let gateBefore = try gate(core)
        try core.migrate(to: 14)
        let latest = try InternalLayout(of: core.connection)
        try core.migrate(to: version)
        #expect(try InternalLayout(of: core.connection) == layout)
        let returned = try self.content(core.connection, at: version)
        for (part, rows) in content { #expect(returned[part] == rows, "\(part)") }
        #expect(try gate(core) == gateBefore)
        try core.migrate(to: 14)
        #expect(try InternalLayout(of: core.connection) == latest)
        for (part, rows) in try self.content(core.connection, at: min(version, 6)) {
            #expect(content[part] == rows, "\(part)")
        }
        #expect(try core.column("PRAGMA integrity_check") == ["ok"])
    }

    @Test(
        "51, 55: a file of the official core at 14 goes back by its own steps, and up again by ours",
        arguments: 2...13)
    func leadsBackByStepsOfOthers(_ version: Int) throws {
        let core = try HistoricFile("v14").open()
        let content = try content(core.connection, at: version)
        let latest = try InternalLayout(of: core.connection)
        try core.migrate(to: version)
        let expected = try HistoricFile("v\(version)", onlyLayout: true).openPlainly()
        #expect(try InternalLayout(of: core.connection) == InternalLayout(of: expected))
        let kept = try self.content(core.connection, at: min(version, version < 5 ? 3 : 6))
        for (part, rows) in kept where content[part] != nil { #expect(rows == content[part], "\(part)") }
        #expect(try gate(core) == [["0", "0", "9223372036854775807"]])
        #expect(
            try core.rows("SELECT name FROM sqlite_schema WHERE type = 'view'").isEmpty == (version < 10))
        try core.migrate(to: 14)
        #expect(try InternalLayout(of: core.connection) == latest)
        let again = try self.content(core.connection, at: min(version, version < 5 ? 3 : 6))
        for (part, rows) in kept { #expect(again[part] == rows, "\(part)") }
        #expect(
            try core.rows("SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'")
                == [["9223372036854775807"]])
        #expect(try core.column("PRAGMA integrity_check") == ["ok"])
    }

    @Test(
        "51: a library that knows nothing of ours takes a file of ours back by the stored steps",
        arguments: [13, 12, 9, 5, 4, 2])
    func anOlderLibraryRunsOurSteps(_ version: Int) throws {
        let folder = try TemporaryDirectory()
        let core = try CoreDatabase(path: folder.file())
        try core.apply([CoreDatabase.table("lists", ["name"]), CoreDatabase.table("todos", ["name"])])
        try core.execute(
            """
            INSERT INTO lists(id, name) VALUES ('l1', 'Groceries');
            INSERT INTO ps_buckets(name, last_op, op_checksum) VALUES ('b', 4, 7);
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
                VALUES (1, 4, 'todos', 't1', 'todos/t1/null', '{}', 7);
            INSERT INTO ps_sync_state VALUES (2147483647, 1740823200000000);
            """)
        core.connection.close()

        let older = try olderLibrary(folder.file())
        try older.transaction {
            while let step = try older.one(
                "SELECT id, down_migrations FROM ps_migration WHERE id > \(version) ORDER BY id DESC LIMIT 1",
                [], { (id: $0.int64(0), text: $0.string(1)) })
            {
                for entry in try #require(try JSON.parse(step.text).arrayValue) {
                    try older.execute(try #require(entry["sql"]?.stringValue))
                }
                try #require(
                    older.one("SELECT max(id) FROM ps_migration") { $0.int64(0) } ?? 0 < step.id)
            }
        }
        let expected = try HistoricFile("v\(version)", onlyLayout: true).openPlainly()
        #expect(try InternalLayout(of: older) == InternalLayout(of: expected))
        let rows = { (sql: String) in
            try older.query(sql) { row in (0..<row.count).map { row.text($0) ?? "null" } }
        }
        #expect(try rows("SELECT id, data FROM ps_data__lists") == [["l1", #"{"name":"Groceries"}"#]])
        #expect(
            try rows("SELECT name, last_op, target_op FROM ps_buckets ORDER BY name")
                == [["$local", "0", "9223372036854775807"], ["b", "4", "0"]])
        #expect(try rows("SELECT row_id FROM ps_oplog WHERE row_type = 'todos'") == [["t1"]])
        #expect(try rows("SELECT count(*) FROM ps_crud") == [["1"]])
        if version >= 7 {
            #expect(
                try rows("SELECT last_synced_at FROM ps_sync_state")
                    == [[version == 13 ? "1740823200000000" : "2025-03-01 10:00:00"]])
        }
        #expect(try rows("PRAGMA integrity_check") == [["ok"]])
    }

    /// Plain SQLite with the one function that every official core has.
    private func olderLibrary(_ path: String) throws -> SQLiteConnection {
        let older = try SQLiteConnection(path: path)
        try older.createFunction("powersync_drop_view", argumentCount: 1, flags: []) { [unowned older] call in
            try older.execute("DROP VIEW IF EXISTS \(SQLText.identifier(call.text(0) ?? ""))")
            return ""
        }
        return older
    }

    @Test func aNewerFileGoesDownOneVersionAtATime() throws {
        let core = try HistoricFile("v16").open()
        try core.migrate(to: 14)
        #expect(try core.column("SELECT max(id) FROM ps_migration") == ["14"])
        #expect(
            try core.column("SELECT name FROM sqlite_schema WHERE name IN ('ps_files', 'ps_attachments')")
                == [])
        #expect(try core.column("SELECT powersync_client_id()") == [HistoricFile.clientID])
    }

    @Test func aNewerFileGoesDownBelowOursToo() throws {
        let core = try HistoricFile("v16").open()
        try core.migrate(to: 12)
        let expected = try HistoricFile("v12", onlyLayout: true).openPlainly()
        #expect(try InternalLayout(of: core.connection) == InternalLayout(of: expected))
    }

    @Test(arguments: [
        "NULL", "'[]'", "json_array(json_object('sql', 'DELETE FROM ps_migration WHERE id > 16'))",
    ])
    func aStepThatDoesNotLowerTheVersionIsReportedAndUndone(_ stored: String) throws {
        let core = try HistoricFile("v16").open()
        try core.execute("UPDATE ps_migration SET down_migrations = \(stored) WHERE id = 16")
        let error = sqliteError {
            try core.connection.transaction { try core.connection.run("SELECT powersync_init()") }
        }
        #expect(error?.extendedCode == 4)
        #expect(error?.message == "powersync_init: Down migration failed - version not updated from 16")
        #expect(try core.column("SELECT max(id) FROM ps_migration") == ["16"])
    }
}
