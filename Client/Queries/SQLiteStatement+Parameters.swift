import PowerSyncSQLite

extension SQLiteStatement {
    /// Binds the parameters of an app: missing ones are NULL, too many are SQLite's range error (client-api 1.4).
    func bind(padding values: [SQLiteValue]) throws(SQLiteError) {
        var values = values
        while values.count < parameterCount { values.append(.null) }
        try bind(values)
    }
}

extension PowerSyncError {
    /// Runs a statement of an app and turns what it throws into what the app is told.
    ///
    /// - Parameters:
    ///   - connection: where it runs.
    ///   - body: prepares and runs it.
    /// - Returns: what `body` returns.
    /// - Throws: as ``wrapping(_:)``; for a text that cannot be run, `operationFailed` with `.invalidStatement`.
    static func wrapping<T>(statementOn connection: SQLiteConnection, _ body: () throws -> T) throws -> T {
        try wrapping {
            do {
                return try body()
            } catch let error as SQLiteError where error.code == .misuse && !connection.isClosed {
                throw PowerSyncError(.invalidStatement, error.message)
            }
        }
    }
}
