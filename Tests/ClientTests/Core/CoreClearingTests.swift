import PowerSyncSQLite
import Testing

@testable import PowerSync

struct CoreClearingTests {
    let database: CoreDatabase

    init() throws {
        database = try CoreDatabase(
            tables: CoreDatabase.items, CoreDatabase.table("l", ["x"], #""local_only":true"#))
        try database.execute(
            """
            INSERT INTO items(id, col) VALUES ('a', 'x'), ('b', 'y');
            INSERT INTO l(id, x) VALUES ('c', 'z');
            INSERT INTO ps_buckets(name, last_applied_op, last_op) VALUES ('b', 5, 6);
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, hash) VALUES (1, 5, 'items', 'a', 'k', 0);
            INSERT INTO ps_untyped(type, id) VALUES ('t', 'x');
            INSERT INTO ps_sync_state(priority, last_synced_at) VALUES (1, 1);
            INSERT INTO ps_stream_subscriptions(stream_name, last_synced_at) VALUES ('s', 1);
            """)
    }

    private func clear(_ flags: Int) throws {
        try database.connection.transaction { try CoreClearing.clear(flags: flags, on: database.connection) }
    }

    private func count(_ table: String) throws -> Int {
        Int(try database.column("SELECT count(*) FROM \(table)")[0]) ?? -1
    }

    @Test func aHardClearKeepsTheClientAndLocalTables() throws {
        let client = try database.column("SELECT powersync_client_id()")
        try clear(0)
        for table in [
            "items", "ps_crud", "ps_buckets", "ps_oplog", "ps_untyped", "ps_updated_rows", "ps_sync_state",
            "ps_stream_subscriptions",
        ] { #expect(try count(table) == 0, "\(table)") }
        #expect(try count("l") == 1)
        #expect(try database.column("SELECT powersync_client_id()") == client)
        #expect(try count("ps_kv") == 1)
        #expect(try database.column("SELECT next_tx FROM ps_tx") == ["2"])
        #expect(try database.column("SELECT seq FROM sqlite_sequence WHERE name = 'ps_crud'") == ["2"])
    }

    @Test func localTablesGoOnDemand() throws {
        try clear(1)
        #expect(try count("l") == 0)
    }

    @Test func aSoftClearKeepsWhatWasDownloaded() throws {
        try clear(2)
        #expect(
            try database.rows("SELECT name, last_applied_op, last_op FROM ps_buckets") == [["b", "0", "6"]])
        #expect(try count("ps_oplog") == 1)
        #expect(try count("items") == 0)
        #expect(try count("ps_crud") == 0)
    }

    @Test func watchersHearOfClearedTables() throws {
        let tables = SQLiteCommittedTables(of: database.connection)
        try clear(1)
        #expect(tables.drain().isSuperset(of: ["ps_data__items", "ps_data_local__l", "ps_crud"]))
    }

    @Test func watchersHearOfARawTableThatIsCleared() throws {
        try database.execute("CREATE TABLE raw(id TEXT PRIMARY KEY); INSERT INTO raw VALUES ('a'), ('b')")
        database.core.rawTables = try SchemaDefinition(
            json:
                #"{"tables":[],"raw_tables":[{"name":"raw","clear":"DELETE FROM raw","put":{"sql":"SELECT 1","params":[]},"delete":{"sql":"SELECT 1","params":[]}}]}"#
        ).rawTables
        let tables = SQLiteCommittedTables(of: database.connection)
        try clear(0)
        #expect(try count("raw") == 0)
        #expect(tables.drain().contains("raw"))
    }

    @Test func aRunningIterationForbidsSoftClearingAndResync() throws {
        database.core.isIterationActive = true
        for call in ["powersync_clear(2)", "powersync_trigger_resync(0)"] {
            let error = sqliteError {
                try database.connection.transaction { try database.connection.run("SELECT \(call)") }
            }
            #expect(error?.extendedCode == 3091)
            #expect(
                error?.message.hasSuffix("Cannot clear or trigger resync while a sync iteration is active.")
                    == true)
        }
        try clear(0)
    }

    @Test func resyncAppliesEverythingAgain() throws {
        try database.execute("DELETE FROM ps_updated_rows")
        try database.connection.transaction {
            try CoreClearing.triggerResync(clearProgress: false, on: database.connection)
        }
        #expect(try database.rows("SELECT last_applied_op, last_op FROM ps_buckets") == [["0", "6"]])
        #expect(try database.rows("SELECT * FROM ps_updated_rows") == [["items", "a"]])
        #expect(try count("ps_sync_state") == 1)
        try database.connection.transaction {
            try CoreClearing.triggerResync(clearProgress: true, on: database.connection)
        }
        #expect(try count("ps_sync_state") == 0)
        #expect(try database.rows("SELECT last_synced_at FROM ps_stream_subscriptions") == [["null"]])
    }
}
