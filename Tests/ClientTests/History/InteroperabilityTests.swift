import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// What an official SDK finds in a file of ours, and we in one of theirs (client-core 11.2 and 11.3).
struct InteroperabilityTests {
    /// A file with every kind of table, in which everything has happened once.
    private func livedIn() throws -> CoreDatabase {
        let database = try CoreDatabase(version: 0)
        try database.apply([
            CoreDatabase.items, CoreDatabase.table("logs", ["col"], #""insert_only":true"#),
            CoreDatabase.table("drafts", ["col"], #""local_only":true"#),
            CoreDatabase.table(
                "full", ["a", "b"],
                #""include_metadata":true,"include_old":["a"],"include_old_only_when_changed":true,"ignore_empty_update":true,"indexes":[{"name":"i","columns":[{"name":"a","ascending":false,"type":"text"}]}]"#
            ),
            CoreDatabase.table("wide", (0..<120).map { "c\($0)" }, #""include_old":true"#),
        ])
        try SyncFunctions.register(on: database.connection)
        try database.execute(
            """
            CREATE TABLE raw(id TEXT PRIMARY KEY, name TEXT);
            INSERT INTO items(id, col) VALUES ('a', 'x');
            UPDATE items SET col = 'y';
            INSERT INTO logs(id, col) VALUES ('a', 'x');
            INSERT INTO drafts(id, col) VALUES ('a', 'x');
            DELETE FROM items;
            """)
        try database.connection.transaction {
            for operation in ["INSERT", "UPDATE", "DELETE"] {
                try database.connection.run(
                    "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
                    [
                        .text(#"{"name":"raw","table_name":"raw"}"#), .text("raw_\(operation)"),
                        .text(operation),
                    ])
            }
            for command in [
                #"{"subscribe":{"stream":{"name":"s"}}}"#,
                #"{"subscribe":{"stream":{"name":"s","params":{"b":1,"a":[null]}}}}"#,
            ] {
                try database.connection.run("SELECT powersync_control('subscriptions', ?)", [.text(command)])
            }
        }
        try database.execute("DELETE FROM ps_crud; DELETE FROM ps_kv WHERE key <> 'client_id'")
        let bench = SyncBench(prepared: database.connection)
        try bench.start()
        try bench.line(
            SyncLines.checkpoint(
                6, [SyncLines.Bucket("b", checksum: 3_573_495_687 + 20 + 30, count: 3)], writeCheckpoint: 1))
        try bench.line(
            SyncLines.data(
                "b", SyncLines.put(3, "r", checksum: 3_573_495_687, subkey: "s/\"1\""),
                SyncLines.put(5, "q", checksum: 20), SyncLines.put(6, "q", checksum: 30)))
        try bench.line(SyncLines.complete(6))
        #expect(try database.column("SELECT id FROM items ORDER BY id") == ["q", "r"])
        return database
    }

    @Test func stepsAreNumberedWithoutGapsAndUndoThemselves() throws {
        let rows = try livedIn().rows("SELECT id, down_migrations FROM ps_migration ORDER BY id")
        #expect(rows.map { $0[0] } == (1...14).map { "\($0)" })
        #expect(rows[0][1] == "null")
        for row in rows.dropFirst() {
            let steps = try #require(try JSON.parse(row[1]).arrayValue)
            #expect(steps.last?["sql"]?.stringValue == "DELETE FROM ps_migration WHERE id >= \(row[0])")
            // Nothing but plain SQL and the one function that every official core has.
            let functions = row[1].matches(of: /powersync_\w+\(|uuid\(/).map { String($0.0) }
            #expect(Set(functions).isSubset(of: ["powersync_drop_view("]))
        }
    }

    @Test func columnsStandWhereOthersReadThem() throws {
        let database = try livedIn()
        let columns = { (table: String) in
            try database.column("SELECT name FROM pragma_table_info('\(table)')")
        }
        #expect(
            try columns("ps_stream_subscriptions") == [
                "id", "stream_name", "active", "is_default", "local_priority", "local_params", "ttl",
                "expires_at", "last_synced_at",
            ])
        #expect(try columns("ps_crud") == ["id", "data", "tx_id"])
        #expect(try columns("ps_tx") == ["id", "current_tx", "next_tx"])
        #expect(try columns("ps_sync_state") == ["priority", "last_synced_at"])
        #expect(
            try columns("ps_oplog") == ["bucket", "op_id", "row_type", "row_id", "key", "data", "hash"])
        let subscription = try database.rows("SELECT * FROM ps_stream_subscriptions ORDER BY id")[0]
        #expect(Array(subscription[0...6]) == ["1", "s", "0", "0", "null", "null", "86400"])
    }

    @Test func theNextTransactionIsAboveEveryQueuedOne() throws {
        let database = try livedIn()
        try database.execute("INSERT INTO items(id) VALUES ('b'); DELETE FROM drafts")
        #expect(
            try database.rows(
                "SELECT count(*), min(id) FROM ps_tx, (SELECT max(tx_id) AS last FROM ps_crud) WHERE next_tx > last"
            )
                == [["1", "1"]])
    }

    @Test func theQueueCountsOnAfterItIsEmpty() throws {
        let database = try livedIn()
        #expect(try database.entries().isEmpty)
        #expect(try database.column("SELECT seq FROM sqlite_sequence WHERE name = 'ps_crud'") == ["4"])
    }

    @Test func valuesHaveTheTypesThatOthersExpect() throws {
        let database = try livedIn()
        #expect(
            try database.rows("SELECT typeof(value), length(value) FROM ps_kv WHERE key = 'client_id'")
                == [["text", "36"]])
        #expect(
            try database.rows("SELECT local_params, json_valid(local_params) FROM ps_stream_subscriptions")
                == [["null", "1"], [#"{"b":1,"a":[null]}"#, "1"]])
        #expect(
            try database.rows("SELECT priority, last_synced_at FROM ps_sync_state")
                == [["2147483647", "\(SteppedClock.start)"]])
        #expect(SteppedClock.start > 1_000_000_000_000_000)
        #expect(
            try database.rows("SELECT DISTINCT typeof(value) FROM ps_kv WHERE key GLOB '*request_id'")
                == [["integer"]])
    }

    @Test func checksumsFitTheOperationsAndKeysAreNotQuoted() throws {
        let database = try livedIn()
        #expect(
            try database.rows("SELECT add_checksum, op_checksum, last_op FROM ps_buckets")
                == [["20", "3573495717", "6"]])
        #expect(
            try database.rows("SELECT key, hash FROM ps_oplog ORDER BY op_id") == [
                [#"items/r/s/"1""#, "-721471609"], ["items/q/null", "30"],
            ])
        #expect(try database.connection.query(SyncBench.brokenInvariantsQuery) { $0.string(0) }.isEmpty)
    }

    @Test func viewsAndTriggersUseNamesOfTheContractAlone() throws {
        let database = try livedIn()
        let views = try database.rows("SELECT name, sql FROM sqlite_schema WHERE type = 'view' ORDER BY name")
        #expect(views.map { $0[0] } == ["drafts", "full", "items", "logs", "wide"])
        for view in views { #expect(view[1].hasSuffix("-- powersync-auto-generated")) }
        let triggers = try database.column("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")
        #expect(triggers.count == 3 + 4 + 3 + 1 + 3 + 3)
        let names = triggers.flatMap { $0.matches(of: /powersync_\w+/).map { String($0.0) } }
        #expect(
            Set(names) == [
                "powersync_crud", "powersync_crud_", "powersync_diff", "powersync_strip_subtype",
                "powersync_json_merge", "powersync_in_sync_operation",
            ])
    }

    @Test func nothingElseIsLeftInTheFile() throws {
        let database = try livedIn()
        try database.connection.transaction { try CoreClearing.clear(flags: 0, on: database.connection) }
        let fresh = try CoreDatabase()
        let names = { (database: CoreDatabase) in
            try database.column(
                "SELECT name FROM sqlite_schema WHERE tbl_name GLOB 'ps_*' AND tbl_name NOT GLOB 'ps_data_*' ORDER BY name"
            )
        }
        #expect(try names(database) == names(fresh))
        #expect(try InternalLayout(of: database.connection) == InternalLayout(of: fresh.connection))
        #expect(
            try database.column(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB 'ps_data_*' AND sql IS NOT NULL"
            )
                == ["ps_data__full__i"])
    }

    @Test(
        arguments: 3...14)
    func triggersOfAnOlderFileWork(_ version: Int) throws {
        let database = try HistoricFile("v\(version)").open()
        try database.execute(
            """
            INSERT INTO lists(id, name) VALUES ('new', 'x');
            UPDATE lists SET name = 'y' WHERE id = 'new';
            DELETE FROM lists WHERE id = 'l2';
            """)
        #expect(
            try database.rows("SELECT data ->> 'op', data ->> 'id', tx_id FROM ps_crud WHERE id > 8")
                == [["PUT", "new", "8"], ["PATCH", "new", "9"], ["DELETE", "l2", "10"]])
        try database.migrate(to: 14)
        #expect(
            try database.column("SELECT value FROM ps_kv WHERE key = 'target_checkpoint_request_id'")
                == ["9223372036854775807"])
        #expect(
            try database.rows("SELECT row_id FROM ps_updated_rows WHERE row_type = 'lists' ORDER BY row_id")
                == [["l2"], ["new"]])
        #expect(try database.column("SELECT id FROM ps_data__lists ORDER BY id") == ["l1", "new"])
    }
}
