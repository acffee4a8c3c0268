import CPowerSyncSQLite

/// One prepared statement of a connection.
///
/// Finalised when the last reference goes or when the connection closes, after which every use throws
/// `.misuse`. It belongs to whoever holds the connection.
package final class SQLiteStatement {
    /// The SQL text it was prepared from, without what followed and was ignored.
    package let sql: String
    /// Whether something followed in the text, be it white space, that nobody has looked at.
    let hasRest: Bool
    private unowned let connection: SQLiteConnection
    private var pointer: OpaquePointer?
    var isInUse = false
    var lastUse: UInt64 = 0

    init(_ pointer: OpaquePointer, sql: String, hasRest: Bool, connection: SQLiteConnection) {
        self.pointer = pointer
        self.sql = sql
        self.hasRest = hasRest
        self.connection = connection
    }

    deinit {
        guard let pointer else { return }
        sqlite3_finalize(pointer)
        connection.statementEnded()
        connection.forget(ObjectIdentifier(self))
    }

    func finalize() {
        sqlite3_finalize(pointer)
        pointer = nil
    }

    func live() throws(SQLiteError) -> OpaquePointer {
        guard let pointer else {
            throw SQLiteError(code: .misuse, message: "the connection is closed", sql: sql)
        }
        return pointer
    }

    func failure(_ result: Int32) -> SQLiteError { connection.lastError(result, sql: sql) }

    /// The number of parameters.
    package var parameterCount: Int { pointer.map { Int(sqlite3_bind_parameter_count($0)) } ?? 0 }

    /// The number of columns of its rows; 0 for a statement that returns none.
    package var columnCount: Int { pointer.map { Int(sqlite3_column_count($0)) } ?? 0 }

    /// The names of the columns.
    package var columnNames: [String] {
        guard let pointer else { return [] }
        return (0..<sqlite3_column_count(pointer)).map { index in
            sqlite3_column_name(pointer, index).map { String(cString: $0) } ?? ""
        }
    }

    /// Whether it changes nothing in the database file, as the EXPLAIN of a change.
    package var isReadOnly: Bool {
        pointer.map { sqlite3_stmt_readonly($0) != 0 || sqlite3_stmt_isexplain($0) != 0 } ?? true
    }

    /// Binds all parameters; their number must be the statement's.
    package func bind(_ parameters: [SQLiteValue]) throws(SQLiteError) {
        let pointer = try live()
        guard sqlite3_bind_parameter_count(pointer) == parameters.count else {
            throw SQLiteError(
                extendedCode: SQLITE_RANGE,
                message: "the statement has \(parameterCount) parameters, \(parameters.count) were given",
                sql: sql)
        }
        for (index, value) in parameters.enumerated() { try bind(value, at: index + 1) }
    }

    /// Binds one parameter; `index` starts at 1, as in SQL.
    package func bind(_ value: SQLiteValue, at index: Int) throws(SQLiteError) {
        let pointer = try live()
        let index = Int32(index)
        let result: Int32
        switch value {
        case .null: result = sqlite3_bind_null(pointer, index)
        case .integer(let integer): result = sqlite3_bind_int64(pointer, index, integer)
        case .real(let double): result = sqlite3_bind_double(pointer, index, double)
        case .text(var text):
            result = text.withUTF8 { utf8 in
                let start = UnsafeRawPointer(utf8.baseAddress)?.assumingMemoryBound(to: CChar.self)
                return sqlite3_bind_text64(
                    pointer, index, start ?? emptyText, UInt64(utf8.count), transient, UInt8(SQLITE_UTF8))
            }
        case .blob(let bytes):
            result =
                bytes.isEmpty
                ? sqlite3_bind_zeroblob(pointer, index, 0)
                : bytes.withUnsafeBytes { buffer in
                    sqlite3_bind_blob64(pointer, index, buffer.baseAddress, UInt64(buffer.count), transient)
                }
        }
        if result != SQLITE_OK { throw connection.lastError(result, sql: sql) }
    }

    /// Runs to the next row: true when there is one, false at the end.
    package func step() throws(SQLiteError) -> Bool {
        let pointer = try live()
        let result = sqlite3_step(pointer)
        switch result {
        case SQLITE_ROW: return true
        case SQLITE_DONE:
            connection.statementEnded()
            return false
        default:
            let error = connection.lastError(result, sql: sql, isRunning: true)
            sqlite3_reset(pointer)
            // What a statement did before it failed may be kept (ON CONFLICT FAIL).
            connection.statementEnded()
            throw error
        }
    }

    /// The row that `step` has just found.
    ///
    /// - Throws: `.misuse` after the connection closed.
    package func row() throws(SQLiteError) -> SQLiteRow { SQLiteRow(statement: try live()) }

    /// Returns to before the first row; bindings stay.
    package func reset() {
        guard let pointer else { return }
        // A failed step has already been reported; reset only repeats its code.
        sqlite3_reset(pointer)
        connection.statementEnded()
    }

    /// Binds all parameters and runs to the end, then resets; for statements used many times.
    package func run(_ parameters: [SQLiteValue] = []) throws(SQLiteError) {
        defer { reset() }
        try bind(parameters)
        while try step() {}
    }

    /// Forgets bound values, so that a cached statement keeps no large text alive.
    func recycle() {
        forgetBindings()
        isInUse = false
    }

    /// Resets and forgets bound values, of which some may lie where they will not stay.
    func forgetBindings() {
        guard let pointer else { return }
        reset()
        sqlite3_clear_bindings(pointer)
    }
}

@available(*, unavailable)
extension SQLiteStatement: Sendable {}
