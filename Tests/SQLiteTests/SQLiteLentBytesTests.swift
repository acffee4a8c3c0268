import PowerSyncSQLite
import Testing

/// Parts of a buffer that are bound where they lie.
@Suite struct SQLiteLentBytesTests {
    private let connection: SQLiteConnection

    init() throws {
        connection = try SQLiteConnection(path: ":memory:")
        try connection.execute("CREATE TABLE t(number INTEGER, a ANY, b ANY) STRICT")
    }

    @Test func partsArriveAsTheyAre() throws {
        let bytes = Array("key\0é".utf8)
        let rows: [(a: Range<Int>?, b: Range<Int>?)] = [
            (0..<4, 4..<6), (2..<2, 6..<6), (nil, nil), (0..<6, 0..<6),
        ]
        let insert = try connection.borrow("INSERT INTO t VALUES (?1, ?2, ?3)")
        try insert.lending(bytes) { lent in
            for (number, row) in rows.enumerated() {
                try insert.bind(Int64(number), at: 1)
                try lent.bind(blob: row.a, at: 2)
                try lent.bind(text: row.b, at: 3)
                try insert.runBound()
            }
        }
        connection.giveBack(insert)
        let found = try connection.query("SELECT a, b FROM t ORDER BY number") { [$0[0], $0[1]] }
        #expect(
            found == [
                [.blob(Array("key\0".utf8)), .text("é")], [.blob([]), .text("")], [.null, .null],
                [.blob(bytes), .text("key\0é")],
            ])
    }

    @Test func nothingIsCopied() throws {
        let bytes = [UInt8](repeating: 7, count: 100_000)
        let own = bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        let statement = try connection.prepare("SELECT ?1")
        try statement.lending(bytes) { lent in
            try lent.bind(blob: 10..<90_000, at: 1)
            #expect(try statement.step())
            // What SQLite has as a result are the bytes that were lent.
            try statement.row().withBlob(0) { blob in
                #expect(UInt(bitPattern: blob.baseAddress) == own + 10)
                #expect(blob.count == 89_990)
            }
        }
    }

    @Test func nothingIsBoundWhenTheBytesAreGone() throws {
        let statement = try connection.prepare("SELECT typeof(?1), typeof(?2), typeof(?3)")
        try statement.lending([1, 2, 3]) { lent in
            try lent.bind(blob: 0..<2, at: 1)
            try lent.bind(text: 2..<3, at: 2)
            try statement.bind(7 as Int64, at: 3)
            #expect(try statement.step())
            let row = try statement.row()
            #expect((0..<3).map { row.string($0) } == ["blob", "text", "integer"])
            // It is left in the midst of its rows.
        }
        #expect(try statement.step())
        let row = try statement.row()
        #expect((0..<3).map { row.string($0) } == ["null", "null", "null"])
        statement.reset()
    }

    @Test func whatFailsLeavesNothingBoundEither() throws {
        struct Enough: Error {}
        try connection.execute("CREATE TABLE filled(a BLOB NOT NULL) STRICT")
        let insert = try connection.prepare("INSERT INTO filled VALUES (?1)")
        #expect(throws: Enough.self) {
            try insert.lending([1, 2, 3]) { lent in
                try lent.bind(blob: 0..<3, at: 1)
                throw Enough()
            }
        }
        let error = #expect(throws: SQLiteError.self) { try insert.run([.null]) }
        #expect(error?.code == .constraint)
        let again = #expect(throws: SQLiteError.self) { try insert.runBound() }
        #expect(again?.code == .constraint, "nothing is bound")
        #expect(throws: SQLiteError.self) {
            try insert.lending([1]) { lent in try lent.bind(blob: 0..<1, at: 2) }
        }
        try insert.lending([4]) { lent in
            try lent.bind(blob: 0..<1, at: 1)
            try insert.runBound()
        }
        #expect(try connection.query("SELECT a FROM filled") { $0.blob(0) } == [[4]])
    }

    @Test func partsOfTwoBuffersAreBoundAtOnce() throws {
        let insert = try connection.prepare("INSERT INTO t VALUES (1, ?1, ?2)")
        try insert.lending([1, 2, 3]) { keys in
            for value: [UInt8] in [[7], [8, 9]] {
                try keys.bind(blob: 1..<3, at: 1)
                try insert.lending(value) { values in
                    try values.bind(blob: 0..<value.count, at: 2)
                    try insert.runBound()
                }
            }
        }
        let found = try connection.query("SELECT a, b FROM t ORDER BY b") { [$0.blob(0), $0.blob(1)] }
        #expect(found == [[[2, 3], [7]], [[2, 3], [8, 9]]])
    }

    @Test func aClosedConnectionRefuses() throws {
        let other = try SQLiteConnection(path: ":memory:")
        let statement = try other.prepare("SELECT ?1")
        let error = #expect(throws: SQLiteError.self) {
            try statement.lending([1]) { lent in
                other.close()
                try lent.bind(blob: 0..<1, at: 1)
            }
        }
        #expect(error?.code == .misuse)
    }

    @Test func aPartOutsideOfTheBytesIsAMistakeOfOurs() async {
        await #expect(processExitsWith: .failure) {
            let connection = try SQLiteConnection(path: ":memory:")
            defer { connection.close() }
            let statement = try connection.prepare("SELECT ?1")
            try statement.lending([1, 2]) { lent in try lent.bind(blob: 1..<3, at: 1) }
        }
    }
}
