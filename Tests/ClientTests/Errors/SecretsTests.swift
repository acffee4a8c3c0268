import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Tokens, passwords and keys stay out of what is shown.
@Suite(.patient()) struct SecretsTests {
    private func check(
        _ error: PowerSyncError?, _ end: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let error = try #require(error, sourceLocation: sourceLocation)
        let text = try #require(error.errorDescription, sourceLocation: sourceLocation)
        #expect(text.hasPrefix("SQLite failure (code "), "\(text)", sourceLocation: sourceLocation)
        #expect(text.hasSuffix(end), "\(text)", sourceLocation: sourceLocation)
        #expect(!shownTexts(of: error).contains("secret"), sourceLocation: sourceLocation)
    }

    @Test func aStatementThatSetsAKeyIsNotShownWithIt() async throws {
        let other = try TestDatabase()
        let changing = await #expect(throws: PowerSyncError.self) {
            try await other.database.execute("PRAGMA rekey = 'secret")
        }
        try check(changing, " for SQL: PRAGMA rekey …")
        let attaching = await #expect(throws: PowerSyncError.self) {
            try await other.database.execute("ATTACH DATABASE '/nowhere/x.db' AS x KEY 'secret'")
        }
        try check(attaching, " for SQL: ATTACH DATABASE '/nowhere/x.db' AS x KEY …")
        try await other.database.close()
    }

    @Test(
        arguments: [
            ("PRAGMA key = 'secret'", "PRAGMA key …"), ("pragma main.hexkey='00'", "pragma main.hexkey …"),
            ("/* x */ PRAGMA \"textkey\"('secret')", "/* x */ PRAGMA \"textkey …"),
            ("SELECT key FROM pragma_table_info", nil), ("PRAGMA foreign_keys = ON", nil),
            ("INSERT INTO t (key) VALUES ('x')", nil),
        ] as [(String, String?)])
    func sqlIsCutOffBeforeAKey(_ sql: String, _ shown: String?) {
        #expect(ShownText.sqlWithoutKey(sql) == shown)
    }

    /// SQLite would do nothing, and the file be readable for all.
    @Test(arguments: [
        "PRAGMA key = 'secret'", "PRAGMA main.key = 'secret'", "PRAGMA hexkey='00'",
        "pragma \"textkey\"('secret')",
        "PRAGMA main . rekey = 'secret'", "PRAGMA hexrekey='00'", "-- of the app\nPRAGMA key = 'secret'",
        "/* of\nthe app */ PRAGMA/**/key = 'secret'", "PRAGMA foreign_keys = ON; PRAGMA key = 'secret'",
        "ATTACH DATABASE ':memory:' AS x KEY 'secret'",
    ])
    func aKeyWithoutACipherIsRefused(_ statement: String) async throws {
        let test = try TestDatabase(initialStatements: [statement])
        let error = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
        #expect(error?.code == .invalidArgument)
        #expect(error?.errorDescription?.contains("knows no encryption") == true)
    }

    @Test(arguments: [
        "PRAGMA foreign_keys = ON", "PRAGMA foreign_keys = ON; CREATE TEMP TABLE t (key TEXT PRIMARY KEY)",
        "CREATE TEMP TABLE keys (key TEXT)",
    ])
    func whatOnlySpeaksOfAKeyIsNot(_ statement: String) async throws {
        let test = try TestDatabase(initialStatements: [statement])
        #expect(try await test.count("users") == 0)
    }

    @Test(arguments: [
        ("https://a.example/base", "https://a.example/base"),
        ("https://user:secret@a.example/base?x=y", "https://a.example/base?x=y"),
        ("https://user:se@cret@a.example", "https://a.example"), ("no address", "no address"),
        ("https://user:sec/ret@a.example/base", "https://a.example/base"),
        ("https://user:se?c#ret@a.example", "https://a.example"), ("user:secret@a.example", "a.example"),
        ("https://user:secret@\u{301}a.example", "https://\u{301}a.example"),
    ])
    func anAddressIsShownWithoutItsPassword(_ address: String, _ shown: String) {
        #expect(ShownText.address(address) == shown)
    }

    /// A debugger, or a crash report that looks at values, shows no key and no token.
    @Test func aDatabaseShowsNothingOfWhatItKeeps() async throws {
        let test = try TestDatabase(initialStatements: ["SELECT 'secret'"])
        try await test.insertUser("A")
        let transaction = try #require(try await test.database.getNextCrudTransaction())
        let stream = test.database.syncStream(name: "a", params: nil)
        for value in [test.database, transaction, stream] as [Any] {
            #expect(!shownTexts(of: value).contains("secret"))
        }
        let context = try await test.database.writeLock { connection in
            try connection.execute(sql: "PRAGMA rekey = 'secret'", parameters: [])
            return shownTexts(of: connection)
        }
        #expect(!context.contains("secret"))
        try await test.database.close()
        let bench = try ConnectedBench()
        try await bench.connect()
        _ = try await bench.stream()
        #expect(!shownTexts(of: bench.database).contains("test-token"))
        try await bench.database.close()
    }
}
