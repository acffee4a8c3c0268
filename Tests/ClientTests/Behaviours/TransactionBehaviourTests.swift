import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 C: what the tests beside their sources do not say of it.
@Suite(.patient())
struct TransactionBehaviourTests {
    @Test("A statement that fails in a transaction tells what SQLite says", .behaviour(23))
    func aFailingStatementTellsWhatSQLiteSays() async throws {
        let database = try TestDatabase().database
        let sql = "INSERT INTO usersfail (id, name, email) VALUES (?, ?, ?)"
        let error = await #expect(throws: PowerSyncError.self) {
            try await database.writeTransaction { transaction in
                _ = try transaction.execute(sql: sql, parameters: ["1", "A", "a@example.org"])
            }
        }
        #expect(
            error?.errorDescription
                == "SQLite failure (code 1): SQL logic error, no such table: usersfail for SQL: \(sql)")
    }

    @Test(
        "Nobody else reads what an open transaction writes, and what it rolls back is never read",
        .behaviour(31), arguments: [true, false])
    func whatIsNotCommittedIsNotRead(isCommitted: Bool) async throws {
        let test = try TestDatabase()
        let database = test.database
        _ = try await test.count("users")
        let gate = BlockingGate()
        defer { gate.open() }
        let writing = Task {
            try await database.writeTransaction { transaction in
                try transaction.execute(
                    sql: "INSERT INTO users (id, name) VALUES ('1', 'A')", parameters: [])
                gate.wait()
                if !isCommitted { throw TestError(text: "undone") }
            }
        }
        try await wait(for: "the row to be written") { gate.arrivals == 1 }
        for _ in 0..<10 { #expect(try await test.count("users") == 0) }
        gate.open()
        if isCommitted {
            try await wait(forEndOf: writing)
        } else {
            await #expect(throws: TestError(text: "undone")) { try await wait(forEndOf: writing) }
        }
        for _ in 0..<10 { #expect(try await test.count("users") == (isCommitted ? 1 : 0)) }
    }

    @Test("An insert and a delete that are rolled back are no change", .behaviour(32))
    func noChange() async throws {
        let test = try TestDatabase()
        try await test.insertUser("A")
        let database = try #require(test.database as? LocalDatabase)
        // Filled before a write returns.
        let mailbox = database.changes.mailbox()
        await #expect(throws: TestError(text: "undone")) {
            try await database.writeTransaction { transaction in
                try transaction.execute(
                    sql: "INSERT INTO users (id, name) VALUES ('b', 'B')", parameters: [])
                try transaction.execute(sql: "DELETE FROM users", parameters: [])
                throw TestError(text: "undone")
            }
        }
        #expect(mailbox.drain().isEmpty)
        #expect(try await test.count("users") == 1)
        try await database.execute("DELETE FROM users")
        #expect(mailbox.drain().contains("ps_data__users"))
    }
}
