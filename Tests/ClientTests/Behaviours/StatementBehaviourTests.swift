import Foundation
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// As an app declares it for its own ids.
extension UUID: PowerSyncDataTypeConvertible {
    /// The id as text.
    public var psDataType: PowerSyncDataType? { .string(uuidString) }
}

/// Client-api 7 A: what the tests beside their sources do not say of it.
@Suite(.patient())
struct StatementBehaviourTests {
    /// What tells the threads of the database apart.
    private static var thread: String { "\(pthread_self())" }

    @Test("An inserted row is read by the names of its columns", .behaviour(1))
    func anInsertedRowIsRead() async throws {
        let database = try TestDatabase().database
        try await database.execute(
            sql: "INSERT INTO users (id, name, email) VALUES (?, ?, ?)",
            parameters: ["1", "Test User", "test@example.com"])
        let user: (String, String, String) = try await database.get(
            sql: "SELECT id, name, email FROM users WHERE id = ?", parameters: ["1"]
        ) {
            (
                try $0.getString(name: "id"), try $0.getString(name: "name"),
                try $0.getString(name: "email")
            )
        }
        #expect(user == ("1", "Test User", "test@example.com"))
    }

    @Test("A statement on a missing table fails with exactly this text", .behaviour(2))
    func aMissingTableIsNamed() async throws {
        let database = try TestDatabase().database
        let sql = "INSERT INTO usersfail (id, name, email) VALUES (?, ?, ?)"
        let error = await #expect(throws: PowerSyncError.self) {
            try await database.execute(sql: sql, parameters: ["1", "Test User", "test@example.com"])
        }
        let text = "SQLite failure (code 1): SQL logic error, no such table: usersfail for SQL: \(sql)"
        #expect(error?.errorDescription == text)
        #expect(error?.localizedDescription == text)
    }

    @Test("A type of the app can be a parameter, of an insert and of a query", .behaviour(7))
    func aTypeOfTheAppIsAParameter() async throws {
        let database = try TestDatabase().database
        let id = UUID()
        try await database.execute(
            sql: "INSERT INTO lists (id, name) VALUES (?, ?)", parameters: [id, "Groceries"])
        let found = try await database.get(sql: "SELECT id, name FROM lists WHERE id = ?", parameters: [id]) {
            [try $0.getString(name: "id"), try $0.getString(name: "name")]
        }
        #expect(found == [id.uuidString, "Groceries"])
        let other = try await database.getOptional(
            sql: "SELECT id FROM lists WHERE id = ?", parameters: [UUID()]
        ) { try $0.getString(index: 0) }
        #expect(other == nil)
    }

    @Test("A join over three tables returns the mapped row", .behaviour(10))
    func aJoinIsMapped() async throws {
        struct Joined: Equatable, Sendable {
            let user: String
            let task: String
            let comment: String
        }
        let test = try TestDatabase(
            schema: Schema(
                Table(name: "users", columns: [.text("name"), .text("email")]),
                Table(name: "tasks", columns: [.text("user_id"), .text("title"), .text("description")]),
                Table(name: "comments", columns: [.text("task_id"), .text("comment")])))
        try await test.database.writeTransaction { transaction in
            for sql in [
                "INSERT INTO users (id, name, email) VALUES ('u', 'Test User', 'test@example.com')",
                "INSERT INTO tasks (id, user_id, title) VALUES ('t', 'u', 'First task')",
                "INSERT INTO tasks (id, user_id, title) VALUES ('t2', 'nobody', 'Another task')",
                "INSERT INTO comments (id, task_id, comment) VALUES ('c', 't', 'A comment')",
            ] { try transaction.execute(sql: sql, parameters: []) }
        }
        let rows = try await test.database.getAll(
            """
            SELECT users.name AS user_name, tasks.title AS task_title, comments.comment AS comment
            FROM users JOIN tasks ON tasks.user_id = users.id JOIN comments ON comments.task_id = tasks.id
            """
        ) {
            Joined(
                user: try $0.getString(name: "user_name"), task: try $0.getString(name: "task_title"),
                comment: try $0.getString(name: "comment"))
        }
        #expect(rows == [Joined(user: "Test User", task: "First task", comment: "A comment")])
    }

    @Test("FALSE is a truth value, in a transaction, too", .behaviour(11))
    func falseIsATruthValue() async throws {
        let database = try TestDatabase().database
        let value: Bool = try await database.writeTransaction { transaction in
            try transaction.get(sql: "SELECT FALSE AS col", parameters: []) {
                try $0.getBoolean(name: "col")
            }
        }
        #expect(value == false)
    }

    @Test(
        "The version is known right after the database is made",
        .behaviour(12), arguments: ["test.db", ":memory:"])
    func theVersionIsKnownAtOnce(_ name: String) async throws {
        let database = try TestDatabase(name: name).database
        let version = try await database.getPowerSyncVersion()
        #expect(version.hasPrefix("0.5."))
        let inSQL = try await database.get("SELECT powersync_rs_version()") { try $0.getString(index: 0) }
        #expect(inSQL == version)
    }

    @Test("Ten queries at once use all readers, and the writer is a thread beside them", .behaviour(14))
    func tenQueriesUseAllConnections() async throws {
        let database = try TestDatabase().database
        let gate = BlockingGate()
        let threads = Lock<Set<String>>([])
        try await withThrowingTaskGroup(of: Int.self) { group in
            defer { gate.open() }
            for number in 0..<10 {
                group.addTask {
                    try await database.get(sql: "SELECT ?", parameters: [number]) { cursor throws -> Int in
                        threads.withLock { _ = $0.insert(Self.thread) }
                        gate.wait()
                        return try cursor.getInt(index: 0)
                    }
                }
            }
            try await wait(for: "four readers at once") { gate.arrivals == 4 }
            try await database.writeLock { _ in threads.withLock { _ = $0.insert(Self.thread) } }
            #expect(threads.withLock { $0.count } == 5)
            gate.open()
            var numbers: Set<Int> = []
            for try await number in group { numbers.insert(number) }
            #expect(numbers == Set(0..<10))
        }
        // The other six were read by the same four.
        #expect(threads.withLock { $0.count } == 5)
        #expect(gate.arrivals == 10)
    }
}
