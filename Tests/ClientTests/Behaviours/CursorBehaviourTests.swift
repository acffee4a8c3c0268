import PowerSync
import PowerSyncTestSupport
import Testing

/// Client-api 7 B: what the tests beside their sources do not say of it.
@Suite(.patient())
struct CursorBehaviourTests {
    /// A database with one row, whose number is stored as text.
    private func database() async throws -> any PowerSyncDatabaseProtocol {
        let test = try TestDatabase(
            schema: Schema(
                Table(
                    name: "users",
                    columns: [.text("count"), .integer("is_active"), .real("weight"), .text("description")])))
        try await test.database.execute(
            sql: "INSERT INTO users (id, count, is_active, weight, description) VALUES (?, ?, ?, ?, ?)",
            parameters: ["1", "110", 0, 1.1111, "a user"])
        return test.database
    }

    @Test("Stored values are read by name as what is asked for", .behaviour(15)) func byName() async throws {
        try await database().get("SELECT * FROM users") { cursor throws -> Void in
            #expect(try cursor.getInt(name: "count") == 110)
            #expect(try cursor.getInt64(name: "count") == 110)
            #expect(try cursor.getString(name: "count") == "110")
            #expect(try cursor.getBoolean(name: "is_active") == false)
            #expect(try cursor.getDouble(name: "weight") == 1.1111)
            #expect(try cursor.getString(name: "description") == "a user")
        }
    }

    @Test("The same by index, and without try where nothing is required", .behaviour(16))
    func byIndex() async throws {
        let sql = "SELECT count, is_active, weight, description FROM users"
        try await database().get(sql) { cursor throws -> Void in
            #expect(try cursor.getInt(index: 0) == 110)
            #expect(try cursor.getBoolean(index: 1) == false)
            #expect(try cursor.getDouble(index: 2) == 1.1111)
            #expect(try cursor.getString(index: 3) == "a user")
            let count = cursor.getIntOptional(index: 0)
            let long = cursor.getInt64Optional(index: 0)
            let isActive = cursor.getBooleanOptional(index: 1)
            let weight = cursor.getDoubleOptional(index: 2)
            let description = cursor.getStringOptional(index: 3)
            #expect(count == 110 && long == 110)
            #expect(isActive == false)
            #expect(weight == 1.1111)
            #expect(description == "a user")
        }
    }

    @Test("A mapper need not throw", .behaviour(20)) func aMapperNeedNotThrow() async throws {
        let database = try TestDatabase(name: ":memory:").database
        let mapper: @Sendable (any SqlCursor) -> String = { $0.getStringOptional(index: 0) ?? "none" }
        #expect(try await database.get("SELECT 'a'", mapper: mapper) == "a")
        #expect(try await database.getOptional("SELECT NULL", mapper: mapper) == "none")
        #expect(try await database.getAll("VALUES ('a'), (NULL)", mapper: mapper) == ["a", "none"])
        var results = try database.watch("SELECT 'a'", mapper: mapper).makeAsyncIterator()
        #expect(try await results.next() == ["a"])
    }
}
