import PowerSyncSQLite
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

struct ViewTests {
    @Test func tooManyColumnsAreRefused() throws {
        let error = sqliteError {
            _ = try CoreDatabase(tables: CoreDatabase.table("items", (0..<2000).map { "column\($0)" }))
        }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message.contains("too many parameters to json_object_fragment") == true)
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

    @Test(.behaviour(53)) func replaceIgnoreUpsertAndReturningDoWhatSQLiteMakesOfThem() throws {
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
        try database.execute("INSERT OR IGNORE INTO items(id, col) VALUES ('b', 's')")
        #expect(try database.rows("SELECT id, col FROM items") == [["a", "z"], ["b", "r"]])
        #expect(try database.queue().map { $0.entry["op"] } == ["PUT", "PUT", "PUT", "PUT"])
    }

    @Test func theWidestTableKeepsPreviousValues() throws {
        let columns = (0..<1999).map { "c\($0)" }
        let database = try CoreDatabase(
            tables: CoreDatabase.table(
                "items", columns,
                #""include_old":true,"include_old_only_when_changed":true,"ignore_empty_update":true"#))
        try database.execute(
            "INSERT INTO items(id, c0, c1998) VALUES ('a', 'x', 'y'); UPDATE items SET c1998 = 'z', c5 = 1")
        try database.execute("UPDATE items SET c0 = 'x'; DELETE FROM items")
        let queue = try database.queue().map(\.entry)
        #expect(queue.count == 3)
        #expect(queue[1]["data"]?.text == #"{"c1998":"z","c5":"1"}"#)
        #expect(queue[1]["old"]?.text == #"{"c1998":"y","c5":null}"#)
        #expect(queue[2]["old"]?.objectMembers?.count == 1999)
    }

    @Test func doublesReachTheTableAndTheQueueAsTheyWereWritten() throws {
        let database = try CoreDatabase(tables: #"{"name":"t","columns":[{"name":"col","type":"real"}]}"#)
        let values: [Double] = [
            1e300, -2.5e-7, 1e15, 123456789.125, .leastNonzeroMagnitude, .greatestFiniteMagnitude, -0.5,
        ]
        for (index, value) in values.enumerated() {
            try database.connection.run(
                "INSERT INTO t(id, col) VALUES (?, ?)", [.text("\(index)"), .real(value)])
        }
        #expect(try database.connection.query("SELECT col FROM t ORDER BY id") { $0.double(0) } == values)
        #expect(
            try database.connection.query("SELECT data ->> '$.data.col' FROM ps_crud ORDER BY id") {
                $0.double(0)
            } == values)
        // Integral values stay doubles, as SQLite of today writes them.
        #expect(
            try database.column("SELECT typeof(data ->> '$.col') FROM ps_data__t")
                == values.map { _ in "real" })
    }

    @Test(arguments: [
        #"a"b"#, #"back\slash"#, #"both\"of"#, #"\"#, #"""#, "it's", "with space", "ümlaut", "🙂", "a/b",
    ])
    func aColumnOfAnyNameIsReadAndWritten(_ name: String) throws {
        let column = JSON.object([
            JSONMember("name", .string(name)), JSONMember("type", .string("text")),
        ]).text
        let index =
            #"[{"name":"i","columns":[{"name":\#(JSON.quoted(name)),"ascending":true,"type":"text"}]}]"#
        let database = try CoreDatabase(
            tables: #"{"name":"t","columns":[\#(column)],"indexes":\#(index)}"#)
        let quoted = SQLText.identifier(name)
        let synced = JSON.object([JSONMember(name, .string("synced"))]).text
        try database.connection.run("INSERT INTO ps_data__t(id, data) VALUES ('1', ?)", [.text(synced)])
        #expect(try database.column("SELECT \(quoted) FROM t") == ["synced"])
        try database.execute("INSERT INTO t(id, \(quoted)) VALUES ('2', 'x'); UPDATE t SET \(quoted) = 'y'")
        #expect(try database.column("SELECT \(quoted) FROM t WHERE \(quoted) = 'y'") == ["y", "y"])
        #expect(try database.queue().map { $0.entry["data"]?[name] } == ["x", "y", "y"])
    }
}
