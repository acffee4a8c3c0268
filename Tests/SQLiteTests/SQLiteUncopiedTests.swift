import PowerSyncSQLite
import Testing

/// Texts that pass through without becoming strings.
@Suite struct SQLiteUncopiedTests {
    @Test func textsAndIntegersArriveAsTheyAre() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        try connection.execute("CREATE TABLE t(number INTEGER, text TEXT NOT NULL) STRICT")
        let insert = try connection.borrow("INSERT INTO t VALUES (?1, ?2)")
        for (number, text) in ["é\u{0}x", "", "plain"].enumerated() {
            try Array(text.utf8).withUnsafeBufferPointer { bytes in
                try insert.bind(Int64(number), at: 1)
                try insert.bind(uncopied: bytes, at: 2)
                try insert.runBound()
            }
        }
        connection.giveBack(insert)
        var found: [[UInt8]] = []
        try connection.forEach("SELECT text FROM t ORDER BY number") { row in
            row.withText(0) { found.append(Array($0)) }
        }
        #expect(found == ["é\u{0}x", "", "plain"].map { Array($0.utf8) })
    }

    @Test func nullLendsNoBytes() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        let counts = try connection.query("SELECT NULL") { row in row.withText(0) { $0.count } }
        #expect(counts == [0])
    }

    @Test func aParameterThatIsNotThereIsAnError() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        let statement = try connection.prepare("SELECT ?1")
        #expect(throws: SQLiteError.self) { try statement.bind(1 as Int64, at: 2) }
    }

    @Test func aStatementGivenBackRemembersNothing() throws {
        let connection = try SQLiteConnection(path: ":memory:")
        defer { connection.close() }
        let sql = "SELECT ?1"
        let statement = try connection.borrow(sql)
        try statement.bind(7 as Int64, at: 1)
        connection.giveBack(statement)
        #expect(try connection.one(sql, [.null]) { $0.isNull(0) } == true)
        let again = try connection.borrow(sql)
        #expect(again === statement)
        #expect(try again.step())
        #expect(try again.row().isNull(0))
        connection.giveBack(again)
    }
}
