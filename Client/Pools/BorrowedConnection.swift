import PowerSyncSQLite

/// Connections that the SDK has not opened.
enum BorrowedConnection {
    /// Returns our side of a connection, with the core and the functions of sync, which are installed once.
    ///
    /// - Parameter pointer: the open `sqlite3*`.
    /// - Returns: our side of it.
    /// - Throws: `SQLiteError`.
    static func of(_ pointer: OpaquePointer) throws(SQLiteError) -> SQLiteConnection {
        if let known = try SQLiteConnection.borrower(of: pointer) { return known }
        return try install(on: pointer)
    }

    /// Installs the core and the functions of sync on a connection that has neither.
    ///
    /// It does not read the file, and leaves no error on the connection: SQLite may be about to open it.
    ///
    /// - Parameter pointer: the open `sqlite3*`.
    /// - Returns: our side of the connection.
    /// - Throws: `SQLiteError`; the connection is as if it had never been borrowed then.
    static func install(on pointer: OpaquePointer) throws(SQLiteError) -> SQLiteConnection {
        let connection = try CoreExtension.install(borrowing: pointer).connection
        do throws(SQLiteError) {
            try SyncFunctions.register(on: connection)
        } catch {
            connection.close()
            throw error
        }
        return connection
    }
}
