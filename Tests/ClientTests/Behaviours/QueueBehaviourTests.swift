import PowerSync
import PowerSyncTestSupport
import Testing

/// Client-api 7 E: what the tests beside their sources do not say of it.
@Suite(.patient())
struct QueueBehaviourTests {
    private static let schema = Schema(
        Table(
            name: "assets",
            columns: [.text("description"), .text("make"), .integer("quantity"), .text("customer_id")]),
        Table(name: "customers", columns: [.text("name"), .text("email")]))

    private func insert(_ count: Int, into test: TestDatabase) async throws {
        try await test.database.writeTransaction { transaction in
            for _ in 0..<count {
                try transaction.execute(
                    sql: "INSERT INTO assets (id, description) VALUES (uuid(), 'test')", parameters: [])
            }
        }
    }

    /// The text of each entry, as it is stored.
    private func stored(_ test: TestDatabase) async throws -> [String] {
        try await test.database.getAll("SELECT data FROM ps_crud ORDER BY id") { try $0.getString(index: 0) }
    }

    @Test(
        "An insert is queued as a PUT with the columns that have a value, first of all with number 1",
        .behaviour(49))
    func anInsertIsQueued() async throws {
        let test = try TestDatabase(schema: Self.schema)
        try await test.database.execute("INSERT INTO assets (id, description) VALUES ('a', 'test')")
        #expect(
            try await stored(test)
                == [#"{"op":"PUT","id":"a","type":"assets","data":{"description":"test"}}"#])
        let transaction = try #require(try await test.database.getNextCrudTransaction())
        #expect(transaction.transactionId == 1)
        #expect(transaction.crud.map(\.clientId) == [1])
        #expect(transaction.crud.map(\.op) == [.put])
        #expect(transaction.crud.first?.opData == ["description": "test"])
    }

    @Test("Replacing a row is another PUT, and inserting it twice is refused", .behaviour(52))
    func replacingIsAnotherPut() async throws {
        let test = try TestDatabase(schema: Self.schema)
        let database = test.database
        try await database.execute("INSERT INTO assets (id, description) VALUES ('a', 'test')")
        try await database.execute("INSERT OR REPLACE INTO assets (id, description) VALUES ('a', 'test2')")
        #expect(try await test.count("assets") == 1)
        let error = await #expect(throws: PowerSyncError.self) {
            try await database.execute("INSERT INTO assets (id, description) VALUES ('a', 'test3')")
        }
        #expect(error?.errorDescription?.contains("UNIQUE constraint failed") == true)
        let batch = try #require(try await database.getCrudBatch())
        #expect(batch.crud.map(\.op) == [.put, .put])
        #expect(batch.crud.map(\.id) == ["a", "a"])
        let descriptions = batch.crud.map { $0.opDataTyped?["description"] }
        #expect(descriptions == [JsonValue.string("test"), JsonValue.string("test2")])
    }

    @Test("Integers of 64 bits are queued digit by digit, and numbers in texts as texts", .behaviour(55))
    func integersAreQueuedExactly() async throws {
        let test = try TestDatabase(schema: Self.schema)
        let database = test.database
        let big = 1 << 62
        let sql = "INSERT INTO assets (id, quantity) VALUES (?, ?)"
        try await database.execute(sql: sql, parameters: ["integer", big])
        try await database.execute(sql: sql, parameters: ["text", "\(big)"])
        let read: [(Int, String)] = try await database.getAll(
            "SELECT quantity, typeof(quantity) FROM assets ORDER BY id"
        ) { (try $0.getInt(index: 0), try $0.getString(index: 1)) }
        #expect(read.map(\.0) == [big, big])
        #expect(read.map(\.1) == ["integer", "integer"])
        try await database.execute("UPDATE assets SET quantity = quantity + 1 WHERE id = 'text'")
        #expect(
            try await stored(test) == [
                #"{"op":"PUT","id":"integer","type":"assets","data":{"quantity":\#(big)}}"#,
                #"{"op":"PUT","id":"text","type":"assets","data":{"quantity":"\#(big)"}}"#,
                #"{"op":"PATCH","id":"text","type":"assets","data":{"quantity":\#(big + 1)}}"#,
            ])
        let batch = try #require(try await database.getCrudBatch())
        let quantities = batch.crud.map { $0.opDataTyped?["quantity"] }
        #expect(quantities == [JsonValue.int(big), JsonValue.string("\(big)"), JsonValue.int(big + 1)])
    }

    @Test("A batch goes over the ends of transactions, and tells whether there is more", .behaviour(57))
    func aBatchGoesOverTransactions() async throws {
        let test = try TestDatabase(schema: Self.schema)
        for _ in 0..<2 { try await insert(51, into: test) }
        let some = try #require(try await test.database.getCrudBatch(limit: 55))
        #expect(some.crud.count == 55)
        #expect(some.hasMore)
        let usual = try #require(try await test.database.getCrudBatch())
        #expect(usual.crud.count == 100)
        #expect(usual.hasMore)
        let all = try #require(try await test.database.getCrudBatch(limit: 1000))
        #expect(all.crud.count == 102)
        #expect(!all.hasMore)
        try await all.complete()
        #expect(try await test.database.getCrudBatch() == nil)
    }

    @Test("A transaction of 100 comes in batches or as a whole", .behaviour(58))
    func aTransactionOf100() async throws {
        let test = try TestDatabase(schema: Self.schema)
        try await insert(100, into: test)
        let half = try #require(try await test.database.getCrudBatch(limit: 50))
        #expect(half.crud.count == 50)
        #expect(half.hasMore)
        let usual = try #require(try await test.database.getCrudBatch())
        #expect(usual.crud.count == 100)
        #expect(!usual.hasMore)
        let whole = try #require(try await test.database.getNextCrudTransaction())
        #expect(whole.crud.count == 100)
        try await whole.complete()
        #expect(try await test.database.getNextCrudTransaction() == nil)
        #expect(try await test.database.getCrudBatch() == nil)
        try await insert(100, into: test)
        let again = try #require(try await test.database.getCrudBatch(limit: 100))
        #expect(again.crud.count == 100)
        #expect(!again.hasMore)
        try await again.complete()
        #expect(try await test.count("ps_crud") == 0)
    }

    @Test(
        "Previous values are kept of all columns, of some, or of those that change", .behaviour(63),
        arguments: [
            (TrackPreviousValuesOptions(), ["name": "entry", "content": "content"]),
            (TrackPreviousValuesOptions(columnFilter: ["name"]), ["name": "entry"]),
            (TrackPreviousValuesOptions(onlyWhenChanged: true), ["name": "entry"]),
        ])
    func previousValues(_ options: TrackPreviousValuesOptions, _ expected: [String: String]) async throws {
        let test = try TestDatabase(
            schema: Schema(
                Table(
                    name: "lists", columns: [.text("name"), .text("content")], trackPreviousValues: options)))
        try await test.database.execute(
            "INSERT INTO lists (id, name, content) VALUES ('l', 'entry', 'content')")
        try await #require(try await test.database.getNextCrudTransaction()).complete()
        try await test.database.execute("UPDATE lists SET name = 'new name'")
        let batch = try #require(try await test.database.getCrudBatch())
        #expect(batch.crud.map(\.op) == [.patch])
        #expect(batch.crud.first?.opData == ["name": "new name"])
        #expect(batch.crud.first?.previousValues == expected.mapValues { Optional($0) })
    }

    @Test("An update that changes nothing is not queued where the table ignores it", .behaviour(64))
    func emptyUpdatesAreIgnored() async throws {
        let test = try TestDatabase(
            schema: Schema(Table(name: "lists", columns: [.text("name")], ignoreEmptyUpdates: true)))
        try await test.database.execute("INSERT INTO lists (id, name) VALUES ('l', 'entry')")
        try await #require(try await test.database.getNextCrudTransaction()).complete()
        try await test.database.execute("UPDATE lists SET name = 'entry'")
        #expect(try await test.database.getNextCrudTransaction() == nil)
        try await test.database.execute("UPDATE lists SET name = 'other'")
        #expect(try await test.database.getNextCrudTransaction()?.crud.map(\.op) == [.patch])
    }

    @Test("A soft clear keeps the buckets, the default one removes them", .behaviour(66))
    func aSoftClearKeepsTheBuckets() async throws {
        let test = try TestDatabase(schema: Self.schema)
        try await test.database.execute(
            "INSERT INTO ps_buckets (name, last_applied_op, last_op) VALUES ('bkt', 10, 10)")
        try await test.database.disconnectAndClear(soft: true)
        #expect(try await test.count("ps_buckets") == 1)
        try await test.database.disconnectAndClear()
        #expect(try await test.count("ps_buckets") == 0)
    }

    @Test("Rows of local tables are queued when they are copied into synced ones", .behaviour(67))
    func localRowsAreQueuedWhenCopied() async throws {
        let customers: [Column] = [.text("name"), .text("user_id")]
        let assets: [Column] = [.text("description"), .text("customer_id"), .text("user_id")]
        func schema(_ isSynced: Bool) -> Schema {
            func tables(_ name: String, _ columns: [Column]) -> [Table] {
                [
                    Table(
                        name: name, columns: columns,
                        viewNameOverride: isSynced ? nil : "inactive_synced_\(name)"),
                    Table(
                        name: "local_\(name)", columns: columns, localOnly: true,
                        viewNameOverride: isSynced ? "inactive_local_\(name)" : name),
                ]
            }
            return Schema(tables: tables("customers", customers) + tables("assets", assets))
        }
        let test = try TestDatabase(schema: schema(false))
        let database = test.database
        try await database.execute("INSERT INTO customers (id, name) VALUES ('c', 'test')")
        try await database.execute(
            "INSERT INTO assets (id, description, customer_id) VALUES ('a', 'test', 'c')")
        #expect(try await database.getCrudBatch() == nil)
        try await database.updateSchema(schema: schema(true))
        #expect(try await test.count("customers") == 0)
        try await database.writeTransaction { transaction in
            try transaction.execute(
                sql: """
                    INSERT INTO customers (id, name, user_id)
                    SELECT id, name || '.', ? FROM inactive_local_customers
                    """, parameters: ["user"])
            try transaction.execute(
                sql: """
                    INSERT INTO assets (id, description, customer_id, user_id)
                    SELECT id, description || '.', customer_id, ? FROM inactive_local_assets
                    """, parameters: ["user"])
        }
        let queued = try #require(try await database.getNextCrudTransaction())
        #expect(queued.crud.map(\.op) == [.put, .put])
        #expect(queued.crud.map(\.table) == ["customers", "assets"])
        #expect(queued.crud.map(\.id) == ["c", "a"])
        #expect(queued.crud.first?.opData == ["name": "test.", "user_id": "user"])
        #expect(
            queued.crud.last?.opData == ["description": "test.", "customer_id": "c", "user_id": "user"])
    }
}
