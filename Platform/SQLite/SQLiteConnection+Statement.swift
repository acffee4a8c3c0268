extension SQLiteConnection {
    /// Lends a statement of the cache to `body`, which binds and steps it.
    ///
    /// - Parameters:
    ///   - sql: One statement.
    ///   - ignoringRest: Whether further statements of the text are left out instead of refused.
    ///   - body: The use; the statement must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; SQLite's error, `.misuse` if the text holds no statement or several.
    package func withStatement<T>(
        _ sql: String, ignoringRest: Bool = false, _ body: (SQLiteStatement) throws -> T
    ) throws -> T {
        let statement = try cached(sql, ignoringRest: ignoringRest)
        defer { statement.recycle() }
        return try body(statement)
    }
}
