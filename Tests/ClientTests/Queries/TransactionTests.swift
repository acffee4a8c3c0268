import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct TransactionTests {
    private static let insert = "INSERT INTO users (id, name) VALUES (?, ?)"

    @Test(.behaviour(21, 22, 26)) func writesOfATransactionAppearTogether() async throws {
        let test = try TestDatabase()
        try await test.database.writeTransaction { transaction in
            for index in 0..<100 {
                try transaction.execute(sql: Self.insert, parameters: ["a\(index)", "A"])
                try transaction.execute(sql: Self.insert, parameters: ["b\(index)", "B"])
            }
        }
        #expect(try await test.count("users") == 200)
        let counted = try await test.database.readTransaction {
            try $0.get(sql: "SELECT count(*) FROM users", parameters: []) { try $0.getInt(index: 0) }
        }
        #expect(counted == 200)
    }

    @Test func rowAndQueueEntryAreWrittenInTheSameTransaction() async throws {
        let test = try TestDatabase()
        let seen = try await test.database.writeTransaction { transaction in
            try transaction.execute(sql: Self.insert, parameters: ["1", "A"])
            return try transaction.get(
                sql: "SELECT (SELECT count(*) FROM ps_data__users), (SELECT count(*) FROM ps_crud)",
                parameters: []
            ) { [try $0.getInt(index: 0), try $0.getInt(index: 1)] }
        }
        #expect(seen == [1, 1])
        #expect(try await test.count("ps_crud") == 1)
    }

    @Test(.behaviour(24)) func failureLeavesNeitherRowsNorQueueEntries() async throws {
        let test = try TestDatabase()
        await #expect(throws: PowerSyncError.self) {
            try await test.database.writeTransaction { transaction in
                try transaction.execute(sql: Self.insert, parameters: ["1", "A"])
                try transaction.execute(sql: "INSERT INTO usersfail VALUES (1)", parameters: [])
            }
        }
        #expect(try await test.count("users") == 0)
        #expect(try await test.count("ps_crud") == 0)
    }

    @Test func anErrorOfTheCallbackRollsBackAndPassesUnchanged() async throws {
        let test = try TestDatabase()
        await #expect(throws: TestError(text: "stop")) {
            try await test.database.writeTransaction { transaction in
                try transaction.execute(sql: Self.insert, parameters: ["1", "A"])
                throw TestError(text: "stop")
            }
        }
        #expect(try await test.count("users") == 0)
    }

    @Test func aStatementThatRollsBackByItselfKeepsItsError() async throws {
        let test = try TestDatabase()
        try await test.database.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY)")
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.writeTransaction { transaction in
                try transaction.execute(sql: "INSERT INTO plain VALUES (1)", parameters: [])
                try transaction.execute(sql: "INSERT OR ROLLBACK INTO plain VALUES (1)", parameters: [])
            }
        }
        #expect(error?.errorDescription?.contains("UNIQUE constraint failed") == true)
        #expect(try await test.count("plain") == 0)
    }

    @Test(arguments: [
        "COMMIT", "end transaction;", "; -- done\n/* really */ commit", "ROLLBACK", "rollback transaction",
        " \u{0B}COMMIT",
    ])
    func aStatementThatWouldEndTheTransactionIsRefused(sql: String) async throws {
        let test = try TestDatabase()
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.writeTransaction { transaction in
                try transaction.execute(sql: Self.insert, parameters: ["1", "A"])
                try transaction.execute(sql: sql, parameters: [])
            }
        }
        #expect(error?.code == .invalidState)
        #expect(try await test.count("users") == 0)
        #expect(try await test.count("ps_crud") == 0)
        // Refused, it has ended nothing.
        try await test.database.writeTransaction { transaction in
            try transaction.execute(sql: Self.insert, parameters: ["1", "A"])
            #expect(throws: PowerSyncError.self) {
                _ = try transaction.getOptional(sql: sql, parameters: []) { _ in true }
            }
            try transaction.execute(sql: Self.insert, parameters: ["2", "B"])
        }
        #expect(try await test.count("users") == 2)
    }

    /// Each would be committed by itself.
    @Test func nothingRunsOnceAStatementHasRolledBack() async throws {
        let test = try TestDatabase()
        try await test.database.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY)")
        let texts = Lock<[String?]>([])
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.writeTransaction { transaction in
                try transaction.execute(sql: "INSERT INTO plain VALUES (1)", parameters: [])
                let errors = [
                    "INSERT OR ROLLBACK INTO plain VALUES (1)", "INSERT INTO plain VALUES (2)",
                    "INSERT INTO users (id, name) VALUES ('1', 'A')", "BEGIN",
                ].map { sql in
                    #expect(throws: PowerSyncError.self) {
                        try transaction.execute(sql: sql, parameters: [])
                    }
                }
                texts.withLock { $0 = errors.map { $0?.errorDescription } }
            }
        }
        let over = "The transaction is over, ended by one of its statements"
        #expect(texts.withLock { Array($0.dropFirst()) } == [over, over, over])
        #expect(error?.code == .invalidState && error?.errorDescription == over)
        for table in ["plain", "users", "ps_crud"] { #expect(try await test.count(table) == 0) }
    }

    @Test(.behaviour(27)) func anyValueIsReturned() async throws {
        let database = try TestDatabase().database
        let nothing = try await database.writeTransaction { _ in nil as Any? }
        #expect(nothing == nil)
        let text = try await database.writeTransaction { _ in "Hello" }
        #expect(text == "Hello")
    }

    @Test(.behaviour(25)) func writeLockKeepsWhatRanBeforeItsError() async throws {
        let test = try TestDatabase()
        await #expect(throws: TestError.self) {
            try await test.database.writeLock { connection in
                try connection.execute(sql: Self.insert, parameters: ["1", "A"])
                throw TestError(text: "stop")
            }
        }
        #expect(try await test.count("users") == 1)
    }

    @Test(.behaviour(26, 28)) func readersCannotWrite() async throws {
        let test = try TestDatabase()
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.readTransaction { transaction in
                _ = try transaction.get(sql: "SELECT 1", parameters: []) { try $0.getInt(index: 0) }
                try transaction.execute(sql: "DELETE FROM ps_kv", parameters: [])
            }
        }
        #expect(error?.errorDescription?.contains("attempt to write a readonly database") == true)
    }

    @Test(.behaviour(30)) func readTransactionSeesOneStateOfTheData() async throws {
        let test = try TestDatabase()
        try await test.insertUser("before")
        let wrote = BlockingGate()
        async let counts = test.database.readTransaction { transaction in
            let count = { @Sendable in
                try transaction.get(sql: "SELECT count(*) FROM users", parameters: []) {
                    try $0.getInt(index: 0)
                }
            }
            let before = try count()
            // This thread belongs to the reader; the write happens on the writer's.
            wrote.wait()
            return [before, try count()]
        }
        defer { wrote.open() }
        try await wait(for: "the first reading") { wrote.arrivals == 1 }
        try await test.insertUser("after")
        wrote.open()
        #expect(try await counts == [1, 1])
        #expect(try await test.count("users") == 2)
    }

    @Test func fourReadersRunAtOnce() async throws {
        let database = try TestDatabase().database
        let all = BlockingGate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { all.open() }
            for _ in 0..<4 { group.addTask { try await database.readLock { _ in all.wait() } } }
            try await wait(for: "four readers at once") { all.arrivals == 4 }
            all.open()
            try await group.waitForAll()
        }
    }

    @Test func transactionLeftOpenIsRolledBackAndLogged() async throws {
        let test = try TestDatabase()
        try await test.database.writeLock { connection in
            try connection.execute(sql: "BEGIN", parameters: [])
            try connection.execute(sql: Self.insert, parameters: ["1", "A"])
        }
        #expect(try await test.count("users") == 0)
        #expect(
            test.log.lines.contains {
                $0.severity == .error && $0.message.contains("left a transaction open")
            })
        try await test.insertUser("A")
        #expect(try await test.count("users") == 1)
    }

    @Test func transactionsDoNotNestButSavepointsDo() async throws {
        let test = try TestDatabase()
        try await test.database.writeTransaction { transaction in
            try transaction.execute(sql: Self.insert, parameters: ["1", "A"])
            let error = #expect(throws: PowerSyncError.self) {
                try transaction.execute(sql: "BEGIN", parameters: [])
            }
            let text = error?.errorDescription ?? ""
            #expect(text.contains("cannot start a transaction within a transaction"), "\(text)")
            try transaction.execute(sql: "SAVEPOINT part", parameters: [])
            try transaction.execute(sql: Self.insert, parameters: ["2", "B"])
            try transaction.execute(sql: "ROLLBACK TO part", parameters: [])
            try transaction.execute(sql: "RELEASE part", parameters: [])
        }
        #expect(try await test.count("users") == 1)
    }

    @Test func aTransactionThatIsAskedForInsideAnotherRunsBehindIt() async throws {
        let test = try TestDatabase()
        let database = test.database
        let inner = try await database.writeTransaction { transaction -> Task<Int, any Error> in
            let inner = Task {
                try await database.writeTransaction { transaction in
                    try transaction.get(sql: "SELECT count(*) FROM users", parameters: []) {
                        try $0.getInt(index: 0)
                    }
                }
            }
            try transaction.execute(sql: Self.insert, parameters: ["1", "A"])
            return inner
        }
        let seen = try await wait(forEndOf: inner)
        #expect(seen == 1)
    }

    @Test func contextIsOfNoUseElsewhereOrLater() async throws {
        let database = try TestDatabase().database
        let kept = Lock<(any ConnectionContext)?>(nil)
        try await database.writeLock { connection in
            kept.withLock { $0 = connection }
            let elsewhere = DispatchSemaphore(value: 0)
            Thread {
                #expect(throws: PowerSyncError.self) {
                    try connection.execute(sql: "SELECT 1", parameters: [])
                }
                elsewhere.signal()
            }.start()
            elsewhere.wait()
        }
        let error = #expect(throws: PowerSyncError.self) {
            try kept.withLock { $0 }?.execute(sql: "SELECT 1", parameters: [])
        }
        #expect(
            error?.errorDescription == "A ConnectionLeaseContext may not be used on multiple threads")
    }

    /// By this sync knows that it must not keep the writer for long.
    @Test func writesOfTheAppAreCounted() async throws {
        let database = try #require(try TestDatabase().database as? LocalDatabase)
        let pool = try await database.pool()
        let before = pool.countedWrites
        _ = try await database.execute("SELECT 1")
        try await database.writeTransaction { _ in }
        _ = try await database.getAll("SELECT 1") { try $0.getInt(index: 0) }
        #expect(pool.countedWrites == before + 2)
    }

    @Test func waitingForTheWriterCanBeCancelled() async throws {
        let database = try #require(try TestDatabase().database as? LocalDatabase)
        let pool = try #require(try await database.pool() as? SQLitePool)
        let release = BlockingGate()
        async let holder: Void = database.writeLock { _ in release.wait() }
        defer { release.open() }
        try await wait(for: "the writer to be held") { release.arrivals == 1 }
        let waiting = Task { try await database.execute("SELECT 1") }
        try await wait(for: "the task to wait") { pool.waitingWrites == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: waiting) }
        release.open()
        try await holder
        _ = try await database.execute("SELECT 1")
    }
}
