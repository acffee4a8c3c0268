import PowerSyncSQLite
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The current row of a running query, as a mapper sees it.
final class RowCursor: StoredValueCursor, ByteCursor {
    private let statement: SQLiteStatement
    private var row: SQLiteRow?
    private(set) lazy var columnNames: [String: Int] = Dictionary(
        zip(statement.columnNames, 0...), uniquingKeysWith: { _, last in last })
    private(set) lazy var allColumns = statement.columnNames
    // Not of `columnNames`, in which two names that are only spelled alike are one.
    private(set) lazy var namedColumns: [(name: String, index: Int)] = Dictionary(
        zip(statement.columnNames.map { ExactText($0) }, 0...), uniquingKeysWith: { _, last in last }
    ).map { (name: $0.key.text, index: $0.value) }.sorted { $0.index < $1.index }
    // Asked for when there is a row: the first step prepares the statement again if the schema has changed.
    private(set) lazy var columnCount = statement.columnCount

    init(_ statement: SQLiteStatement) { self.statement = statement }

    /// Lets a mapper read the row that the statement has just found.
    func map<T>(_ mapper: (any SqlCursor) throws -> T) throws -> T {
        row = try statement.row()
        defer { row = nil }
        return try mapper(self)
    }

    func getBoolean(index: Int) throws(SqlCursorError) -> Bool {
        try required(index, getBooleanOptional(index: index))
    }

    func getBooleanOptional(index: Int) -> Bool? { value(index) { $0.int64(index) != 0 } }

    func getDouble(index: Int) throws(SqlCursorError) -> Double {
        try required(index, getDoubleOptional(index: index))
    }

    func getDoubleOptional(index: Int) -> Double? { value(index) { $0.double(index) } }

    func getInt(index: Int) throws(SqlCursorError) -> Int {
        try required(index, getIntOptional(index: index))
    }

    func getIntOptional(index: Int) -> Int? { value(index) { Int(truncatingIfNeeded: $0.int64(index)) } }

    func getInt64(index: Int) throws(SqlCursorError) -> Int64 {
        try required(index, getInt64Optional(index: index))
    }

    func getInt64Optional(index: Int) -> Int64? { value(index) { $0.int64(index) } }

    func getString(index: Int) throws(SqlCursorError) -> String {
        try required(index, getStringOptional(index: index))
    }

    func getStringOptional(index: Int) -> String? { value(index) { $0.string(index) } }

    func bytes(index: Int) -> Data? { value(index) { $0.withBlob(index) { Data($0) } } }
    func storedValue(index: Int) -> SQLiteValue { value(index) { $0[index] } ?? .null }
    func byteCount(index: Int) -> Int { value(index) { $0.byteCount(index) } ?? 0 }

    private func value<T>(_ index: Int, _ read: (SQLiteRow) -> T) -> T? {
        guard let row else { preconditionFailure("A cursor must not be used after its mapper has returned") }
        guard index >= 0, index < columnCount, !row.isNull(index) else { return nil }
        return read(row)
    }

    private func required<T>(_ index: Int, _ value: T?) throws(SqlCursorError) -> T {
        if let value { return value }
        let isValid = index >= 0 && index < columnCount
        throw .nullValueFound(isValid ? "\(index)" : "invalid index \(index)")
    }
}
