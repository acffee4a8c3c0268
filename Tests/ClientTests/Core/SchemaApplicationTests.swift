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

    @Test func anIdenticalSchemaChangesNothing() throws {
        let tables = [
            indexed(ascending: false),
            CoreDatabase.table("m", ["x"], #""include_metadata":true,"include_old":["x"]"#),
            CoreDatabase.table("l", ["x"], #""local_only":true"#),
            CoreDatabase.table("n", ["x"], #""insert_only":true"#),
            CoreDatabase.table("wide", (0..<120).map { "c\($0)" }, #""view_name":"other""#),
        ]
        let database = try CoreDatabase(version: 0)
        try database.apply(tables)
        let version = try database.schemaVersion
        try database.apply(tables)
        #expect(try database.schemaVersion == version)
    }

    @Test func aChangedColumnOrIndexIsApplied() throws {
        let database = try CoreDatabase(tables: indexed(ascending: true))
        let first = try database.schemaVersion ?? 0
        try database.apply([indexed(ascending: false)])
        let second = try database.schemaVersion ?? 0
        #expect(second > first)
        try database.apply([indexed(ascending: false).replacing(#""a""#, with: #""renamed""#)])
        #expect(try database.schemaVersion ?? 0 > second)
        #expect(try database.column("SELECT name FROM pragma_table_info('t')") == ["id", "renamed", "b"])
    }

    @Test func viewsAndIndexesHaveTheTextOfTheContract() throws {
        let database = try CoreDatabase(tables: indexed(ascending: false))
        #expect(
            try database.column(
                "SELECT sql FROM sqlite_schema WHERE name IN ('t', 'ps_data__t__i') ORDER BY type") == [
                    """
                    CREATE INDEX "ps_data__t__i" ON "ps_data__t"(CAST(json_extract(data, '$.a') as text), \
                    CAST(json_extract(data, '$.b') as integer) DESC)
                    """,
                    """
                    CREATE VIEW "t"("id", "a", "b") AS SELECT id, CAST(json_extract(data, '$.a') as text), \
                    CAST(json_extract(data, '$.b') as integer) FROM "ps_data__t" -- powersync-auto-generated
                    """,
                ])
    }

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

    @Test func aSyncedTableThatBecomesLocalKeepsItsRowsForLater() throws {
        let local = CoreDatabase.table("users", ["name"], #""local_only":true"#)
        let database = try CoreDatabase(tables: CoreDatabase.table("users", ["name"]))
        try database.execute(#"INSERT INTO ps_data__users(id, data) VALUES ('a', '{"name":"x"}')"#)
        try database.apply([local])
        #expect(try database.rows("SELECT name FROM sqlite_schema WHERE name = 'ps_data__users'").isEmpty)
        #expect(try database.rows("SELECT * FROM ps_untyped") == [["users", "a", #"{"name":"x"}"#]])
        #expect(try database.rows("SELECT * FROM users").isEmpty)
        try database.execute("INSERT INTO users(id, name) VALUES ('b', 'y')")
        #expect(try database.entries().isEmpty)
        try database.apply([CoreDatabase.table("users", ["name"])])
        #expect(try database.rows("SELECT * FROM users") == [["a", "x"]])
        #expect(try database.rows("SELECT * FROM ps_untyped").isEmpty)
        #expect(
            try database.rows("SELECT name FROM sqlite_schema WHERE name = 'ps_data_local__users'").isEmpty)
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

    @Test func metadataAddsAndRemovesTheSecondDeleteTrigger() throws {
        func triggers(_ database: CoreDatabase) throws -> Int {
            try database.column(
                "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name GLOB 'ps_view_delete*'"
            ).count
        }
        let plain = CoreDatabase.table("t", ["x"])
        let metadata = CoreDatabase.table("t", ["x"], #""include_metadata":true"#)
        let database = try CoreDatabase(tables: plain)
        #expect(try triggers(database) == 1)
        try database.apply([metadata])
        #expect(try triggers(database) == 2)
        let version = try database.schemaVersion
        try database.apply([metadata])
        #expect(try database.schemaVersion == version)
        try database.apply([plain])
        #expect(try triggers(database) == 1)
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
}
