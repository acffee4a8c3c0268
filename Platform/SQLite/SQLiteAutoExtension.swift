import CPowerSyncSQLite

/// What each connection gets that is opened in this process, by whomever, through the same copy of SQLite.
package enum SQLiteAutoExtension {
    /// A function as SQLite calls it for a connection that has just been opened: the connection, the place for a
    /// message, and the functions of SQLite, which are those that are linked.
    package typealias EntryPoint =
        @convention(c) (
            _ connection: OpaquePointer?, _ message: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
            _ functions: OpaquePointer?
        ) -> Int32

    /// Has a function called for each connection that is opened from now on; repeating it does nothing.
    ///
    /// - Parameter entryPoint: The function; it must use ``run(on:_:_:)``, and must not leave an error on the
    ///   connection.
    /// - Throws: SQLite's error, as where it refuses such functions (the system's SQLite of Apple).
    package static func register(_ entryPoint: EntryPoint) throws(SQLiteError) {
        // SQLite declares the parameter as a function without arguments, and calls it with these three.
        let result = powersync_sqlite3_auto_extension(
            unsafeBitCast(entryPoint, to: (@convention(c) () -> Void).self))
        if result != SQLITE_OK { throw SQLiteError.last(nil, result: result) }
    }

    /// Runs the Swift side of a function that SQLite calls.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - message: The place for the message of an error.
    ///   - body: Makes the connection ready.
    /// - Returns: The result code for SQLite, with which opening fails unless it is 0.
    package static func run(
        on connection: OpaquePointer?, _ message: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
        _ body: (OpaquePointer) throws -> Void
    ) -> Int32 {
        guard let connection else { return SQLITE_MISUSE }
        do {
            try body(connection)
            return SQLITE_OK
        } catch {
            let (code, text) = report(error)
            message?.pointee = sqliteCopy(text)
            return code
        }
    }
}
