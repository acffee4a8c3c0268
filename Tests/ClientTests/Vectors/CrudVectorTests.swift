import PowerSyncSQLite
import Testing

@testable import PowerSync

/// Vectors of client-core 9.2 on the virtual tables that queue writes.
struct CrudVectorTests {
    let database: CoreDatabase

    init() throws { database = try CoreDatabase() }

    private func insert(_ id: String = "foo") throws {
        try database.execute(
            """
            INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '\(id)', 'users', '{"my":"value"}')
            """)
    }

    @Test("17: a write is queued with its transaction id")
    func queuesAnEntryWithItsTransactionID() throws {
        try insert()
        let rows = try database.rows("SELECT id, tx_id, data, typeof(data) FROM ps_crud")
        #expect(
            rows == [["1", "1", #"{"op":"PUT","id":"foo","type":"users","data":{"my":"value"}}"#, "text"]])
    }

    @Test("18: a write marks its row and closes the gate")
    func marksTheRowAndClosesTheGate() throws {
        try database.execute(
            """
            INSERT INTO ps_kv(key, value) VALUES ('last_seen_checkpoint_request_id', 6),
                ('last_applied_checkpoint_request_id', 5)
            """)
        try insert()
        #expect(try database.rows("SELECT row_type, row_id FROM ps_updated_rows") == [["users", "foo"]])
        #expect(try database.rows("SELECT * FROM ps_buckets").isEmpty)
        #expect(
            try database.rows("SELECT key, value FROM ps_kv WHERE key GLOB '*checkpoint_request_id'")
                == [["target_checkpoint_request_id", "9223372036854775807"]])
    }

    @Test("19: the members of an entry have an order")
    func writesTheMembersOfAnEntryInOrder() throws {
        try database.execute(
            """
            INSERT INTO powersync_crud(op, id, type) VALUES ('DELETE', 'foo', 'users');
            INSERT INTO powersync_crud(op, id, type, metadata) VALUES ('DELETE', 'foo', 'users', 'my metadata');
            INSERT INTO powersync_crud(op, id, type, data, old_values)
                VALUES ('PATCH', 'foo', 'users', '{"a":2}', '{"a":1}');
            """)
        #expect(
            try database.entries() == [
                #"{"op":"DELETE","id":"foo","type":"users"}"#,
                #"{"op":"DELETE","id":"foo","type":"users","metadata":"my metadata"}"#,
                #"{"op":"PATCH","id":"foo","type":"users","data":{"a":2},"old":{"a":1}}"#,
            ])
    }

    @Test("20: each transaction has its own id")
    func eachTransactionHasItsID() throws {
        try database.execute("BEGIN")
        try insert()
        try database.execute("COMMIT")
        try insert()
        #expect(try database.transactionIDs() == [1, 2])
    }

    @Test("21: a transaction that was rolled back leaves no trace")
    func aRolledBackTransaction() throws {
        try database.execute("BEGIN")
        try insert()
        try database.execute("ROLLBACK")
        try insert("foo2")
        #expect(
            try database.rows("SELECT id, tx_id, data FROM ps_crud") == [
                ["1", "1", #"{"op":"PUT","id":"foo2","type":"users","data":{"my":"value"}}"#]
            ])
    }

    /// Which transaction queued how many entries.
    private func counts(_ database: CoreDatabase) throws -> [[String]] {
        try database.rows("SELECT tx_id, count(*) FROM ps_crud GROUP BY tx_id ORDER BY tx_id")
    }

    private static let bothTables = [
        CoreDatabase.items, CoreDatabase.table("logs", ["col"], #""insert_only":true"#),
    ]

    @Test("35: all writes of a transaction have its id", arguments: ["items", "logs"])
    func allWritesOfATransaction(_ table: String) throws {
        try database.apply(Self.bothTables)
        for transaction in 1...9 {
            try database.connection.transaction {
                for write in 0..<2 * transaction {
                    try database.execute("INSERT INTO \(table)(id) VALUES ('\(transaction)-\(write)')")
                }
            }
        }
        #expect(try counts(database) == (1...9).map { ["\($0)", "\(2 * $0)"] })
    }

    @Test(
        "36: writes to both kinds of table share the id of their transaction",
        arguments: [["items", "logs"], ["logs", "items"]])
    func writesToBothKinds(_ tables: [String]) throws {
        try database.apply(Self.bothTables)
        for transaction in 1...9 {
            try database.connection.transaction {
                for write in 0..<transaction {
                    for table in tables {
                        try database.execute("INSERT INTO \(table)(id) VALUES ('\(transaction)-\(write)')")
                    }
                }
            }
        }
        #expect(try counts(database) == (1...9).map { ["\($0)", "\(2 * $0)"] })
    }
}
