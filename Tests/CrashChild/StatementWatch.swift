import CPowerSyncSQLite

/// Tells after each SQL statement of a connection that may write whether a transaction that writes is open.
///
/// It hooks into every connection that SQLite opens, so that the client itself is the one that ships.
enum StatementWatch {
    // Safe because it is set once, before the first connection is opened.
    nonisolated(unsafe) private static var progress: SharedProgress?

    /// Starts watching the connections that are opened from now on.
    static func start(_ shared: SharedProgress) {
        progress = shared
        let entry: @convention(c) (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> Int32 = {
            connection, _, _ in
            sqlite3_trace_v2(
                connection, UInt32(SQLITE_TRACE_PROFILE),
                { _, _, statement, _ in
                    StatementWatch.ended(OpaquePointer(statement))
                    return 0
                }, nil)
            return SQLITE_OK
        }
        sqlite3_auto_extension(unsafeBitCast(entry, to: (@convention(c) () -> Void).self))
    }

    private static func ended(_ statement: OpaquePointer?) {
        guard let progress, let connection = sqlite3_db_handle(statement) else { return }
        guard sqlite3_db_readonly(connection, "main") == 0 else { return }
        progress.statements += 1
        progress.isWriting = sqlite3_txn_state(connection, "main") == SQLITE_TXN_WRITE
    }
}
