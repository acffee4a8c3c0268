import CPowerSyncSQLite

/// Bytes to which parameters of a statement are bound where they lie, without a copy.
///
/// ``SQLiteStatement/lending(_:_:)`` lends them. Parts are named by their places alone and nothing can be kept, so that what
/// SQLite reads is there as long as it reads it.
package struct SQLiteLentBytes: ~Copyable {
    private let statement: SQLiteStatement
    private let bytes: UnsafeRawBufferPointer

    init(of bytes: UnsafeRawBufferPointer, to statement: SQLiteStatement) {
        self.statement = statement
        self.bytes = bytes
    }

    /// Binds a part as a blob; without bytes it is an empty one, not NULL.
    ///
    /// - Parameters:
    ///   - part: Where it lies in the bytes; nil binds NULL.
    ///   - index: The parameter, from 1.
    /// - Throws: SQLite's error; `.misuse` after the connection closed.
    package func bind(blob part: Range<Int>?, at index: Int) throws(SQLiteError) {
        let pointer = try statement.live()
        guard let part else { return try check(sqlite3_bind_null(pointer, Int32(index))) }
        // A null pointer would bind NULL.
        if part.isEmpty { return try check(sqlite3_bind_zeroblob(pointer, Int32(index), 0)) }
        try check(
            sqlite3_bind_blob64(pointer, Int32(index), address(of: part), UInt64(part.count), nil))
    }

    /// Binds a part, which is valid UTF-8, as a text.
    ///
    /// - Parameters:
    ///   - part: Where it lies in the bytes; nil binds NULL.
    ///   - index: The parameter, from 1.
    /// - Throws: SQLite's error; `.misuse` after the connection closed.
    package func bind(text part: Range<Int>?, at index: Int) throws(SQLiteError) {
        let pointer = try statement.live()
        guard let part else { return try check(sqlite3_bind_null(pointer, Int32(index))) }
        let start = part.isEmpty ? emptyText : address(of: part)?.assumingMemoryBound(to: CChar.self)
        try check(
            sqlite3_bind_text64(
                pointer, Int32(index), start, UInt64(part.count), nil, UInt8(SQLITE_UTF8)))
    }

    private func address(of part: Range<Int>) -> UnsafeRawPointer? {
        precondition(
            part.lowerBound >= 0 && part.upperBound <= bytes.count,
            "a part outside of the bytes that are lent")
        return bytes.baseAddress?.advanced(by: part.lowerBound)
    }

    private func check(_ result: Int32) throws(SQLiteError) {
        if result != SQLITE_OK { throw statement.failure(result) }
    }
}

extension SQLiteStatement {
    /// Lends bytes to `body`, which binds parts of them, and whatever else, and steps the statement as often as it likes.
    ///
    /// Before this returns the statement is reset and nothing is bound any more, whoever has bound it. Two buffers are lent by
    /// two calls, one within the other, and a statement that has parts of both is stepped in the inner one.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - body: The use; rows of the statement must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws.
    package func lending<T>(
        _ bytes: [UInt8], _ body: (borrowing SQLiteLentBytes) throws -> T
    ) rethrows -> T {
        try bytes.withUnsafeBytes { buffer in
            defer { forgetBindings() }
            return try body(SQLiteLentBytes(of: buffer, to: self))
        }
    }
}
