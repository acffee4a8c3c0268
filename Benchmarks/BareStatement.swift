import CPowerSyncSQLite

/// A prepared statement as a C program uses it: nothing is copied, nothing is looked up.
///
/// Bound texts must stay where they are until the statement has run.
struct BareStatement {
    private let statement: OpaquePointer

    /// Prepares one statement; `finalize` gives it back.
    ///
    /// - Throws: `BenchmarkError` with SQLite's message.
    init(_ sql: String, on connection: OpaquePointer) throws {
        var prepared: OpaquePointer?
        let status = sqlite3_prepare_v2(connection, sql, -1, &prepared, nil)
        guard status == SQLITE_OK, let prepared else { throw Self.error(connection) }
        statement = prepared
    }

    /// Gives the statement back.
    func finalize() { sqlite3_finalize(statement) }

    /// Binds a part of a buffer as text.
    func bind(_ index: Int32, _ bytes: UnsafeBufferPointer<UInt8>, _ range: Range<Int>) {
        guard let start = bytes.baseAddress else { return }
        let text = UnsafeRawPointer(start + range.lowerBound).assumingMemoryBound(to: CChar.self)
        sqlite3_bind_text(statement, index, text, Int32(range.count), nil)
    }

    /// Binds an integer.
    func bind(_ index: Int32, _ integer: Int64) { sqlite3_bind_int64(statement, index, integer) }

    /// Binds a double.
    func bind(_ index: Int32, _ double: Double) { sqlite3_bind_double(statement, index, double) }

    /// Runs to the end, reading the first `columns` columns of each row as C would.
    ///
    /// - Returns: the number of rows.
    /// - Throws: `BenchmarkError` with SQLite's message.
    @discardableResult
    func run(columns: Int32 = 0) throws -> Int {
        var rows = 0
        var status = sqlite3_step(statement)
        while status == SQLITE_ROW {
            rows += 1
            for column in 0..<columns where sqlite3_column_text(statement, column) != nil {
                _ = sqlite3_column_bytes(statement, column)
            }
            status = sqlite3_step(statement)
        }
        sqlite3_reset(statement)
        guard status == SQLITE_DONE else { throw Self.error(sqlite3_db_handle(statement)) }
        return rows
    }

    private static func error(_ connection: OpaquePointer?) -> BenchmarkError {
        BenchmarkError(
            connection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) } ?? "SQLite failed")
    }
}
