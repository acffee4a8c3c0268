import Testing

@testable import PowerSync

/// Vectors of client-core 9.4: what a changed schema does.
struct SchemaChangeVectorTests {
    private static let indexed = #"""
        {"name":"t","columns":[{"name":"a","type":"text"},{"name":"b","type":"integer"}],
         "indexes":[{"name":"i","columns":[{"name":"a","ascending":true,"type":"text"},{"name":"b","ascending":ASC,"type":"integer"}]}]}
        """#

    private func indexed(ascending: Bool) -> String { Self.indexed.replacing("ASC", with: "\(ascending)") }

    @Test("47: an identical schema changes nothing")
    func anIdenticalSchemaChangesNothing() throws {
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

    @Test("47: a changed column or index is applied")
    func aChangedColumnOrIndexIsApplied() throws {
        let database = try CoreDatabase(tables: indexed(ascending: true))
        let first = try database.schemaVersion ?? 0
        try database.apply([indexed(ascending: false)])
        let second = try database.schemaVersion ?? 0
        #expect(second > first)
        try database.apply([indexed(ascending: false).replacing(#""a""#, with: #""renamed""#)])
        #expect(try database.schemaVersion ?? 0 > second)
        #expect(try database.column("SELECT name FROM pragma_table_info('t')") == ["id", "renamed", "b"])
    }

    @Test("48: a synced table that becomes local keeps its rows for later")
    func aSyncedTableThatBecomesLocalKeepsItsRowsForLater() throws {
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

    @Test("48: rows of a local table are lost when it becomes synced")
    func aLocalTableThatBecomesSynced() throws {
        let database = try CoreDatabase(
            tables: CoreDatabase.table("users", ["name"], #""local_only":true"#))
        try database.execute("INSERT INTO users(id, name) VALUES ('a', 'x')")
        try database.apply([CoreDatabase.table("users", ["name"])])
        #expect(try database.rows("SELECT * FROM users").isEmpty)
        #expect(try DataTable.all(on: database.connection) == [DataTable(name: "users", isLocal: false)])
        #expect(try database.rows("SELECT * FROM ps_untyped").isEmpty)
    }

    @Test("49: metadata adds and removes the second trigger on deletes")
    func metadataAddsAndRemovesTheSecondDeleteTrigger() throws {
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

    @Test("50: views and indexes have the text of the contract")
    func viewsAndIndexesHaveTheTextOfTheContract() throws {
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
}
