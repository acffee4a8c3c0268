import Foundation
import PowerSync
import PowerSyncTestSupport
import Testing

struct TestError: Error, Equatable {
    let text: String
}

struct Badge: PowerSyncDataTypeConvertible, Sendable {
    let number: Int64?
    var psDataType: PowerSyncDataType? { number.map { .int64($0) } }
}

@Suite(.patient())
struct StatementTests {
    @Test(.behaviour(5)) func rowsAreReadByNameInTheirOrder() async throws {
        let test = try TestDatabase()
        for name in ["B", "A"] { try await test.insertUser(name) }
        let users: [(String, String)] = try await test.database.getAll(
            sql: "SELECT name, email FROM users ORDER BY name", parameters: nil
        ) { (try $0.getString(name: "name"), try $0.getString(name: "email")) }
        #expect(users.map(\.0) == ["A", "B"])
        #expect(users.map(\.1) == ["A@example.org", "B@example.org"])
    }

    @Test(.behaviour(3), arguments: ["execute", "get", "getOptional", "getAll"])
    func errorsTellCodeMessageAndStatement(_ call: String) async throws {
        let database = try TestDatabase().database
        let sql =
            call == "execute"
            ? "INSERT INTO usersfail (id) VALUES (?)" : "SELECT id FROM usersfail WHERE id = ?"
        let error = await #expect(throws: PowerSyncError.self) {
            switch call {
            case "execute": _ = try await database.execute(sql: sql, parameters: ["1"])
            case "get": _ = try await database.get(sql: sql, parameters: ["1"]) { try $0.getString(index: 0) }
            case "getOptional": _ = try await database.getOptional(sql: sql, parameters: ["1"]) { _ in 1 }
            default: _ = try await database.getAll(sql: sql, parameters: ["1"]) { _ in 1 }
            }
        }
        #expect(
            error?.errorDescription
                == "SQLite failure (code 1): SQL logic error, no such table: usersfail for SQL: \(sql)")
    }

    @Test(.behaviour(4)) func missingRowIsNilOrAnError() async throws {
        let test = try TestDatabase()
        let sql = "SELECT name FROM users WHERE id = ?"
        let missing = try await test.database.getOptional(sql: sql, parameters: ["9"]) {
            try $0.getString(index: 0)
        }
        #expect(missing == nil)
        let error = await #expect(throws: PowerSyncError.self) {
            try await test.database.get(sql: sql, parameters: ["9"]) { try $0.getString(index: 0) }
        }
        #expect(
            error?.errorDescription == "Expected \(sql) to return a row, but got an empty result set.")
        try await test.insertUser("Test User", id: "9")
        let found = try await test.database.getOptional(sql: sql, parameters: ["9"]) {
            try $0.getString(index: 0)
        }
        #expect(found == "Test User")
    }

    @Test(.behaviour(8)) func everyParameterTypeComesBackAsItWasBound() async throws {
        let database = try TestDatabase().database
        let nested: String? = nil
        let row = try await database.get(
            sql: "SELECT ?, ?, ?, ?, ?, ?, typeof(?), typeof(?), hex(?), ?, ?, ?",
            parameters: [
                nil, false, Int32(32), Int64.max, 3.25, "hello", Data(), Data([1, 2, 3]), Data([1, 2, 3]),
                nested,
                Badge(number: 7), Badge(number: nil),
            ]
        ) { cursor throws -> Int in
            #expect(cursor.getStringOptional(index: 0) == nil)
            #expect(try cursor.getBoolean(index: 1) == false)
            #expect(try cursor.getInt(index: 2) == 32)
            #expect(try cursor.getInt64(index: 3) == .max)
            #expect(try cursor.getDouble(index: 4) == 3.25)
            #expect(try cursor.getString(index: 5) == "hello")
            #expect(try cursor.getString(index: 6) == "blob")
            #expect(try cursor.getString(index: 7) == "blob")
            #expect(try cursor.getString(index: 8) == "010203")
            #expect(cursor.getStringOptional(index: 9) == nil)
            #expect(try cursor.getInt(index: 10) == 7)
            #expect(cursor.getIntOptional(index: 11) == nil)
            return cursor.columnCount
        }
        #expect(row == 12)
    }

    @Test func parametersOfOtherTypesAreRefused() async throws {
        let database = try TestDatabase().database
        let error = await #expect(throws: PowerSyncError.self) {
            try await database.execute(sql: "SELECT ?", parameters: [UInt8(1)])
        }
        #expect(
            error?.errorDescription
                == "Invalid parameter, expected Bool, String, Int64, Int32, Double or Data")
    }

    @Test func missingParametersAreNullAndSurplusOnesAnError() async throws {
        let database = try TestDatabase().database
        let second = try await database.get(sql: "SELECT ?2 IS NULL", parameters: ["a"]) {
            try $0.getBoolean(index: 0)
        }
        #expect(second)
        let error = await #expect(throws: PowerSyncError.self) {
            try await database.get(sql: "SELECT ?", parameters: ["a", "b"]) { _ in 1 }
        }
        guard case .sqliteError(let code, _, _, _, _) = error else {
            Issue.record("Not an error of SQLite: \(String(describing: error))")
            return
        }
        #expect(code == 25)
    }

    @Test func onlyTheFirstStatementRuns() async throws {
        let test = try TestDatabase()
        try await test.database.execute(
            "INSERT INTO lists (id, name) VALUES ('1', 'a;b'); DELETE FROM lists; SELECT 1")
        #expect(try await test.count("lists") == 1)
    }

    @Test(arguments: ["", "  ", "-- nothing", ";"])
    func textWithoutStatementIsRefused(_ sql: String) async throws {
        let database = try TestDatabase().database
        let error = await #expect(throws: PowerSyncError.self) { try await database.execute(sql) }
        guard case .operationFailed = error else {
            Issue.record("Not operationFailed: \(String(describing: error))")
            return
        }
    }

    @Test(.behaviour(6)) func mapperErrorsPassUnchanged() async throws {
        let database = try TestDatabase().database
        await #expect(throws: TestError(text: "cursor error")) {
            try await database.get("SELECT 1") { _ -> Int in throw TestError(text: "cursor error") }
        }
        let error = await #expect(throws: NSError.self) {
            try await database.getAll("SELECT 1") { _ -> Int in
                throw NSError(
                    domain: "TestError", code: 1, userInfo: [NSLocalizedDescriptionKey: "cursor error"])
            }
        }
        #expect(error?.localizedDescription == "cursor error")
    }

    @Test(.behaviour(29)) func queriesInsideAMapperWork() async throws {
        let database = try TestDatabase().database
        let doubled = try await database.readTransaction { transaction in
            try transaction.getAll(sql: "VALUES (1),(2),(3)", parameters: []) { cursor in
                try transaction.get(sql: "SELECT 2 * ?", parameters: [try cursor.getInt(index: 0)]) {
                    try $0.getInt(index: 0)
                }
            }
        }
        #expect(doubled == [2, 4, 6])
    }

    @Test func returningStatementRunsToItsEnd() async throws {
        let test = try TestDatabase()
        try await test.database.execute("CREATE TABLE plain (id INTEGER PRIMARY KEY, name TEXT)")
        let id = try await test.database.writeLock { connection in
            try connection.get(
                sql: "INSERT INTO plain (name) VALUES ('a'), ('b') RETURNING id", parameters: []
            ) { try $0.getInt(index: 0) }
        }
        #expect(id == 1)
        #expect(try await test.count("plain") == 2)
    }

    @Test func executeReturnsChangesOfPlainTables() async throws {
        let database = try TestDatabase().database
        try await database.execute("CREATE TABLE plain (name TEXT)")
        #expect(try await database.execute("INSERT INTO plain VALUES ('a'), ('b')") == 2)
    }

    @Test(.behaviour(9)) func fullTextSearchIsBuiltIn() async throws {
        let database = try TestDatabase().database
        let isThere = try await database.get("SELECT sqlite_compileoption_used('ENABLE_FTS5')") {
            try $0.getBoolean(index: 0)
        }
        #expect(isThere)
    }
}
