import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

struct SchemaApplicationTests {
    private static let indexed = #"""
        {"name":"t","columns":[{"name":"a","type":"text"},{"name":"b","type":"integer"}],
         "indexes":[{"name":"i","columns":[{"name":"a","ascending":true,"type":"text"},{"name":"b","ascending":ASC,"type":"integer"}]}]}
        """#

    private func indexed(ascending: Bool) -> String { Self.indexed.replacing("ASC", with: "\(ascending)") }

    @Test func indexesServeQueriesOnTheView() throws {
        let database = try CoreDatabase(tables: indexed(ascending: true))
        let plan = try database.rows("EXPLAIN QUERY PLAN SELECT * FROM t WHERE a = 'x'").map { $0[3] }
        #expect(plan.contains { $0.contains("USING INDEX ps_data__t__i") })
    }

    @Test func foreignIndexesWithOurPrefixAreDropped() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute(
            "CREATE INDEX ps_data_other ON ps_data__items(data); CREATE INDEX mine ON ps_data__items(data)")
        try database.apply([CoreDatabase.items])
        #expect(
            try database.column(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND name IN ('ps_data_other', 'mine')")
                == ["mine"])
    }

    @Test func aRemovedTableComesBackWithItsRows() throws {
        let database = try CoreDatabase(
            tables: CoreDatabase.items, CoreDatabase.table("l", ["x"], #""local_only":true"#))
        try database.execute(
            "INSERT INTO items(id, col) VALUES ('a', 'x'); INSERT INTO l(id, x) VALUES ('b', 'y')")
        try database.apply([])
        #expect(try database.rows("SELECT type, id FROM ps_untyped") == [["items", "a"]])
        #expect(try database.rows("SELECT name FROM sqlite_schema WHERE type = 'view'").isEmpty)
        try database.apply([CoreDatabase.items])
        #expect(try database.rows("SELECT * FROM items") == [["a", "x"]])
    }

    @Test func aRenamedViewReplacesTheOldOne() throws {
        let database = try CoreDatabase(tables: CoreDatabase.table("t", ["x"], #""view_name":"One""#))
        try database.apply([CoreDatabase.table("t", ["x"], #""view_name":"one""#)])
        try database.execute("INSERT INTO ONE(id, x) VALUES ('a', 'b')")
        #expect(try database.queue()[0].entry["type"] == "t")
        try database.apply([CoreDatabase.table("t", ["x"], #""view_name":"two""#)])
        #expect(try database.column("SELECT name FROM sqlite_schema WHERE type = 'view'") == ["two"])
        #expect(try database.rows("SELECT * FROM two") == [["a", "b"]])
    }

    @Test func foreignViewsAreLeftAlone() throws {
        let database = try CoreDatabase(tables: CoreDatabase.items)
        try database.execute("CREATE VIEW mine AS SELECT id FROM items")
        try database.apply([CoreDatabase.items])
        #expect(try database.rows("SELECT * FROM mine").isEmpty)
    }

    @Test(arguments: [
        "[]", "{}", #"{"tables":[{"name":"t"}]}"#, #"{"tables":1}"#, "{",
        #"{"tables":[{"name":"t","columns":[{"name":"a"}]}]}"#,
    ])
    func aMalformedSchemaIsRefused(_ json: String) throws {
        let database = try CoreDatabase()
        let error = sqliteError {
            try database.connection.transaction {
                try SchemaApplication.apply(json: json, on: database.connection)
            }
        }
        #expect(error?.extendedCode == 3091)
    }

    @Test func aSchemaOfRawTablesCreatesNoTables() throws {
        let database = try CoreDatabase(version: 0)
        try database.apply([], raw: [#"{"name":"users","table_name":"users"}"#])
        #expect(try DataTable.all(on: database.connection).isEmpty)
    }

    @Test func namesThatChangeTheirCaseAreOtherNames() throws {
        let index = #""indexes":[{"name":"by_x","columns":[{"name":"x","ascending":true,"type":"text"}]}]"#
        let table = CoreDatabase.table("users", ["x"], index)
        let database = try CoreDatabase(tables: table)
        try database.execute(#"INSERT INTO ps_data__users(id, data) VALUES ('a', '{"x":"y"}')"#)
        try database.apply([table.replacing("by_x", with: "By_X")])
        #expect(
            try database.column(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND name GLOB 'ps_data_*'")
                == ["ps_data__users__By_X"])
        // Rows of a type that the schema no longer has wait for it.
        try database.apply([table.replacing("users", with: "Users")])
        #expect(try database.rows("SELECT type, id FROM ps_untyped") == [["users", "a"]])
        #expect(try DataTable.all(on: database.connection).map(\.name) == ["Users"])
        #expect(try database.rows("SELECT * FROM Users").isEmpty)
        try database.apply([table])
        #expect(try database.rows("SELECT * FROM users") == [["a", "y"]])
    }

    @Test func namesThatAreOnlySpelledAlikeAreOtherNames() throws {
        let (one, two) = ("\u{e9}", "e\u{301}")
        let database = try CoreDatabase(tables: CoreDatabase.table(one, ["x"]))
        try database.execute("INSERT INTO \(one)(id, x) VALUES ('a', 'y')")
        try database.apply([CoreDatabase.table(two, ["x"])])
        #expect(try database.column("SELECT id FROM ps_untyped") == ["a"])
        #expect(try database.rows("SELECT * FROM \(two)").isEmpty)
        try database.apply([CoreDatabase.table(one, ["x"]), CoreDatabase.table(two, ["x"])])
        #expect(try database.rows("SELECT * FROM \(one)") == [["a", "y"]])
        #expect(try database.rows("SELECT * FROM \(two)").isEmpty)
    }

    @Test func aColumnThatIsOnlySpelledAlikeIsAnother() throws {
        func table(_ column: String) -> String {
            CoreDatabase.table(
                "t", [column],
                #""indexes":[{"name":"i","columns":[{"name":"\#(column)","ascending":true,"type":"text"}]}]"#)
        }
        let database = try CoreDatabase(tables: table("\u{e9}"))
        try database.apply([table("e\u{301}")])
        try database.execute("INSERT INTO t(id, e\u{301}) VALUES ('a', 'y')")
        #expect(try database.column("SELECT json_extract(data, '$.e\u{301}') FROM ps_data__t") == ["y"])
        #expect(
            try database.column(
                "SELECT name FROM sqlite_schema WHERE type = 'index' AND instr(sql, 'e\u{301}') > 0")
                == ["ps_data__t__i"])
    }

    /// Unlike Swift, SQLite folds the case of ASCII alone.
    @Test func viewsWhoseNamesDifferInCaseBeyondASCIIAreTwo() throws {
        let tables = ["\u{c9}", "\u{e9}"].map { CoreDatabase.table($0, ["x"]) }
        let database = try CoreDatabase(version: 0)
        try database.apply(tables)
        let version = try database.schemaVersion
        try database.apply(tables)
        #expect(try database.schemaVersion == version, "the same schema changes nothing")
        try database.apply([tables[1]])
        #expect(try database.column("SELECT name FROM sqlite_schema WHERE type = 'view'") == ["\u{e9}"])
    }

    @Test func viewsCanSwapTheirNames() throws {
        func tables(_ first: String, _ second: String) -> [String] {
            [
                CoreDatabase.table("one", ["x"], #""view_name":"\#(first)""#),
                CoreDatabase.table("two", ["y"], #""view_name":"\#(second)""#),
            ]
        }
        let database = try CoreDatabase(version: 0)
        try database.apply(tables("a", "b"))
        try database.execute("INSERT INTO a(id, x) VALUES ('1', 'one')")
        try database.apply(tables("b", "a"))
        #expect(try database.rows("SELECT id, x FROM b") == [["1", "one"]])
        #expect(try database.rows("SELECT id, y FROM a").isEmpty)
    }

    @Test func aTableOfTheAppInPlaceOfAViewIsReportedAndKept() throws {
        let database = try CoreDatabase(tables: CoreDatabase.table("other", ["x"]))
        try database.execute("CREATE TABLE items(id); INSERT INTO items VALUES (7)")
        let before = try database.layout()
        let error = sqliteError { try database.apply([CoreDatabase.items]) }
        #expect(error?.code == .error)
        #expect(error?.message == "use DROP TABLE to delete table items")
        #expect(try database.layout() == before)
        #expect(try database.rows("SELECT id FROM items") == [["7"]])
    }

    @Test func aViewOfTheAppGivesWay() throws {
        let database = try CoreDatabase(version: 0)
        try database.execute("CREATE VIEW items AS SELECT 1 AS id")
        try database.apply([CoreDatabase.items])
        try database.execute("INSERT INTO items(id, col) VALUES ('a', 'x')")
        #expect(try database.rows("SELECT * FROM items") == [["a", "x"]])
    }
}
