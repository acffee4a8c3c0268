import Testing

@testable import PowerSync

/// Views and triggers of the app that no longer work do not keep a file from being opened.
///
/// SQLite reads all of them again when a table is renamed or a column dropped, and then fails.
struct BrokenObjectTests {
    private func file(_ version: Int) throws -> CoreDatabase {
        let database = try HistoricFile("v\(version)").open()
        try database.execute(
            """
            CREATE TABLE gone(id);
            CREATE VIEW broken_view AS SELECT id FROM gone;
            CREATE TRIGGER broken_trigger AFTER INSERT ON ps_data__lists BEGIN INSERT INTO gone VALUES (1); END;
            DROP TABLE gone;
            """)
        return database
    }

    @Test(arguments: 1...13) func aFileOfAnyVersionOpens(_ version: Int) throws {
        let database = try file(version)
        try database.migrate(to: 14)
        #expect(
            try InternalLayout(of: database.connection) == InternalLayout(of: CoreDatabase().connection))
        #expect(
            try database.column("SELECT name FROM sqlite_schema WHERE name GLOB 'broken*' ORDER BY name")
                == ["broken_trigger", "broken_view"])
        #expect(
            try database.column("SELECT name FROM ps_buckets ORDER BY name")
                == [#"lists["u1"]"#, #"todos["u1"]"#])
    }

    @Test(arguments: 4...13) func andGoesBackByOurSteps(_ version: Int) throws {
        let database = try CoreDatabase()
        try database.execute("CREATE VIEW broken_view AS SELECT id FROM gone")
        try database.migrate(to: version)
        let expected = try HistoricFile("v\(version)", onlyLayout: true).openPlainly()
        #expect(try InternalLayout(of: database.connection) == InternalLayout(of: expected))
    }
}
