import Foundation
import PowerSync
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct StoredValuesTests {
    @Test func valuesKeepTheirStorageClassAndTheLastOfEqualNamesCounts() async throws {
        let test = try TestDatabase(name: ":memory:")
        let (names, values, beyond) = try await test.database.get(
            "SELECT 1 AS a, 2.0 AS b, 'x' AS c, x'00FF' AS d, NULL AS e, 9223372036854775807 AS a"
        ) { cursor in
            let stored = try #require(cursor as? any StoredValueCursor)
            let columns = stored.namedColumns
            return (
                columns.map(\.name), columns.map { stored.storedValue(index: $0.index) },
                stored.storedValue(index: 6)
            )
        }
        #expect(names == ["b", "c", "d", "e", "a"])
        #expect(values == [.real(2), .text("x"), .blob([0, 255]), .null, .integer(.max)])
        #expect(beyond == .null)
    }

    @Test func columnsWhoseNamesAreOnlySpelledAlikeAreTwo() async throws {
        let test = try TestDatabase(name: ":memory:")
        let names = try await test.database.get("SELECT 1 AS \u{e9}, 2 AS e\u{301}") { cursor in
            try #require(cursor as? any StoredValueCursor).namedColumns.map { Array($0.name.utf8) }
        }
        #expect(names == [Array("\u{e9}".utf8), Array("e\u{301}".utf8)])
    }

    @Test func aStatementGivesRowsIfItHasColumnsAndElseTheNumberOfChanges() async throws {
        let test = try TestDatabase(name: ":memory:")
        let outcomes = try await test.database.writeTransaction { transaction in
            let context = try #require(transaction as? any StatementContext)
            return try [
                "CREATE TABLE plain (v)", "INSERT INTO plain VALUES (1), (2)", "CREATE TABLE other (v)",
                "SAVEPOINT s", "CREATE TABLE copy AS SELECT v FROM plain",
                "UPDATE plain SET v = 9 WHERE v = 8",
                "UPDATE plain SET v = 3 WHERE v = 1 RETURNING v",
                "UPDATE plain SET v = 3 WHERE v = 1 RETURNING v", "SELECT v FROM plain ORDER BY v",
                "DELETE FROM plain", "INSERT INTO users (id, name) VALUES ('u', 'A')",
            ].map { sql in
                switch try context.outcome(
                    sql: sql, parameters: [], mapper: { try $0.getInt(index: 0) })
                {
                case .rows(let rows): "rows \(rows)"
                case .changes(let count): "changes \(count)"
                }
            }
        }
        #expect(
            outcomes == [
                "changes 0", "changes 2", "changes 0", "changes 0", "changes 0", "changes 0", "rows [3]",
                "rows []", "rows [2, 3]", "changes 2", "changes 0",
            ])
        #expect(try await test.count("users") == 1)
    }

    @Test func textsAndBlobsTellTheirBytes() async throws {
        let test = try TestDatabase(name: ":memory:")
        let counts = try await test.database.get(
            "SELECT 1, 2.5, 'é', x'0011', NULL, zeroblob(1000000), ''"
        ) { cursor in
            let stored = try #require(cursor as? any StoredValueCursor)
            return (0...7).map { stored.byteCount(index: $0) }
        }
        #expect(counts == [0, 0, 2, 2, 0, 1_000_000, 0, 0])
    }

    @Test func allColumnsAreNamedInTheirOrder() async throws {
        let test = try TestDatabase(name: ":memory:")
        let names = try await test.database.get("SELECT 1 AS a, 2 AS b, 3 AS a") { cursor in
            try #require(cursor as? any StoredValueCursor).allColumns
        }
        #expect(names == ["a", "b", "a"])
    }

    @Test func aTextWithSeveralStatementsIsRefusedAndNoneOfThemRuns() async throws {
        let test = try TestDatabase(name: ":memory:")
        try await test.database.execute("CREATE TABLE plain (v)")
        let database = test.database
        let run: @Sendable (String) async throws -> Void = { sql in
            try await database.writeLock { connection in
                let context = try #require(connection as? any StatementContext)
                _ = try context.outcome(sql: sql, parameters: [], mapper: { _ in })
            }
        }
        for rest in ["INSERT INTO plain VALUES (2)", "nonsense"] {
            let error = await #expect(throws: PowerSyncError.self) {
                try await run("INSERT INTO plain VALUES (1); \(rest)")
            }
            #expect(error?.code == .invalidStatement)
            #expect(error.map { "\($0)" }?.contains("the text holds more than one statement") == true)
        }
        #expect(try await test.count("plain") == 0)
        try await run("INSERT INTO plain VALUES (3); -- and no more")
        #expect(try await test.count("plain") == 1)
    }

    /// A database in memory has one connection for all, which writes.
    @Test(arguments: [true, false])
    func whatWritesIsRefusedWhereDataIsOnlyRead(isInMemory: Bool) async throws {
        let test = try isInMemory ? TestDatabase(name: ":memory:") : TestDatabase()
        let read: @Sendable (any ConnectionContext, String) throws -> Void = { connection, sql in
            let context = try #require(connection as? any StatementContext)
            try context.refuseWriting(sql: sql)
            _ = try context.outcome(sql: sql, parameters: [], mapper: { _ in })
        }
        let copy = test.folder.file("copy")
        for sql in [
            "INSERT INTO users (id, name) VALUES ('u', 'A')", "CREATE TABLE plain (v)", "VACUUM",
            "CREATE TEMP TABLE users AS SELECT 'u' AS id", "VACUUM INTO '\(copy)'",
        ] {
            let error = await #expect(throws: PowerSyncError.self) {
                try await test.database.readLock { try read($0, sql) }
            }
            #expect(error?.code == .readOnly)
            #expect(error?.errorDescription?.contains("attempt to write a readonly database") == true)
        }
        #expect(try await test.count("users") == 0)
        #expect(!FileManager.default.fileExists(atPath: copy))
        for sql in [
            "BEGIN", "; -- now\nbegin", "SAVEPOINT s", "COMMIT", "ATTACH ':memory:' AS other", "DETACH other",
            "PRAGMA case_sensitive_like = ON", "PRAGMA case_sensitive_like(1)",
        ] {
            // Of connections for reading there are four.
            for _ in 0..<4 {
                let error = await #expect(throws: PowerSyncError.self) {
                    try await test.database.readLock { try read($0, sql) }
                }
                #expect(error?.code == .readOnly)
                #expect(error?.errorDescription?.hasSuffix("with which others read, too") == true)
            }
        }
        for _ in 0..<4 {
            #expect(try await test.database.get("SELECT 'a' LIKE 'A'") { try $0.getBoolean(index: 0) })
        }
        for sql in [
            "SELECT * FROM users", "PRAGMA foreign_keys", "EXPLAIN DELETE FROM users",
            "PRAGMA main.table_info(users)", "PRAGMA \"table_xinfo\" ('users')", "PRAGMA quick_check(1)",
        ] {
            try await test.database.readLock { try read($0, sql) }
            try await test.database.readTransaction { try read($0, sql) }
        }
        // A connection that cannot write asks SQLite, which takes for a change what may be none.
        guard !isInMemory else { return }
        try await test.database.readLock { try read($0, "PRAGMA journal_mode") }
    }

    @Test func aWatchDoesNotWrite() async throws {
        let test = try TestDatabase(name: ":memory:")
        let database = try #require(test.database as? any StatementWatching)
        let results = try database.watch(
            options: WatchOptions(
                sql: "INSERT INTO users (id, name) VALUES ('u', 'A') RETURNING name", throttle: 0,
                mapper: { try $0.getString(index: 0) }), unless: { false }, before: {})
        let error = await #expect(throws: PowerSyncError.self) { for try await _ in results {} }
        #expect(error?.code == .readOnly)
        #expect(try await test.count("users") == 0)
    }

    /// The first question is answered with yes; without it the statement would not end.
    @Test(arguments: [false, true])
    func aStatementThatNobodyWantsEndsAndItsTransactionWithIt(isInTransaction: Bool) async throws {
        let test = try TestDatabase(name: ":memory:")
        let endless = """
            INSERT INTO plain WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c) SELECT n FROM c
            """
        try await test.database.execute("CREATE TABLE plain (v)")
        let run: @Sendable (any ConnectionContext) throws -> Void = { connection in
            let context = try #require(connection as? any StatementContext)
            if isInTransaction {
                _ = try context.outcome(sql: "INSERT INTO plain VALUES (1)", parameters: [], mapper: { _ in })
            }
            _ = try context.outcome(sql: endless, parameters: [], unless: { true }, mapper: { _ in })
        }
        let error = await #expect(throws: PowerSyncError.self) {
            if isInTransaction {
                try await test.database.writeTransaction { try run($0) }
            } else {
                try await test.database.writeLock { try run($0) }
            }
        }
        guard case .sqliteError(let code, _, _, _, _)? = error else {
            Issue.record("it was \(String(describing: error))")
            return
        }
        #expect(code == SQLiteError.Code.interrupt.rawValue)
        #expect(try await test.count("plain") == 0)
        // The connection goes on, and nobody is asked any more.
        try await test.database.execute("INSERT INTO plain VALUES (2)")
        #expect(try await test.count("plain") == 1)
    }

    /// Another process has the lock for as long as it likes.
    @Test func aWaitForAWriteElsewhereThatNobodyWantsEnds() async throws {
        let test = try TestDatabase()
        try await test.insertUser("A")
        let other = try SQLiteConnection(path: test.folder.file())
        try other.execute("BEGIN IMMEDIATE")
        let asked = Lock(0)
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.writeTransaction(
                unless: {
                    asked.withLock { count in
                        count += 1
                        return count > 3
                    }
                }, callback: { _ in })
        }
        #expect(error?.code == .databaseBusy)
        #expect(asked.withLock { $0 } == 4)
        // Others wait as long as before.
        let timeout = try await test.database.writeLock { connection in
            try connection.get(sql: "SELECT timeout FROM pragma_busy_timeout", parameters: []) {
                try $0.getInt(index: 0)
            }
        }
        #expect(timeout == 30_000)
        try other.execute("ROLLBACK")
        other.close()
        try await test.database.writeTransaction(unless: { false }) { transaction in
            _ = try transaction.execute(sql: "DELETE FROM users", parameters: [])
        }
        #expect(try await test.count("users") == 0)
    }

    /// The first question is answered with yes; without it there would never be a result.
    @Test func aWatchedQueryThatNobodyWantsEndsWithItsResults() async throws {
        let test = try TestDatabase(name: ":memory:")
        let database = try #require(test.database as? any StatementWatching)
        let endless = """
            WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c
            """
        let results = try database.watch(
            options: WatchOptions(sql: endless, throttle: 0, mapper: { try $0.getInt(index: 0) }),
            unless: { true }, before: {})
        let error = await #expect(throws: PowerSyncError.self) { for try await _ in results {} }
        guard case .sqliteError(let code, _, _, _, _)? = error else {
            Issue.record("it was \(String(describing: error))")
            return
        }
        #expect(code == SQLiteError.Code.interrupt.rawValue)
    }

    @Test func aWatchedQueryThatIsWantedHasItsResults() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? any StatementWatching)
        try await test.insertUser("A")
        let results = try database.watch(
            options: WatchOptions(
                sql: "SELECT name FROM users ORDER BY name", throttle: 0,
                mapper: { try $0.getString(index: 0) }), unless: { false }, before: {})
        var iterator = results.makeAsyncIterator()
        #expect(try await iterator.next() == ["A"])
        try await test.insertUser("B")
        #expect(try await iterator.next() == ["A", "B"])
    }

    @Test func aWatchedQueryCanBeHeldBackAndThenHasWhatChangedMeanwhile() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? any StatementWatching)
        let gates = [Gate(), Gate()]
        let runs = Lock(0)
        let results = try database.watch(
            options: WatchOptions(
                sql: "SELECT name FROM users ORDER BY name", throttle: 0,
                mapper: { try $0.getString(index: 0) }), unless: { false },
            before: {
                let run = runs.withLock { runs in
                    runs += 1
                    return runs
                }
                if run <= gates.count { await gates[run - 1].pass() }
            })
        let seen = Lock<[[String]]>([])
        let watching = Task {
            for try await names in results { seen.withLock { $0.append(names) } }
        }
        try await wait(for: "the query to be held back") { gates[0].arrivals == 1 }
        try await test.insertUser("A")
        gates[0].open()
        try await wait(for: "the first result") { seen.withLock { $0 } == [["A"]] }
        try await test.insertUser("B")
        try await wait(for: "the query to be held back again") { gates[1].arrivals == 1 }
        for name in ["C", "D"] { try await test.insertUser(name) }
        gates[1].open()
        try await wait(for: "the second result") { seen.withLock { $0.count } > 1 }
        // What came meanwhile is in it, and makes no further one.
        try await test.insertUser("E")
        try await wait(for: "the third result") { seen.withLock { $0.count } > 2 }
        #expect(seen.withLock { $0.map(\.count) } == [1, 4, 5])
        watching.cancel()
        try await wait(forEndOf: watching)
    }

    @Test func aStatementThatIsWantedIsNotDisturbed() async throws {
        let test = try TestDatabase(name: ":memory:")
        let asked = Lock(0)
        let rows = try await test.database.readLock { connection in
            let context = try #require(connection as? any StatementContext)
            let outcome = try context.outcome(
                sql: """
                    WITH RECURSIVE c(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c LIMIT 50000) SELECT n FROM c
                    """,
                parameters: [],
                unless: {
                    asked.withLock { $0 += 1 }
                    return false
                }, mapper: { try $0.getInt(index: 0) })
            guard case .rows(let rows) = outcome else { return 0 }
            return rows.count
        }
        #expect(rows == 50000)
        #expect(asked.withLock { $0 } > 0)
    }
}
