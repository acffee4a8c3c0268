import PowerSync
import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A file of every earlier version opens with its data, and syncs on.
struct HistoricFileTests {
    private static let latest = "9223372036854775807"

    private func open(_ file: HistoricFile) throws -> any PowerSyncDatabaseProtocol {
        try TestDatabase(folder: file.folder, schema: HistoricFile.schema).database
    }

    private func ids(_ table: String, _ database: any PowerSyncDatabaseProtocol) async throws -> [String] {
        try await database.getAll("SELECT id FROM \(table) ORDER BY id") { try $0.getString(index: 0) }
    }

    @Test(
        "51: a file of every version opens in an app, with its rows, its queue and its client id",
        arguments: HistoricFile.names)
    func opensInAnApp(_ name: String) async throws {
        let file = try HistoricFile(name)
        let before = try file.openPlainly()
        let queue = try texts(before, "SELECT id, data FROM ps_crud ORDER BY id")
        before.close()
        #expect(queue.count == (file.hasQueue ? 3 : 0))

        let database = try open(file)
        #expect(
            try await database.getAll("SELECT name FROM lists ORDER BY id") { try $0.getString(index: 0) }
                == ["Groceries", "Travel"])
        #expect(
            try await database.getAll("SELECT description, done FROM todos WHERE list_id = 'l1' ORDER BY id")
            {
                "\(try $0.getString(index: 0)) \($0.getIntOptional(index: 1) ?? -1)"
            } == ["Bread 1", "Butter 0"] + (file.hasQueue ? ["Milk, 2 l -1", "Salt -1"] : []))
        #expect(try await ids("drafts", database) == ["d1"])
        let client = try await database.get("SELECT powersync_client_id()") { try $0.getString(index: 0) }
        if file.version >= 3 {
            #expect(client == HistoricFile.clientID)
        } else {
            #expect(client.count == 36)
        }

        var transactions: [CrudTransaction] = []
        for try await transaction in database.getCrudTransactions() { transactions.append(transaction) }
        let shape = transactions.map { $0.crud.map { "\($0.op) \($0.table) \($0.id)" } }
        switch file.version {
        case 1: #expect(shape == [["put todos t3"], ["put todos t5"], ["patch todos t3"]])
        case 13: #expect(shape.isEmpty)
        default:
            #expect(shape == [["put todos t3", "put todos t5"], ["patch todos t3"]])
            #expect(transactions.map(\.transactionId) == [3, 6])
        }
        try await database.execute(
            sql: "UPDATE lists SET name = 'Food' WHERE id = 'l1'", parameters: [])
        let added = try #require(try await database.getCrudBatch(limit: 10)?.crud.last)
        #expect(added.op == .patch && added.id == "l1" && added.clientId == 9)
        #expect(added.transactionId ?? 0 >= (file.version == 1 ? 1 : 8))
        try await database.close()

        let after = try file.openPlainly()
        #expect(try texts(after, "SELECT id, data FROM ps_crud WHERE id < 9 ORDER BY id") == queue)
    }

    @Test(
        "54: what a file of every version knows of its sync is kept", .behaviour(110),
        arguments: HistoricFile.names)
    func keepsItsSyncState(_ name: String) async throws {
        let file = try HistoricFile(name)
        let database = try open(file)
        #expect(try await ids("lists", database) == ["l1", "l2"])
        try await database.close()
        let core = try file.open()
        try expectLatest(core)
        #expect(
            try core.rows(
                "SELECT name, last_applied_op, last_op, add_checksum, op_checksum FROM ps_buckets ORDER BY name"
            )
                == [
                    ["lists[\"u1\"]", "2", "2", "0", "3573495787"], ["todos[\"u1\"]", "6", "7", "27", "46"],
                ])
        let oplog = """
            SELECT op_id, row_type, row_id, key, hash, name FROM ps_oplog
            JOIN ps_buckets ON ps_buckets.id = bucket ORDER BY op_id
            """
        #expect(
            try core.rows(oplog) == [
                ["1", "lists", "l1", "lists/l1/k1", "100", "lists[\"u1\"]"],
                ["2", "lists", "l2", "lists/l2/k1", "-721471609", "lists[\"u1\"]"],
                ["5", "todos", "t1", "todos/t1/k1", "30", "todos[\"u1\"]"],
                ["6", "todos", "t2", "todos/t2/k1", "5", "todos[\"u1\"]"],
                ["7", "todos", "t4", "todos/t4/k1", "11", "todos[\"u1\"]"],
            ])
        let queued = file.hasQueue ? ["t3", "t5"] : []
        #expect(
            try core.column("SELECT row_id FROM ps_updated_rows ORDER BY row_id")
                == queued + (file.version <= 4 ? ["t9"] : []))
        #expect(try core.column("SELECT id FROM ps_untyped") == ["p1"])

        let gate = try core.rows(
            "SELECT key, value FROM ps_kv WHERE key GLOB '*checkpoint_request_id' ORDER BY key")
        switch name {
        case "v13":
            #expect(gate.map { $0[1] } == ["5", "6", "6"])
        case "v14", "v16":
            #expect(gate.map { $0[1] } == ["4", Self.latest])
        default:
            #expect(gate == [["target_checkpoint_request_id", Self.latest]])
        }
        #expect(
            try core.column("SELECT value FROM ps_kv WHERE key = 'some_other_key'")
                == (file.version >= 3 ? ["some other value"] : []))

        let times = try core.rows("SELECT priority, last_synced_at FROM ps_sync_state ORDER BY priority")
        #expect(
            times == (file.version >= 7 ? [["1", "1740825000000000"]] : [])
                + (file.version >= 3 ? [["2147483647", "1740823200000000"]] : []))
        let streams = try core.rows("SELECT * FROM ps_stream_subscriptions ORDER BY id")
        #expect(
            streams
                == (file.version < 11
                    ? []
                    : [
                        ["1", "own_lists", "1", "1", "null", "null", "null", "null", "1740823200000000"],
                        [
                            "2", "list_todos", "1", "0", "2", #"{"list":"l1"}"#, "86400", "4102444800000000",
                            "1740823200000000",
                        ],
                    ]))
    }

    @Test(
        "52: R22 a file of every version uploads its queue and takes the next checkpoint",
        arguments: HistoricFile.names)
    func syncsOn(_ name: String) async throws {
        let file = try HistoricFile(name)
        let database = try open(file)
        for try await transaction in database.getCrudTransactions() {
            try await transaction.complete(writeCheckpoint: "9")
        }
        try await database.close()

        let core = try file.open()
        let bench = SyncBench(prepared: core.connection)
        let request = try #require(try bench.start().request)
        #expect(
            Set(request.buckets.map { "\($0.name) \($0.after)" }) == [#"lists["u1"] 2"#, #"todos["u1"] 7"#])
        try bench.line(
            SyncLines.checkpoint(
                21,
                [
                    SyncLines.Bucket(#"lists["u1"]"#, checksum: 3_573_495_787 + 8, count: 3),
                    SyncLines.Bucket(#"todos["u1"]"#, checksum: 73 + 40, count: 6),
                ], writeCheckpoint: 9))
        try bench.line(
            SyncLines.data(
                #"lists["u1"]"#,
                SyncLines.put(
                    20, "l3", checksum: 8, type: "lists", subkey: "k1", data: #"{"id":"l3","name":"Work"}"#)))
        // A newer state of the row that was here only.
        try bench.line(
            SyncLines.data(
                #"todos["u1"]"#,
                SyncLines.put(
                    21, "t3", checksum: 40, type: "todos", subkey: "k1",
                    data: #"{"id":"t3","description":"Milk, 3 l","list_id":"l1","done":0}"#)))
        #expect(try bench.line(SyncLines.complete(21)).names.contains("completed 9"))
        #expect(
            try core.rows("SELECT id, name FROM lists ORDER BY id") == [
                ["l1", "Groceries"], ["l2", "Travel"], ["l3", "Work"],
            ])
        // Row t5 was uploaded and is not on the service; row t4 was waiting in the file.
        #expect(
            try core.rows("SELECT id, description, done FROM todos ORDER BY id") == [
                ["t1", "Bread", "1"], ["t2", "Butter", "0"], ["t3", "Milk, 3 l", "0"],
                ["t4", "Tickets", "0"],
            ])
        #expect(try core.column("SELECT id FROM drafts") == ["d1"])
        #expect(try core.column("SELECT id FROM ps_untyped") == ["p1"])
        #expect(try bench.brokenInvariants().isEmpty)
        #expect(try core.column("PRAGMA integrity_check") == ["ok"])
    }

    @Test func hashesThatAnOldLibraryStoredWithoutSignCountAsTheyShould() throws {
        let core = try HistoricFile("v3").open()
        try core.execute("UPDATE ps_oplog SET hash = hash & 4294967295")
        try core.migrate(to: 14)
        #expect(
            try core.column("SELECT op_checksum FROM ps_buckets ORDER BY name") == ["3573495787", "46"])
        let bench = SyncBench(prepared: core.connection)
        try bench.start()
        let bucket = SyncLines.Bucket(
            #"lists["u1"]"#, checksum: (3_573_495_787 + 4_000_000_000) % 4_294_967_296)
        try bench.line(SyncLines.checkpoint(8, [bucket]))
        try bench.line(
            SyncLines.data(
                #"lists["u1"]"#,
                SyncLines.put(8, "l2", checksum: 4_000_000_000, type: "lists", subkey: "k1", data: "{}")))
        #expect(try bench.line(SyncLines.complete(8)).names.contains { $0.hasPrefix("close") } == false)
        #expect(
            try core.rows("SELECT add_checksum, op_checksum FROM ps_buckets WHERE last_op = 8")
                == [["3573495687", "\(100 + 4_000_000_000)"]])
    }

    /// Version, layout and health of a file that our client has opened.
    private func expectLatest(_ core: CoreDatabase) throws {
        #expect(try core.column("SELECT id FROM ps_migration ORDER BY id") == (1...14).map { "\($0)" })
        let fresh = try InternalLayout(of: CoreDatabase().connection)
        let found = try InternalLayout(of: core.connection)
        #expect(found.tables.keys.sorted() == fresh.tables.keys.sorted())
        for (table, layout) in fresh.tables { #expect(found.tables[table] == layout, "\(table)") }
        for (object, text) in fresh.texts { #expect(found.texts[object] == text, "\(object)") }
        #expect(found == fresh)
        #expect(try core.column("PRAGMA integrity_check") == ["ok"])
    }

    private func texts(_ connection: SQLiteConnection, _ sql: String) throws -> [[String]] {
        try connection.query(sql) { row in (0..<row.count).map { row.text($0) ?? "null" } }
    }
}
