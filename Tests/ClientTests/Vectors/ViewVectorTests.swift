import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Vectors of client-core 9.2 on views and their triggers.
struct ViewVectorTests {
    static let counts = [1, 49, 50, 51, 63, 64, 100, 1999]

    private func columns(_ count: Int) -> [String] { (0..<count).map { "column\($0)" } }

    private func insert(_ database: CoreDatabase, _ columns: [String]) throws {
        try database.connection.run(
            "INSERT INTO items(id, \(columns.joined(separator: ", "))) "
                + "VALUES (\((["?"] + columns.map { _ in "?" }).joined(separator: ", ")))",
            [.text("test_id")] + columns.map { .text($0) })
    }

    @Test("14: every write of a table of any width is queued", .behaviour(50, 51), arguments: counts)
    func queuesEveryWriteOfATableOfAnyWidth(_ count: Int) throws {
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

    @Test("15: a local-only table of any width queues nothing", arguments: counts)
    func aLocalOnlyTableQueuesNothing(_ count: Int) throws {
        let columns = columns(count)
        let database = try CoreDatabase(tables: CoreDatabase.table("items", columns, #""local_only":true"#))
        try insert(database, columns)
        try database.execute("UPDATE items SET column0 = 'new_value'")
        #expect(try database.column("SELECT column0 FROM items") == ["new_value"])
        try database.execute("DELETE FROM items")
        #expect(try database.rows("SELECT * FROM items").isEmpty)
        #expect(try database.entries().isEmpty)
    }

    @Test("16: an insert-only table of any width stores nothing", arguments: counts)
    func anInsertOnlyTableStoresNothing(_ count: Int) throws {
        let columns = columns(count)
        let database = try CoreDatabase(tables: CoreDatabase.table("items", columns, #""insert_only":true"#))
        try insert(database, columns)
        #expect(try database.rows("SELECT * FROM items").isEmpty)
        let queue = try database.queue()
        #expect(queue.map(\.transaction) == [1])
        #expect(queue[0].entry["op"] == "PUT")
        #expect(queue[0].entry["data"]?.objectMembers?.count == count)
    }

    @Test("33: an insert-only table leaves the gate open and refuses other writes")
    func anInsertOnlyTableLeavesTheGateOpenAndRefusesOtherWrites() throws {
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

    @Test("34: insert-only and local-only is local-only")
    func insertOnlyAndLocalOnlyIsLocalOnly() throws {
        let database = try CoreDatabase(
            tables: CoreDatabase.table("items", ["col"], #""insert_only":true,"local_only":true"#))
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x'); UPDATE items SET col = 'y'")
        #expect(try database.rows("SELECT * FROM items") == [["a", "y"]])
        try database.execute("DELETE FROM items")
        #expect(try database.entries().isEmpty)
    }

    @Test("31: values of JSON functions are stored as text")
    func valuesOfJSONFunctionsAreStoredAsText() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute(
            "INSERT INTO items(id, col) VALUES ('a', json_object()); UPDATE items SET col = NULL")
        #expect(try database.queue().map { $0.entry["data"]?.text } == [#"{"col":"{}"}"#, #"{"col":null}"#])
    }

    @Test("32: values of another type are stored as they are")
    func valuesOfAnotherTypeAreStoredAsTheyAre() throws {
        let database = try CoreDatabase(tables: #"{"name":"t","columns":[{"name":"col","type":"int"}]}"#)
        try database.execute(
            "INSERT INTO t(id, col) VALUES ('a', json_object()), ('b', NULL), ('c', 'not an integer')")
        #expect(
            try database.queue().map { $0.entry["data"]?.text }
                == [#"{"col":"{}"}"#, "{}", #"{"col":"not an integer"}"#])
    }

    @Test("37: a delete that finds nothing still takes a transaction id")
    func aDeleteThatFindsNothingStillTakesATransactionID() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute("DELETE FROM items")
        try database.execute("INSERT INTO items(id) VALUES ('a')")
        #expect(try database.transactionIDs() == [2])
    }

    @Test("38: a row without id fails, and the rows before it stay")
    func aRowWithoutID() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        let error = sqliteError { try database.execute("INSERT INTO items(id) VALUES ('a'), (NULL), ('b')") }
        #expect(error?.extendedCode == 1811)
        #expect(error?.message == "id is required")
        #expect(try database.column("SELECT id FROM items") == ["a"])
        #expect(try database.entries() == [#"{"op":"PUT","id":"a","type":"items","data":{}}"#])
    }
}
