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

    @Test func bytesAreThoseThatAreStored() async throws {
        let stored = Data([0, 0xff, 0x68, 0xc3])
        let test = try TestDatabase(name: ":memory:")
        let row = try await test.database.get(
            sql: "SELECT ? AS blob, x'' AS empty, 'hé' AS text, 12 AS number, NULL AS missing",
            parameters: [stored]
        ) { cursor in
            #expect(try cursor.getData(index: 0) == stored)
            #expect(cursor.getDataOptional(index: 0) == stored)
            #expect(try cursor.getData(name: "empty") == Data())
            #expect(try cursor.getData(name: "text") == Data("hé".utf8))
            #expect(try cursor.getData(name: "number") == Data("12".utf8))
            #expect(try cursor.getDataOptional(name: "missing") == nil)
            #expect(cursor.getDataOptional(index: 9) == nil)
            return try cursor.getData(name: "blob")
        }
        #expect(row == stored, "it is a copy")
    }

    @Test func bytesThatAreMissingAreNamedAsByEveryGetter() async throws {
        try await read("SELECT NULL AS a") { cursor throws -> Void in
            for (get, text) in [
                ({ try cursor.getData(index: 0) }, "nullValueFound(\"0\")"),
                ({ try cursor.getData(index: 7) }, "nullValueFound(\"invalid index 7\")"),
                ({ try cursor.getData(name: "a") }, "nullValueFound(\"a\")"),
                ({ try cursor.getData(name: "b") }, "columnNotFound(\"b\")"),
                ({ try cursor.getDataOptional(name: "b") ?? Data() }, "columnNotFound(\"b\")"),
            ] as [(() throws -> Data, String)] {
                let error = #expect(throws: SqlCursorError.self) { try get() }
                #expect(error.map { "\($0)" } == text)
            }
        }
    }

    /// The getters are no requirement of the protocol: cursors that apps have made keep compiling.
    @Test func aCursorOfTheAppGivesTheBytesOfItsTexts() throws {
        let cursor = TextCursor(texts: ["hé", nil])
        #expect(try cursor.getData(index: 0) == Data("hé".utf8))
        #expect(cursor.getDataOptional(index: 1) == nil)
        #expect(try cursor.getData(name: "0") == Data("hé".utf8))
        #expect(throws: SqlCursorError.self) { try cursor.getData(index: 1) }
        #expect(throws: SqlCursorError.self) { try cursor.getData(name: "2") }
    }

    @Test(.behaviour(17)) func nullIsNilForOptionalGetters() async throws {
        try await read("SELECT NULL AS a") { cursor throws -> Void in
            #expect(try cursor.getIntOptional(name: "a") == nil)
            #expect(try cursor.getInt64Optional(name: "a") == nil)
            #expect(try cursor.getBooleanOptional(name: "a") == nil)
            #expect(try cursor.getDoubleOptional(name: "a") == nil)
            #expect(try cursor.getStringOptional(name: "a") == nil)
            #expect(cursor.getIntOptional(index: 0) == nil)
        }
    }

    @Test(.behaviour(19)) func nullNamesTheColumnAsItWasAskedFor() async throws {
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

    @Test(.behaviour(18)) func unknownNamesAreAnErrorForEveryGetter() async throws {
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

/// A cursor as an app makes one for its tests; its columns are named by their numbers.
private struct TextCursor: SqlCursor {
    let texts: [String?]

    private func required<T>(_ index: Int, _ value: T?) throws(SqlCursorError) -> T {
        guard let value else { throw .nullValueFound("\(index)") }
        return value
    }

    func getBooleanOptional(index: Int) -> Bool? { getIntOptional(index: index).map { $0 != 0 } }
    func getDoubleOptional(index: Int) -> Double? { texts[index].flatMap { Double($0) } }
    func getIntOptional(index: Int) -> Int? { texts[index].flatMap { Int($0) } }
    func getInt64Optional(index: Int) -> Int64? { texts[index].flatMap { Int64($0) } }
    func getStringOptional(index: Int) -> String? { texts[index] }

    func getBoolean(index: Int) throws(SqlCursorError) -> Bool {
        try required(index, getBooleanOptional(index: index))
    }
    func getDouble(index: Int) throws(SqlCursorError) -> Double {
        try required(index, getDoubleOptional(index: index))
    }
    func getInt(index: Int) throws(SqlCursorError) -> Int {
        try required(index, getIntOptional(index: index))
    }
    func getInt64(index: Int) throws(SqlCursorError) -> Int64 {
        try required(index, getInt64Optional(index: index))
    }
    func getString(index: Int) throws(SqlCursorError) -> String {
        try required(index, getStringOptional(index: index))
    }

    var columnCount: Int { texts.count }
    var columnNames: [String: Int] {
        Dictionary(uniqueKeysWithValues: texts.indices.map { ("\($0)", $0) })
    }
}
