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

    /// A transaction without changes that is rolled back takes nothing away from the one before.
    @Test(arguments: [
        ["INSERT INTO foo VALUES (1)", "INSERT INTO taken VALUES (1)"],
        ["INSERT INTO foo VALUES (1)", "BEGIN", "ROLLBACK"],
        ["BEGIN", "INSERT INTO foo VALUES (1)", "COMMIT", "BEGIN", "SELECT 1", "ROLLBACK"],
        ["INSERT INTO foo VALUES (1); BEGIN; ROLLBACK"],
    ])
    func whatWasCommittedIsReportedAfterALaterRollback(_ statements: [String]) throws {
        try connection.execute("CREATE TABLE taken(id PRIMARY KEY); INSERT INTO taken VALUES (1)")
        _ = tables.drain()
        for statement in statements {
            do {
                try connection.execute(statement)
            } catch {
                #expect(error.code == .constraint)
            }
        }
        #expect(tables.drain() == ["foo"])
    }

    @Test func deletingAllRowsIsReported() throws {
        try connection.execute("INSERT INTO foo VALUES (1), (2); INSERT INTO bar VALUES (1), (2)")
        _ = tables.drain()
        try connection.run("DELETE FROM foo")
        #expect(tables.drain() == ["foo"])
        try connection.deleteWithoutNotice(from: "bar")
        #expect(tables.drain() == [], "wanted where nobody watches and speed counts")
        try connection.run("INSERT INTO bar VALUES (1), (2)")
        _ = tables.drain()
        try connection.run("DELETE FROM bar")
        #expect(tables.drain() == ["bar"], "the same text, run by somebody else")
        try connection.run("INSERT INTO foo VALUES (1), (2)")
        try connection.run("DELETE FROM foo WHERE true")
        #expect(tables.drain() == ["foo"])
    }

    @Test func whatIsKeptDespiteAnErrorIsReported() throws {
        try connection.execute("CREATE TABLE taken(id PRIMARY KEY); INSERT INTO taken VALUES (2)")
        _ = tables.drain()
        #expect(throws: SQLiteError.self) {
            try connection.run("INSERT OR FAIL INTO taken SELECT value FROM json_each('[1, 2]')")
        }
        #expect(tables.drain() == ["taken"])
    }

    @Test func aStatementThatIsLeftEarlyIsReported() throws {
        let statement = try connection.prepare("INSERT INTO foo VALUES (1), (2) RETURNING a")
        #expect(try statement.step())
        statement.reset()
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
