import PowerSyncSQLite

/// Makes the functions and virtual tables of PowerSync available to connections that the SDK does not open.
///
/// They are part of this package and no file that SQLite could load. So they are registered with SQLite instead
/// (`sqlite3_auto_extension`): each connection has them that is opened from now on in this process, by whomever,
/// through the copy of SQLite that this package links. Repeating it changes nothing. A pool for
/// ``OpenedPowerSyncDatabase(schema:pool:identifier:logger:)`` does without: call it to write into synced tables
/// through connections that PowerSync is not lent.
///
/// - Returns: nil: there is nothing for `sqlite3_load_extension`.
/// - Throws: `PowerSyncError` where SQLite refuses, as the system's copy of Apple does.
public func resolvePowerSyncLoadableExtensionPath() throws(PowerSyncError) -> String? {
    do throws(SQLiteError) {
        try SQLiteAutoExtension.register { connection, message, _ in
            SQLiteAutoExtension.run(on: connection, message) { _ = try BorrowedConnection.install(on: $0) }
        }
    } catch {
        throw PowerSyncError(error)
    }
    return nil
}
