import PowerSyncSQLite
import Testing

struct SQLiteConnectionTests {
    let connection: SQLiteConnection

    init() throws { connection = try SQLiteConnection(path: ":memory:") }

    @Test(arguments: [
        SQLiteValue.null, .integer(.min), .integer(.max), .real(0.1), .text(""), .text("é\0z 🦆"),
        .blob([]), .blob([0, 255]),
    ])
    func returnsEveryValueAsItWasBound(_ value: SQLiteValue) throws {
        #expect(try connection.query("SELECT ?", [value]) { $0[0] } == [value])
    }

    @Test func convertsColumnsAsSQLiteDoes() throws {
        let row = try connection.one("SELECT '12', NULL, 2.5, x'4142' AS b") { row in
            (
                row.int64(0), row.integer(1), row.text(1), row.double(2), row.text(2), row.blob(3),
                row.name(3), row.count
            )
        }
        let (a, b, c, d, e, f, g, h) = try #require(row)
        #expect(a == 12 && b == nil && c == nil && d == 2.5 && e == "2.5" && f == [0x41, 0x42])
        #expect(g == "b" && h == 4)
    }

    @Test func oneReturnsTheFirstRowAndFinishesTheStatement() throws {
        try connection.execute("CREATE TABLE t(a)")
        let id = try connection.one("INSERT INTO t VALUES (1), (2), (3) RETURNING a") { $0.int64(0) }
        #expect(id == 1)
        #expect(try connection.one("SELECT count(*) FROM t") { $0.int64(0) } == 3)
        #expect(try connection.one("SELECT a FROM t WHERE a > 5") { $0.int64(0) } == nil)
    }

    @Test func reportsChangesAndTheLastRowID() throws {
        try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1), (2)")
        try connection.run("UPDATE t SET a = a + ?", [.integer(1)])
        #expect(connection.changes == 2)
        #expect(connection.lastInsertRowID == 2)
    }

    @Test func rollsATransactionBackWhenItsBodyThrows() throws {
        struct Stop: Error {}
        try connection.execute("CREATE TABLE t(a)")
        #expect(throws: Stop.self) {
            try connection.transaction {
                try connection.run("INSERT INTO t VALUES (1)")
                #expect(connection.isInTransaction)
                throw Stop()
            }
        }
        #expect(!connection.isInTransaction)
        try connection.transaction { try connection.run("INSERT INTO t VALUES (2)") }
        #expect(try connection.query("SELECT a FROM t") { $0.int64(0) } == [2])
    }

    @Test func errorsCarryCodesOffsetAndSQL() throws {
        try connection.execute("CREATE TABLE t(a UNIQUE); INSERT INTO t VALUES (1)")
        let unique = #expect(throws: SQLiteError.self) { try connection.run("INSERT INTO t VALUES (?)", [1]) }
        #expect(unique?.code == .constraint)
        #expect(unique?.extendedCode == 2067)
        #expect(unique?.message == "UNIQUE constraint failed: t.a")
        #expect(unique?.errorString == "constraint failed")
        #expect(unique?.sql == "INSERT INTO t VALUES (?)")
        #expect(unique?.description.contains("INSERT") == false)
        #expect(unique?.debugDescription.contains("INSERT") == true)
        let syntax = #expect(throws: SQLiteError.self) { try connection.run("SELECT nope") }
        #expect(syntax?.offset == 7)
        #expect(syntax?.code == .error)
    }

    @Test func refusesAWrongNumberOfParameters() throws {
        let error = #expect(throws: SQLiteError.self) { try connection.run("SELECT ?, ?", [1]) }
        #expect(error?.code == .range)
    }

    @Test func refusesTextWithoutOrWithTwoStatements() throws {
        let none = #expect(throws: SQLiteError.self) { try connection.run(" -- nothing") }
        #expect(none?.code == .misuse)
        let two = #expect(throws: SQLiteError.self) { try connection.run("SELECT 1; SELECT 2") }
        #expect(two?.code == .misuse)
        try connection.run("SELECT 1; -- done")
    }

    @Test(arguments: [
        ("SELECT 1", "SELECT 1"), ("SELECT 1; \n", "SELECT 1;"), ("SELECT 1; SELECT 2", "SELECT 1;"),
        ("SELECT ';'; SELECT 2", "SELECT ';';"), ("SELECT 1 -- a; b\n; nonsense", "SELECT 1 -- a; b\n;"),
        ("SELECT 1 /* ; */; SELECT 2", "SELECT 1 /* ; */;"), ("; SELECT 1; SELECT 2", "; SELECT 1;"),
        (
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END; SELECT 3",
            "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END;"
        ),
    ])
    func theFirstStatementEndsWhereSQLiteSaysSo(_ sql: String, _ first: String) throws {
        try connection.execute("CREATE TABLE t(a)")
        #expect(try connection.prepare(sql, ignoringRest: true).sql == first)
        try connection.withStatement(sql, ignoringRest: true) { statement in
            #expect(statement.sql == first)
            while try statement.step() {}
        }
    }

    @Test func whatFollowsIsIgnoredOnlyForThoseWhoWantThat() throws {
        let sql = "SELECT 1; SELECT 2"
        try connection.withStatement(sql, ignoringRest: true) { while try $0.step() {} }
        let error = #expect(throws: SQLiteError.self) { try connection.run(sql) }
        #expect(error?.code == .misuse)
    }

    @Test func aStatementInUseIsNotReusedFurtherDown() throws {
        let sql = "SELECT value FROM (SELECT 1 AS value UNION ALL SELECT 2)"
        var pairs: [[Int64]] = []
        try connection.forEach(sql) { outer in
            let first = outer.int64(0)
            try connection.forEach(sql) { pairs.append([first, $0.int64(0)]) }
        }
        #expect(pairs == [[1, 1], [1, 2], [2, 1], [2, 2]])
    }

    @Test func cachedStatementsSurviveAChangeOfTheSchemaAndEviction() throws {
        try connection.execute("CREATE TABLE t(a); INSERT INTO t VALUES (1)")
        #expect(try connection.query("SELECT * FROM t") { $0.count } == [1])
        try connection.execute("ALTER TABLE t ADD COLUMN b")
        #expect(try connection.query("SELECT * FROM t") { $0.count } == [2])
        for index in 0..<600 { try connection.run("SELECT \(index)") }
        #expect(try connection.query("SELECT * FROM t") { $0.count } == [2])
    }

    @Test(arguments: [
        ("\u{e9}", "e\u{301}"), ("K", "\u{212A}"), ("a\u{323}\u{307}", "a\u{307}\u{323}"),
    ])
    func textsThatAreOnlySpelledAlikeAreTwoStatements(_ first: String, _ second: String) throws {
        #expect(first == second, "to Swift they are one")
        for text in [first, second, first] {
            let bytes = try connection.one("SELECT hex('\(text)')") { $0.string(0) }
            #expect(bytes == text.utf8.map { String($0, radix: 16, uppercase: true) }.joined())
        }
    }

    @Test(arguments: ["", String(repeating: "é", count: 40)])
    func aTextIsCompiledOnceWhereverItLies(_ text: String) throws {
        let bytes = Array("SELECT '\(text)'".utf8)
        let before = connection.compiledBytes
        for _ in 0..<3 {
            #expect(try connection.one(String(decoding: bytes, as: UTF8.self)) { $0.string(0) } == text)
        }
        #expect(connection.compiledBytes - before == bytes.count)
    }

    @Test func closingFinalisesStatementsAndEndsTheirUse() throws {
        let database = try TemporaryDatabase()
        let file = try SQLiteConnection(path: database.path)
        try file.execute("PRAGMA journal_mode = WAL; CREATE TABLE t(a)")
        let statement = try file.prepare("INSERT INTO t VALUES (?)")
        try statement.bind([1])
        file.close()
        file.close()
        let error = #expect(throws: SQLiteError.self) { try statement.run([1]) }
        #expect(error?.code == .misuse)
        #expect(throws: SQLiteError.self) { try file.run("SELECT 1") }
        // The last connection's orderly end removes the write-ahead log.
        let again = try SQLiteConnection(path: database.path, flags: .readOnly)
        #expect(try again.one("SELECT count(*) FROM t") { $0.int64(0) } == 0)
    }

    @Test func aMissingFileIsNotCreatedForReading() throws {
        let database = try TemporaryDatabase()
        let error = #expect(throws: SQLiteError.self) {
            try SQLiteConnection(path: database.path, flags: .readOnly)
        }
        #expect(error?.code == .cannotOpen)
    }

    @Test func aStatementTellsItsColumnsAndWhetherItWrites() throws {
        try connection.execute("CREATE TABLE t(a, b)")
        let select = try connection.prepare("SELECT a, b AS c FROM t WHERE a = ?1 AND b = ?2")
        #expect(select.columnNames == ["a", "c"] && select.parameterCount == 2 && select.isReadOnly)
        let insert = try connection.prepare("INSERT INTO t VALUES (1, 2)")
        #expect(insert.columnCount == 0 && !insert.isReadOnly)
        try insert.run()
        try insert.run()
        #expect(try connection.one("SELECT count(*) FROM t") { $0.int64(0) } == 2)
    }
}
