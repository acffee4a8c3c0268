import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

struct CoreMigrationsTests {
    private func columns(_ database: CoreDatabase, _ table: String) throws -> [String] {
        try database.rows("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('\(table)')")
            .map { $0.joined(separator: " ") }
    }

    @Test("51: a fresh file has the layout of the contract")
    func aFreshFileHasTheLayoutOfTheContract() throws {
        let database = try CoreDatabase()
        let expected: [String: [String]] = [
            "ps_migration": ["id INTEGER 0 null 1", "down_migrations TEXT 0 null 0"],
            "ps_buckets": [
                "id INTEGER 0 null 1", "name TEXT 1 null 0", "last_applied_op INTEGER 1 0 0",
                "last_op INTEGER 1 0 0",
                "add_checksum INTEGER 1 0 0", "op_checksum INTEGER 1 0 0", "pending_delete INTEGER 1 0 0",
                "count_at_last INTEGER 1 0 0", "count_since_last INTEGER 1 0 0",
                "downloaded_size INTEGER 1 0 0",
            ],
            "ps_oplog": [
                "bucket INTEGER 1 null 0", "op_id INTEGER 1 null 0", "row_type TEXT 0 null 0",
                "row_id TEXT 0 null 0",
                "key TEXT 0 null 0", "data TEXT 0 null 0", "hash INTEGER 1 null 0",
            ],
            "ps_updated_rows": ["row_type TEXT 1 null 1", "row_id TEXT 1 null 2"],
            "ps_crud": ["id INTEGER 0 null 1", "data TEXT 0 null 0", "tx_id INTEGER 0 null 0"],
            "ps_tx": ["id INTEGER 1 null 1", "current_tx INTEGER 0 null 0", "next_tx INTEGER 0 null 0"],
            "ps_kv": ["key TEXT 1 null 1", "value BLOB 0 null 0"],
            "ps_untyped": ["type TEXT 1 null 1", "id TEXT 1 null 2", "data TEXT 0 null 0"],
            "ps_sync_state": ["priority INTEGER 1 null 1", "last_synced_at INTEGER 1 null 0"],
            "ps_stream_subscriptions": [
                "id INTEGER 1 null 1", "stream_name TEXT 1 null 0", "active INTEGER 1 0 0",
                "is_default INTEGER 1 0 0",
                "local_priority INTEGER 0 null 0", "local_params TEXT 1 'null' 0", "ttl INTEGER 0 null 0",
                "expires_at INTEGER 0 null 0", "last_synced_at INTEGER 0 null 0",
            ],
        ]
        let tables = try database.column(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'sqlite_*'")
        #expect(Set(tables) == Set(expected.keys))
        for (table, layout) in expected { #expect(try columns(database, table) == layout, "\(table)") }
        let indexes = try database.rows(
            """
            SELECT name, tbl_name, (SELECT group_concat(name) FROM pragma_index_info(i.name)),
                (SELECT "unique" FROM pragma_index_list(i.tbl_name) WHERE name = i.name)
            FROM sqlite_schema i WHERE type = 'index' AND sql IS NOT NULL ORDER BY name
            """)
        #expect(
            indexes == [
                ["ps_buckets_name", "ps_buckets", "name", "1"],
                ["ps_oplog_key", "ps_oplog", "bucket,key", "0"],
                ["ps_oplog_opid", "ps_oplog", "bucket,op_id", "0"],
                ["ps_oplog_row", "ps_oplog", "row_type,row_id", "0"],
            ])
        let strict = try database.column("SELECT name FROM pragma_table_list WHERE strict = 1 ORDER BY name")
        #expect(
            strict == [
                "ps_buckets", "ps_oplog", "ps_stream_subscriptions", "ps_sync_state", "ps_updated_rows",
            ])
        #expect(try database.column("SELECT name FROM pragma_table_list WHERE wr = 1") == ["ps_updated_rows"])
        #expect(try database.rows("SELECT * FROM ps_tx") == [["1", "null", "1"]])
        #expect(
            try database.rows("SELECT key, typeof(value), length(value) FROM ps_kv") == [
                ["client_id", "text", "36"]
            ])
        #expect(
            try database.column("SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_schema WHERE name = 'ps_crud'")
                == ["1"])
    }

    @Test(arguments: [10, 13, 14]) func managedViewsDoNotStandInTheWay(_ version: Int) throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
        try database.migrate(to: version)
        #expect(try database.rows("SELECT * FROM items") == [["a", "x"]])
        try database.migrate(to: 9)
        #expect(try database.rows("SELECT name FROM sqlite_schema WHERE type = 'view'").isEmpty)
        #expect(try database.rows("SELECT id FROM ps_data__items") == [["a"]])
        try database.apply([CoreDatabase.items])
        #expect(try database.rows("SELECT * FROM items") == [["a", "x"]])
        #expect(try database.entries().count == 1)
    }
}
