import PowerSyncSQLite
import Testing

struct SQLiteHooksTests {
    let connection: SQLiteConnection
    let tables: SQLiteCommittedTables

    init() throws {
        connection = try SQLiteConnection(path: ":memory:")
        try connection.execute("CREATE TABLE foo(a); CREATE TABLE bar(a)")
        tables = SQLiteCommittedTables(of: connection)
    }

    @Test func reportsTablesOnceCommitted() throws {
        #expect(tables.drain().isEmpty)
        try connection.run("INSERT INTO foo VALUES (1)")
        #expect(tables.drain() == ["foo"])
        #expect(tables.drain().isEmpty)
        try connection.execute("BEGIN")
        try connection.run("INSERT INTO foo VALUES (2)")
        try connection.run("INSERT INTO bar VALUES (2)")
        #expect(tables.drain().isEmpty)
        try connection.execute("COMMIT")
        #expect(tables.drain() == ["foo", "bar"])
    }

    @Test func reportsNothingThatWasRolledBack() throws {
        try connection.execute("BEGIN; INSERT INTO foo VALUES (1); ROLLBACK")
        #expect(tables.drain().isEmpty)
        try connection.execute(
            "BEGIN; INSERT INTO foo VALUES (1); COMMIT; BEGIN; INSERT INTO bar VALUES (1); ROLLBACK")
        #expect(tables.drain() == ["foo"])
    }

    @Test func aCommitThatFailsCountsOnlyIfItSucceedsLater() throws {
        try connection.execute(
            """
            PRAGMA foreign_keys = ON;
            CREATE TABLE parent(id INTEGER PRIMARY KEY);
            CREATE TABLE child(id REFERENCES parent(id) DEFERRABLE INITIALLY DEFERRED);
            BEGIN; INSERT INTO child VALUES (1);
            """)
        #expect(throws: SQLiteError.self) { try connection.execute("COMMIT") }
        #expect(tables.drain().isEmpty)
        try connection.execute("ROLLBACK")
        #expect(tables.drain().isEmpty)
    }

    @Test func severalObserversShareTheHooks() throws {
        let second = SQLiteCommittedTables(of: connection)
        try connection.run("INSERT INTO bar VALUES (1)")
        #expect(second.drain() == ["bar"])
        #expect(tables.drain() == ["bar"])
    }
}
