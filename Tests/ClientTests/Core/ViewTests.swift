import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

struct ViewTests {
    static let counts = [1, 49, 50, 51, 63, 64, 100, 1999]

    private func columns(_ count: Int) -> [String] { (0..<count).map { "column\($0)" } }

    private func insert(_ database: CoreDatabase, _ columns: [String]) throws {
        try database.connection.run(
            "INSERT INTO items(id, \(columns.joined(separator: ", "))) "
                + "VALUES (\((["?"] + columns.map { _ in "?" }).joined(separator: ", ")))",
            [.text("test_id")] + columns.map { .text($0) })
    }

    @Test(arguments: counts) func queuesEveryWriteOfATableOfAnyWidth(_ count: Int) throws {
        let columns = columns(count)
        let database = try CoreDatabase(tables: CoreDatabase.table("items", columns))
        try insert(database, columns)
        #expect(try database.rows("SELECT * FROM items") == [["test_id"] + columns])
        try database.execute("UPDATE items SET column0 = 'new_value'")
        try database.execute("DELETE FROM items WHERE id = 'test_id'")
        let queue = try database.queue()
        #expect(queue.map(\.transaction) == [1, 2, 3])
        #expect(
            queue[0].entry["op"] == "PUT" && queue[0].entry["type"] == "items"
                && queue[0].entry["id"] == "test_id")
        #expect(queue[0].entry["data"]?.objectMembers?.count == count)
        for column in columns { #expect(queue[0].entry["data"]?[column] == .string(column)) }
        #expect(queue[1].entry["op"] == "PATCH")
        #expect(queue[1].entry["data"]?.text == #"{"column0":"new_value"}"#)
        #expect(queue[2].entry.text == #"{"op":"DELETE","id":"test_id","type":"items"}"#)
        #expect(try database.rows("SELECT * FROM items").isEmpty)
    }

    @Test(arguments: counts) func aLocalOnlyTableQueuesNothing(_ count: Int) throws {
        let columns = columns(count)
        let database = try CoreDatabase(tables: CoreDatabase.table("items", columns, #""local_only":true"#))
        try insert(database, columns)
        try database.execute("UPDATE items SET column0 = 'new_value'")
        #expect(try database.column("SELECT column0 FROM items") == ["new_value"])
        try database.execute("DELETE FROM items")
        #expect(try database.rows("SELECT * FROM items").isEmpty)
        #expect(try database.entries().isEmpty)
    }

    @Test(arguments: counts) func anInsertOnlyTableStoresNothing(_ count: Int) throws {
        let columns = columns(count)
        let database = try CoreDatabase(tables: CoreDatabase.table("items", columns, #""insert_only":true"#))
        try insert(database, columns)
        #expect(try database.rows("SELECT * FROM items").isEmpty)
        let queue = try database.queue()
        #expect(queue.map(\.transaction) == [1])
        #expect(queue[0].entry["op"] == "PUT")
        #expect(queue[0].entry["data"]?.objectMembers?.count == count)
    }

    @Test func tooManyColumnsAreRefused() throws {
        let error = sqliteError { _ = try CoreDatabase(tables: CoreDatabase.table("items", columns(2000))) }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message.contains("too many parameters to json_object_fragment") == true)
    }

    @Test func anInsertOnlyTableLeavesTheGateOpenAndRefusesOtherWrites() throws {
        let database = try CoreDatabase(tables: CoreDatabase.table("items", ["col"], #""insert_only":true"#))
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
        #expect(try database.entries() == [#"{"op":"PUT","type":"items","id":"a","data":{"col":"x"}}"#])
        #expect(try database.rows("SELECT * FROM ps_buckets").isEmpty)
        #expect(try database.rows("SELECT * FROM ps_kv WHERE key <> 'client_id'").isEmpty)
        for sql in ["UPDATE items SET col = 'y'", "DELETE FROM items"] {
            let error = sqliteError { try database.execute(sql) }
            #expect(error?.message == "cannot modify items because it is a view")
        }
    }

    @Test func insertOnlyAndLocalOnlyIsLocalOnly() throws {
        let database = try CoreDatabase(
            tables: CoreDatabase.table("items", ["col"], #""insert_only":true,"local_only":true"#))
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x'); UPDATE items SET col = 'y'")
        #expect(try database.rows("SELECT * FROM items") == [["a", "y"]])
        try database.execute("DELETE FROM items")
        #expect(try database.entries().isEmpty)
    }

    @Test func castsWhatTheServiceSent() throws {
        let database = try CoreDatabase(
            tables:
                #"{"name":"t","columns":[{"name":"a","type":"text"},{"name":"b","type":"integer"},{"name":"c","type":"real"}]}"#
        )
        try database.execute(
            """
            INSERT INTO ps_data__t(id, data) VALUES
                ('1', '{"a":true,"b":true}'), ('2', '{"a":12,"b":"12","c":"1.5"}'), ('3', '{"a":{"x":[1]},"b":1.5}'),
                ('4', '{"a":null}')
            """)
        #expect(
            try database.rows("SELECT a, b, c FROM t ORDER BY id") == [
                ["1", "1", "null"], ["12", "12", "1.5"], [#"{"x":[1]}"#, "1", "null"],
                ["null", "null", "null"],
            ])
    }

    @Test func storesEveryColumnInTheOrderOfTheSchema() throws {
        let database = try CoreDatabase(tables: CoreDatabase.table("t", ["b", "a"]))
        try database.execute("INSERT INTO t(id, a) VALUES ('1', 'x')")
        #expect(try database.column("SELECT data FROM ps_data__t") == [#"{"b":null,"a":"x"}"#])
        #expect(try database.queue()[0].entry["data"]?.text == #"{"a":"x"}"#)
    }

    @Test func valuesOfJSONFunctionsAreStoredAsText() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute(
            "INSERT INTO items(id, col) VALUES ('a', json_object()); UPDATE items SET col = NULL")
        #expect(try database.queue().map { $0.entry["data"]?.text } == [#"{"col":"{}"}"#, #"{"col":null}"#])
    }

    @Test func valuesOfAnotherTypeAreStoredAsTheyAre() throws {
        let database = try CoreDatabase(tables: #"{"name":"t","columns":[{"name":"col","type":"int"}]}"#)
        try database.execute(
            "INSERT INTO t(id, col) VALUES ('a', json_object()), ('b', NULL), ('c', 'not an integer')")
        #expect(
            try database.queue().map { $0.entry["data"]?.text }
                == [#"{"col":"{}"}"#, "{}", #"{"col":"not an integer"}"#])
    }

    @Test func doublesKeepEveryDigit() throws {
        let database = try CoreDatabase(tables: #"{"name":"t","columns":[{"name":"col","type":"real"}]}"#)
        try database.connection.run("INSERT INTO t(id, col) VALUES ('a', ?), ('b', 2.0)", [.real(0.1 + 0.2)])
        #expect(try database.connection.query("SELECT col FROM t") { $0.double(0) } == [0.1 + 0.2, 2])
        #expect(
            try database.queue().map { $0.entry["data"]?.text }
                == [#"{"col":0.30000000000000004}"#, #"{"col":2.0}"#])
    }

    @Test func namesThatNeedQuotingWork() throws {
        let database = try CoreDatabase(
            tables:
                #"{"name":"odd \"na'me\"","view_name":"my \"view\"","columns":[{"name":"co\"l","type":"text"},{"name":"b\\s","type":"text"},{"name":"it's","type":"text"}],"indexes":[{"name":"i \"x\"","columns":[{"name":"co\"l","ascending":true,"type":"text"}]}]}"#
        )
        try database.execute(
            #"INSERT INTO "my ""view"""(id, "co""l", "b\s", "it's") VALUES ('1', 'a', 'b', 'c')"#)
        try database.execute(#"UPDATE "my ""view""" SET "co""l" = 'd'"#)
        #expect(try database.rows(#"SELECT * FROM "my ""view""""#) == [["1", "d", "b", "c"]])
        #expect(
            try database.queue()[1].entry.text
                == #"{"op":"PATCH","id":"1","type":"odd \"na'me\"","data":{"co\"l":"d"}}"#)
    }

    @Test func theIdIsChecked() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        let missing = sqliteError {
            try database.execute("INSERT INTO items(id) VALUES ('a'), (NULL), ('b')")
        }
        #expect(missing?.extendedCode == 1811)
        #expect(missing?.message == "id is required")
        #expect(try database.column("SELECT id FROM items") == ["a"])
        let integer = sqliteError { try database.execute("INSERT INTO items(id) VALUES (1)") }
        #expect(integer?.message == "id should be text")
        for value in ["'b'", "NULL"] {
            let changed = sqliteError { try database.execute("UPDATE items SET id = \(value)") }
            #expect(changed?.extendedCode == 1811)
            #expect(changed?.message == "Cannot update id")
        }
        #expect(try database.entries().count == 1)
    }

    @Test func replaceIgnoreUpsertAndReturningDoWhatSQLiteMakesOfThem() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
        let duplicate = sqliteError { try database.execute("INSERT INTO items(id, col) VALUES ('a', 'y')") }
        #expect(duplicate?.extendedCode == 1555)
        try database.execute("INSERT OR REPLACE INTO items(id, col) VALUES ('a', 'z')")
        #expect(try database.rows("SELECT id, col FROM items") == [["a", "z"]])
        let upsert = sqliteError {
            try database.execute("INSERT INTO items(id) VALUES ('a') ON CONFLICT(id) DO UPDATE SET col = 'q'")
        }
        #expect(upsert?.message == "cannot UPSERT a view")
        #expect(
            try database.rows("INSERT INTO items(id, col) VALUES ('b', 'r') RETURNING id, col") == [
                ["b", "r"]
            ])
        #expect(try database.queue().map { $0.entry["op"] } == ["PUT", "PUT", "PUT"])
    }

    @Test func aDeleteThatFindsNothingStillTakesATransactionID() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute("DELETE FROM items")
        try database.execute("INSERT INTO items(id) VALUES ('a')")
        #expect(try database.transactionIDs() == [2])
    }

    @Test func everyTransactionHasItsID() throws {
        let database = try CoreDatabase(
            tables: CoreDatabase.items, CoreDatabase.table("logs", ["col"], #""insert_only":true"#))
        for transaction in 1...9 {
            try database.connection.transaction {
                for write in 0..<transaction {
                    let tables = transaction.isMultiple(of: 2) ? ["items", "logs"] : ["logs", "items"]
                    for table in tables {
                        try database.execute("INSERT INTO \(table)(id) VALUES ('\(transaction)-\(write)')")
                    }
                }
            }
        }
        let counts = try database.rows("SELECT tx_id, count(*) FROM ps_crud GROUP BY tx_id ORDER BY tx_id")
        #expect(counts == (1...9).map { ["\($0)", "\(2 * $0)"] })
    }
}
