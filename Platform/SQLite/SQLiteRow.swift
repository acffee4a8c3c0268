import CPowerSyncSQLite

/// The current row of a statement; valid until the statement steps or is reset.
///
/// Columns are numbered from 0. The typed readers convert as SQLite does.
package struct SQLiteRow {
    let statement: OpaquePointer

    /// The number of columns.
    package var count: Int { Int(sqlite3_data_count(statement)) }

    /// Returns the value with the storage class it has.
    package subscript(_ column: Int) -> SQLiteValue {
        switch sqlite3_column_type(statement, Int32(column)) {
        case SQLITE_INTEGER: .integer(int64(column))
        case SQLITE_FLOAT: .real(double(column))
        case SQLITE_TEXT: .text(string(column))
        case SQLITE_BLOB: .blob(bytes(column))
        default: .null
        }
    }

    /// Whether the value is SQL NULL.
    package func isNull(_ column: Int) -> Bool {
        sqlite3_column_type(statement, Int32(column)) == SQLITE_NULL
    }

    /// Returns the value as an integer, 0 for NULL.
    package func int64(_ column: Int) -> Int64 { sqlite3_column_int64(statement, Int32(column)) }

    /// Returns the value as an integer, nil for NULL.
    package func integer(_ column: Int) -> Int64? { isNull(column) ? nil : int64(column) }

    /// Returns the value as a double, 0 for NULL.
    package func double(_ column: Int) -> Double { sqlite3_column_double(statement, Int32(column)) }

    /// Returns the value as text, nil for NULL.
    package func text(_ column: Int) -> String? { isNull(column) ? nil : string(column) }

    /// Returns the value as text, empty for NULL.
    package func string(_ column: Int) -> String {
        guard let start = sqlite3_column_text(statement, Int32(column)) else { return "" }
        let count = Int(sqlite3_column_bytes(statement, Int32(column)))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    /// Returns the value as bytes, nil for NULL.
    package func blob(_ column: Int) -> [UInt8]? { isNull(column) ? nil : bytes(column) }

    /// Lends the bytes of a blob, or of a text; of a number those of its text; empty for NULL.
    ///
    /// - Parameters:
    ///   - column: The column, from 0.
    ///   - body: The use; the bytes are gone when the statement steps or is reset.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func withBlob<T>(_ column: Int, _ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        // First the bytes, which may have to be made, then their number.
        let start = sqlite3_column_blob(statement, Int32(column))
        let count = start == nil ? 0 : Int(sqlite3_column_bytes(statement, Int32(column)))
        return try body(UnsafeRawBufferPointer(start: start, count: count))
    }

    /// Returns how many bytes a text or a blob has, without making or copying them; 0 for any other value.
    package func byteCount(_ column: Int) -> Int {
        switch sqlite3_column_type(statement, Int32(column)) {
        case SQLITE_TEXT, SQLITE_BLOB: Int(sqlite3_column_bytes(statement, Int32(column)))
        default: 0
        }
    }

    /// Returns the name of a column as the query spells it.
    package func name(_ column: Int) -> String {
        sqlite3_column_name(statement, Int32(column)).map { String(cString: $0) } ?? ""
    }

    private func bytes(_ column: Int) -> [UInt8] { withBlob(column) { [UInt8]($0) } }
}

@available(*, unavailable)
extension SQLiteRow: Sendable {}
