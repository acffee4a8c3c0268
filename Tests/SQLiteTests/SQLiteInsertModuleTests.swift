import PowerSyncSQLite
import Testing

struct SQLiteInsertModuleTests {
    final class Journal { var events: [String] = [] }

    let connection: SQLiteConnection
    let journal = Journal()

    init() throws {
        connection = try SQLiteConnection(path: ":memory:")
        let journal = journal
        try connection.createModule(
            SQLiteInsertModule(
                name: "sink", columns: "a TEXT, b INT HIDDEN",
                begin: { journal.events.append("begin") },
                insert: { row in
                    if row[0] == "bad" { throw SQLiteError(extendedCode: 3091, message: "bad row") }
                    journal.events.append("insert \(row[0].text ?? "-") \(row[1].integer ?? -1)")
                },
                rollbackTo: { journal.events.append("rollbackTo") },
                end: { journal.events.append("end") }))
    }

    @Test func callsBeginOnceForEachTransaction() throws {
        try connection.transaction {
            try connection.run("INSERT INTO sink(a) VALUES ('x')")
            try connection.run("INSERT INTO sink(a, b) VALUES ('y', 2)")
        }
        try connection.run("INSERT INTO sink VALUES ('z')")
        #expect(
            journal.events
                == ["begin", "insert x -1", "insert y 2", "end", "begin", "insert z -1", "end"])
    }

    @Test func worksFromATriggerAndTellsOfSavepoints() throws {
        try connection.execute(
            """
            CREATE TABLE t(id UNIQUE);
            CREATE VIEW v AS SELECT id FROM t;
            CREATE TRIGGER x INSTEAD OF INSERT ON v BEGIN
                INSERT INTO sink(a, b) VALUES (NEW.id, 5);
                INSERT INTO t VALUES (NEW.id);
            END;
            """)
        try connection.transaction {
            try connection.run("SAVEPOINT one")
            try connection.run("INSERT INTO v VALUES ('x')")
            try connection.run("ROLLBACK TO one")
            try connection.run("INSERT INTO v VALUES ('y')")
            #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO v VALUES ('z'), ('y')") }
        }
        #expect(
            journal.events.filter { $0 != "insert z 5" }
                == ["begin", "insert x 5", "rollbackTo", "insert y 5", "insert y 5", "rollbackTo", "end"])
    }

    @Test func reportsAnErrorOfTheInsert() throws {
        let error = #expect(throws: SQLiteError.self) {
            try connection.run("INSERT INTO sink(a) VALUES ('bad')")
        }
        #expect(error?.extendedCode == 3091)
        #expect(error?.message == "bad row")
    }

    @Test(arguments: ["SELECT * FROM sink", "DELETE FROM sink", "UPDATE sink SET a = 'x'"])
    func refusesEverythingButInserts(_ sql: String) throws {
        let error = #expect(throws: SQLiteError.self) { try connection.run(sql) }
        #expect(error?.code == .misuse)
    }
}
