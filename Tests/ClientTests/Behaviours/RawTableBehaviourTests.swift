import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 L, raw tables as the app declares them.
@Suite(.patient())
struct RawTableBehaviourTests {
    private func put(_ op: Int, _ data: String) -> String {
        SyncLines.data("a", SyncLines.put(op, "my_list", type: "lists", data: data))
    }

    private func createTrigger(_ table: RawTable, _ name: String, _ operation: String, on test: TestDatabase)
        async throws
    {
        try await test.database.execute(
            sql: "SELECT powersync_create_raw_table_crud_trigger(?, ?, ?)",
            parameters: [table.jsonDescription(), name, operation])
    }

    @Test("Rows come and go by inferred statements, and a watch sees both", .behaviour(167))
    func rowsComeAndGo() async throws {
        let bench = try ConnectedBench(
            schema: Schema(RawTable(name: "lists", schema: RawTableSchema())))
        try await bench.database.execute("CREATE TABLE lists (id TEXT NOT NULL PRIMARY KEY, name TEXT)")
        var results = try bench.database.watch("SELECT id, name FROM lists") { cursor in
            [try cursor.getString(index: 0), try cursor.getString(index: 1)]
        }.makeAsyncIterator()
        #expect(try await results.next() == [])
        try await bench.connect()
        let stream = try await bench.stream()
        stream.send(
            SyncLines.checkpoint(1, [.init("a")]), put(1, #"{"name":"custom list"}"#),
            SyncLines.complete(1))
        #expect(try await results.next() == [["my_list", "custom list"]])
        let remove =
            #"{"op_id":"2","op":"REMOVE","object_type":"lists","object_id":"my_list","checksum":0}"#
        stream.send(
            SyncLines.checkpoint(2, [.init("a", count: 2)]), SyncLines.data("a", remove),
            SyncLines.complete(2))
        #expect(try await results.next() == [])
        #expect(try await bench.database.getCrudBatch() == nil)
        try await bench.database.close()
    }

    @Test("What no parameter of a statement names comes in the rest", .behaviour(168))
    func theRest() async throws {
        let table = RawTable(
            name: "lists",
            put: PendingStatement(
                sql: "INSERT OR REPLACE INTO lists (id, name, rest) VALUES (?, ?, ?)",
                parameters: [.id, .column("name"), .rest]),
            delete: PendingStatement(sql: "DELETE FROM lists WHERE id = ?", parameters: [.id]))
        let bench = try ConnectedBench(schema: Schema(table))
        try await bench.database.execute(
            "CREATE TABLE lists (id TEXT NOT NULL PRIMARY KEY, name TEXT, rest TEXT)")
        try await bench.connect()
        try await bench.stream().send(
            SyncLines.checkpoint(1, [.init("a")]),
            put(1, #"{"name":"custom list","additional_column":"foo"}"#), SyncLines.complete(1))
        try await bench.database.waitForFirstSync()
        let row = try await bench.database.get("SELECT id, name, rest FROM lists") { cursor in
            try (0..<3).map { try cursor.getString(index: $0) }
        }
        #expect(row == ["my_list", "custom list", #"{"additional_column":"foo"}"#])
        try await bench.database.close()
    }

    @Test("A trigger made for a raw table queues an insert", .behaviour(169))
    func aTriggerQueuesAnInsert() async throws {
        let table = RawTable(name: "users", schema: RawTableSchema())
        let test = try TestDatabase(schema: Schema(table))
        try await test.database.execute("CREATE TABLE users (id TEXT NOT NULL PRIMARY KEY, name TEXT)")
        try await createTrigger(table, "users_insert", "INSERT", on: test)
        try await test.database.execute("INSERT INTO users (id, name) VALUES ('id', 'user')")
        let queued = try #require(try await test.database.getNextCrudTransaction())
        #expect(queued.crud.map(\.op) == [.put])
        #expect(queued.crud.map(\.table) == ["users"])
        #expect(queued.crud.map(\.id) == ["id"])
        #expect(queued.crud.first?.opData == ["name": "user"])
    }

    @Test(
        "An update of a synced column is queued with what was before, one of a local column is not",
        .behaviour(170))
    func updatesOfSyncedColumnsAreQueued() async throws {
        let table = RawTable(
            name: "users",
            schema: RawTableSchema(
                tableName: "local_users", syncedColumns: ["name"],
                options: TableOptions(
                    trackPreviousValues: TrackPreviousValuesOptions(), ignoreEmptyUpdates: true)))
        let test = try TestDatabase(schema: Schema(table))
        try await test.database.execute(
            "CREATE TABLE local_users (id TEXT NOT NULL PRIMARY KEY, name TEXT, local TEXT)")
        try await test.database.execute("INSERT INTO local_users VALUES ('id', 'user', 'local')")
        try await createTrigger(table, "users_update", "UPDATE", on: test)
        try await test.database.execute("UPDATE local_users SET name = 'updated user', local = 'other'")
        try await test.database.execute("UPDATE local_users SET name = name, local = 'yet another'")
        let batch = try #require(try await test.database.getCrudBatch())
        #expect(batch.crud.map(\.op) == [.patch])
        #expect(batch.crud.map(\.table) == ["users"])
        #expect(batch.crud.first?.opData == ["name": "updated user"])
        #expect(batch.crud.first?.previousValues == ["name": "user"])
    }

    @Test("Clearing runs the statement of a raw table, and queues nothing", .behaviour(171))
    func clearingRunsTheStatement() async throws {
        let table = RawTable(name: "lists", schema: RawTableSchema(), clear: "DELETE FROM lists")
        let test = try TestDatabase(schema: Schema(table))
        try await test.database.execute("CREATE TABLE lists (id TEXT NOT NULL PRIMARY KEY, name TEXT)")
        for operation in ["INSERT", "UPDATE", "DELETE"] {
            try await createTrigger(table, "lists_\(operation)", operation, on: test)
        }
        try await test.database.execute("INSERT INTO lists (id, name) VALUES ('id', 'list')")
        try await #require(try await test.database.getNextCrudTransaction()).complete()
        #expect(try await test.count("lists") == 1)
        try await test.database.disconnectAndClear()
        #expect(try await test.count("lists") == 0)
        #expect(try await test.database.getCrudBatch() == nil)
    }
}
