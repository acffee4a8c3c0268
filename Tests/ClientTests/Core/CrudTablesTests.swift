import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

struct CrudTablesTests {
    let database: CoreDatabase

    init() throws { database = try CoreDatabase() }

    private func insert(_ id: String = "foo") throws {
        try database.execute(
            """
            INSERT INTO powersync_crud(op, id, type, data) VALUES ('PUT', '\(id)', 'users', '{"my":"value"}')
            """)
    }

    private func gate() throws -> [[String]] {
        try database.rows("SELECT key, value FROM ps_kv WHERE key GLOB '*checkpoint_request_id' ORDER BY key")
    }

    private let closed = [["target_checkpoint_request_id", "9223372036854775807"]]

    @Test func aTransactionHasOneID() throws {
        try database.connection.transaction {
            try insert("a")
            try database.execute("INSERT INTO powersync_crud_(data) VALUES ('{}')")
            try insert("b")
        }
        try insert("c")
        try database.connection.transaction {
            try database.execute("INSERT INTO powersync_crud_(data) VALUES ('{}')")
            try insert("d")
        }
        #expect(try database.transactionIDs() == [1, 1, 1, 2, 3, 3])
        #expect(try database.rows("SELECT id, current_tx, next_tx FROM ps_tx") == [["1", "null", "4"]])
    }

    @Test func aRolledBackTransactionLeavesNoTrace() throws {
        try database.execute("BEGIN")
        try insert()
        try database.execute("ROLLBACK")
        #expect(try database.entries().isEmpty)
        #expect(try gate().isEmpty)
        try insert("foo2")
        #expect(try database.rows("SELECT id, tx_id FROM ps_crud") == [["1", "1"]])
        #expect(try database.rows("SELECT row_id FROM ps_updated_rows") == [["foo2"]])
        #expect(try gate() == closed)
    }

    @Test func aRolledBackSavepointCannotReopenTheGateOrReuseTheID() throws {
        try database.execute("BEGIN; SAVEPOINT one")
        try insert("a")
        try database.execute("ROLLBACK TO one")
        try insert("b")
        try database.execute("COMMIT")
        #expect(try gate() == closed)
        #expect(try database.rows("SELECT next_tx FROM ps_tx") == [["2"]])
        try insert("c")
        #expect(try database.transactionIDs() == [1, 2])
        #expect(try database.rows("SELECT row_id FROM ps_updated_rows") == [["b"], ["c"]])
    }

    @Test func nestedSavepointsKeepWhatTheyShould() throws {
        try database.execute("BEGIN")
        try database.execute("INSERT INTO powersync_crud_(data) VALUES ('{}')")
        try database.execute("SAVEPOINT one; SAVEPOINT two")
        try insert("a")
        try database.execute("RELEASE two; ROLLBACK TO one")
        #expect(try gate().isEmpty)
        try insert("b")
        try database.execute("RELEASE one; COMMIT")
        #expect(try gate() == closed)
        #expect(try database.transactionIDs() == [1, 1])
    }

    @Test(arguments: ["powersync_clear(0)", "powersync_control('target_checkpoint_request_id', 5)"])
    func aGateOpenedBetweenTwoWritesOfATransactionIsClosedAgain(_ call: String) throws {
        try SyncFunctions.register(on: database.connection)
        try database.connection.transaction {
            try insert("a")
            try database.connection.run("SELECT \(call)")
            try insert("b")
        }
        #expect(try gate() == closed)
        #expect(try database.column("SELECT row_id FROM ps_updated_rows").contains("b"))
    }

    @Test func aStatementThatFailsCannotReopenTheGate() throws {
        try database.apply([CoreDatabase.items])
        try database.connection.transaction {
            let error = sqliteError { try database.execute("INSERT INTO items(id) VALUES ('a'), ('a')") }
            #expect(error?.extendedCode == 1555)
            #expect(try database.entries().isEmpty)
            try database.execute("INSERT INTO items(id) VALUES ('b')")
        }
        #expect(try gate() == closed)
        #expect(try database.transactionIDs() == [1])
        #expect(try database.rows("SELECT next_tx FROM ps_tx") == [["2"]])
    }

    @Test func anEmptyUpdateIsLeftOutOnDemand() throws {
        try database.execute(
            """
            INSERT INTO powersync_crud(op, id, type, data, options) VALUES ('PATCH', 'a', 't', '{}', 16);
            INSERT INTO powersync_crud_(data, options) VALUES ('{"op":"PATCH","data":{}}', 16);
            """)
        #expect(try database.entries().isEmpty)
        #expect(try database.rows("SELECT * FROM ps_updated_rows").isEmpty)
        #expect(try gate().isEmpty)
        try database.execute(
            """
            INSERT INTO powersync_crud(op, id, type, data, options) VALUES ('PATCH', 'a', 't', '{}', 8);
            INSERT INTO powersync_crud(op, id, type, data, options) VALUES ('PUT', 'a', 't', '{}', 16);
            INSERT INTO powersync_crud_(data, options) VALUES ('{"op":"PUT","data":{}}', 16);
            """)
        #expect(try database.entries().count == 3)
    }

    @Test func theManualFormNeitherMarksRowsNorClosesTheGate() throws {
        try database.execute("INSERT INTO powersync_crud_(data) VALUES ('{\"op\":\"PUT\"}')")
        #expect(try database.entries() == [#"{"op":"PUT"}"#])
        #expect(try database.rows("SELECT * FROM ps_updated_rows").isEmpty)
        #expect(try gate().isEmpty)
    }

    @Test func idsThatAreNoTextAreQueuedAsText() throws {
        try database.execute("INSERT INTO powersync_crud(op, id, type) VALUES ('DELETE', 7, 't')")
        #expect(try database.entries() == [#"{"op":"DELETE","id":"7","type":"t"}"#])
    }

    @Test func anOlderLayoutHasItsGateInABucket() throws {
        let old = try CoreDatabase(version: 13)
        try old.execute("INSERT INTO powersync_crud(op, id, type) VALUES ('DELETE', 'a', 't')")
        #expect(
            try old.rows("SELECT name, last_op, target_op FROM ps_buckets")
                == [["$local", "0", "9223372036854775807"]])
    }
}
