import Foundation
import PowerSync
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct CursorTests {
    private func read<T: Sendable>(
        _ sql: String, _ mapper: @escaping @Sendable (any SqlCursor) throws -> T
    ) async throws -> T {
        try await TestDatabase(name: ":memory:").database.get(sql, mapper: mapper)
    }

    @Test func valuesAreCoercedAsSQLiteDoes() async throws {
        try await read(
            "SELECT '110' AS count, 0 AS is_active, 1.1111 AS weight, 12 AS number, x'68C3A9' AS bytes"
        ) { cursor throws -> Void in
            #expect(try cursor.getInt(name: "count") == 110)
            #expect(try cursor.getBoolean(name: "is_active") == false)
            #expect(try cursor.getDouble(name: "weight") == 1.1111)
            #expect(try cursor.getString(name: "number") == "12")
            #expect(try cursor.getInt64(index: 0) == 110)
            #expect(try cursor.getString(name: "bytes") == "hé")
            #expect(cursor.columnCount == 5)
        }
    }

    @Test func nullIsNilForOptionalGetters() async throws {
        try await read("SELECT NULL AS a") { cursor throws -> Void in
            #expect(try cursor.getIntOptional(name: "a") == nil)
            #expect(try cursor.getInt64Optional(name: "a") == nil)
            #expect(try cursor.getBooleanOptional(name: "a") == nil)
            #expect(try cursor.getDoubleOptional(name: "a") == nil)
            #expect(try cursor.getStringOptional(name: "a") == nil)
            #expect(cursor.getIntOptional(index: 0) == nil)
        }
    }

    @Test func nullNamesTheColumnAsItWasAskedFor() async throws {
        try await read("SELECT NULL AS description") { cursor throws -> Void in
            let error = #expect(throws: SqlCursorError.self) { try cursor.getString(name: "description") }
            #expect(error?.localizedDescription == "SqlCursorError:nullValueFound:description")
            do throws(SqlCursorError) {
                _ = try cursor.getString(index: 0)
                Issue.record("The column is NULL")
            } catch {
                #expect("\(error)" == "nullValueFound(\"0\")")
            }
        }
    }

    @Test func unknownNamesAreAnErrorForEveryGetter() async throws {
        try await read("SELECT 1 AS id") { cursor throws -> Void in
            for get in [
                { try cursor.getString(name: "missing") },
                { try cursor.getStringOptional(name: "missing") ?? "" },
            ] {
                let error = #expect(throws: SqlCursorError.self) { try get() }
                #expect("\(String(describing: error))".contains("columnNotFound(\"missing\")"))
            }
        }
    }

    @Test func indexOutOfRangeIsNamed() async throws {
        try await read("SELECT 1") { cursor throws -> Void in
            #expect(cursor.getIntOptional(index: 7) == nil)
            #expect(cursor.getIntOptional(index: -1) == nil)
            do throws(SqlCursorError) {
                _ = try cursor.getInt(index: 7)
                Issue.record("There is no column 7")
            } catch {
                #expect("\(error)" == "nullValueFound(\"invalid index 7\")")
            }
        }
    }

    @Test func lastOfEqualNamesWins() async throws {
        try await read("SELECT 1 AS a, 2 AS a, 3 AS b") { cursor throws -> Void in
            #expect(try cursor.getInt(name: "a") == 2)
            #expect(cursor.columnNames == ["a": 1, "b": 2])
        }
    }
}
