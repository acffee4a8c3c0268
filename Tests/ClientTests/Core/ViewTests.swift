import PowerSyncSQLite
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
}
