import PowerSyncSQLite
import Testing

struct SQLiteBorrowingTests {
    private let owner: SQLiteConnection

    init() throws { owner = try SQLiteConnection(path: ":memory:") }

    @Test func whatBorrowsAConnectionIsFoundAsLongAsThatIsOpen() throws {
        #expect(try SQLiteConnection.borrower(of: owner.pointer) == nil)
        weak var weakly: SQLiteConnection?
        do {
            let borrowed = try SQLiteConnection.borrow(owner.pointer)
            weakly = borrowed
            #expect(borrowed !== owner && borrowed.pointer == owner.pointer)
        }
        #expect(weakly != nil, "the owner's connection keeps it")
        #expect(try SQLiteConnection.borrower(of: owner.pointer) === weakly)
        owner.close()
        #expect(weakly == nil)
    }

    @Test func oneThatHasClosedIsNotFoundAndMakesRoomForAnother() throws {
        let first = try SQLiteConnection.borrow(owner.pointer)
        try first.run("SELECT 1")
        first.close()
        #expect(try SQLiteConnection.borrower(of: owner.pointer) == nil)
        let second = try SQLiteConnection.borrow(owner.pointer)
        #expect(try SQLiteConnection.borrower(of: owner.pointer) === second)
        #expect(try second.one("SELECT 1") { $0.int64(0) } == 1)
        // Its statements would keep the owner's connection.
        second.close()
    }

    /// SQL that reaches the function by chance, or means harm, cannot make a pointer.
    @Test(arguments: ["NULL", "1", "'x'", "zeroblob(8)"])
    func sqlCannotAsk(_ argument: String) throws {
        _ = try SQLiteConnection.borrow(owner.pointer)
        #expect(try owner.one("SELECT powersync_swift_borrower(\(argument)) IS NULL") { $0.int64(0) } == 1)
    }

    @Test func aConnectionIsFoundInATransactionOfItsOwner() throws {
        let borrowed = try SQLiteConnection.borrow(owner.pointer)
        try owner.execute("CREATE TABLE t (a)")
        try owner.transaction {
            try owner.run("INSERT INTO t VALUES (1)")
            #expect(try SQLiteConnection.borrower(of: owner.pointer) === borrowed)
            #expect(borrowed.isInTransaction)
        }
    }

    @Test func hooksGoWithTheBorrowerAlone() throws {
        let borrowed = try SQLiteConnection.borrow(owner.pointer)
        try owner.execute("CREATE TABLE t (a)")
        var tables: SQLiteCommittedTables? = SQLiteCommittedTables(of: borrowed)
        try owner.run("INSERT INTO t VALUES (1)")
        #expect(tables?.drain() == ["t"])
        tables = nil
        borrowed.close()
        // The borrower goes, and its hooks with it, while the connection lives on.
        _ = try SQLiteConnection.borrow(owner.pointer)
        try owner.run("INSERT INTO t VALUES (2)")
        #expect(try owner.one("SELECT count(*) FROM t") { $0.int64(0) } == 2)
    }

    @Test func whatComesBeforeTheFirstStatementComesOnce() throws {
        var calls = 0
        owner.beforeFirstStatement = { calls += 1 }
        try owner.execute("CREATE TABLE t (a)")
        #expect(calls == 0, "a script keeps no statement")
        for value in 0..<3 { try owner.run("INSERT INTO t VALUES (\(value))") }
        #expect(calls == 1)
    }

    @Test func whatFailsBeforeTheFirstStatementIsTriedAgain() throws {
        var calls = 0
        owner.beforeFirstStatement = { () throws(SQLiteError) in
            calls += 1
            if calls < 3 { throw SQLiteError(code: .busy, message: "busy") }
        }
        for _ in 0..<2 { #expect(throws: SQLiteError.self) { try owner.run("SELECT 1") } }
        try owner.run("SELECT 1")
        #expect(calls == 3)
    }

    // MARK: Lending

    @Test func aTransactionThatWasOpenBeforeStaysOpen() throws {
        struct OfTheCaller: Error {}
        try owner.execute("BEGIN")
        try owner.lend { try owner.run("SELECT 1") }
        #expect(throws: OfTheCaller.self) { try owner.lend { throw OfTheCaller() } }
        #expect(owner.isInTransaction)
        try owner.execute("COMMIT")
    }

    @Test func aTransactionThatIsLeftOpenIsRolledBack() throws {
        struct OfTheCaller: Error {}
        let error = #expect(throws: SQLiteError.self) { try owner.lend { try owner.run("BEGIN") } }
        #expect(error?.code == .misuse)
        #expect(!owner.isInTransaction)
        #expect(throws: OfTheCaller.self) {
            try owner.lend {
                try owner.run("BEGIN")
                throw OfTheCaller()
            }
        }
        #expect(!owner.isInTransaction)
    }
}
