import CPowerSyncSQLite

/// Binding and reading texts as bytes, for loops over very many rows.
extension SQLiteStatement {
    /// Binds a text without copying it.
    ///
    /// - Parameters:
    ///   - text: Valid UTF-8; it stays where it is, unchanged, until the statement has run to its end or another
    ///     value is bound.
    ///   - index: The parameter, from 1.
    /// - Throws: SQLite's error; `.misuse` after the connection closed.
    package func bind(uncopied text: UnsafeBufferPointer<UInt8>, at index: Int) throws(SQLiteError) {
        let start = UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self)
        try check(
            sqlite3_bind_text64(
                try live(), Int32(index), start ?? emptyText, UInt64(text.count), nil, UInt8(SQLITE_UTF8)))
    }

    /// Binds an integer.
    ///
    /// - Parameters:
    ///   - integer: The value.
    ///   - index: The parameter, from 1.
    /// - Throws: SQLite's error; `.misuse` after the connection closed.
    package func bind(_ integer: Int64, at index: Int) throws(SQLiteError) {
        try check(sqlite3_bind_int64(try live(), Int32(index), integer))
    }

    /// Runs to the end with what is bound and resets; for statements that return no rows.
    ///
    /// - Throws: SQLite's error; `.misuse` after the connection closed.
    package func runBound() throws(SQLiteError) {
        defer { reset() }
        while try step() {}
    }

    private func check(_ result: Int32) throws(SQLiteError) {
        if result != SQLITE_OK { throw failure(result) }
    }
}

extension SQLiteRow {
    /// Lends the bytes of a text to `body`; empty for NULL.
    ///
    /// - Parameters:
    ///   - column: The column, from 0.
    ///   - body: The use; the bytes are gone when the statement steps or is reset.
    /// - Returns: What `body` returns.
    package func withText<T>(
        _ column: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> T
    ) rethrows -> T {
        let start = sqlite3_column_text(statement, Int32(column))
        let count = start == nil ? 0 : Int(sqlite3_column_bytes(statement, Int32(column)))
        return try body(UnsafeBufferPointer(start: start, count: count))
    }
}

extension SQLiteConnection {
    /// Lends a statement of the cache until it is given back.
    ///
    /// - Parameter sql: One statement.
    /// - Returns: The statement, reset and with nothing bound.
    /// - Throws: SQLite's error; `.misuse` if the text holds no statement or several.
    package func borrow(_ sql: String) throws(SQLiteError) -> SQLiteStatement { try cached(sql) }

    /// Takes back a statement that ``borrow(_:)`` lent.
    ///
    /// - Parameter statement: The statement; the caller no longer uses it.
    package func giveBack(_ statement: SQLiteStatement) { statement.recycle() }
}
