import PowerSyncSQLite

/// Tells a process that another one has removed the data, while it waited to sync or since it did (client-api 2.5).
enum ClearMark {
    private static let key = "powersync_swift_cleared"

    /// Leaves the mark of a clearing, another one each time.
    static func leave(_ connection: SQLiteConnection) throws {
        try connection.run(
            "INSERT OR REPLACE INTO ps_kv(key, value) VALUES (?1, uuid())", [.text(key)])
    }

    /// Returns the mark of the last clearing; nil if there was none.
    static func read(_ connection: SQLiteConnection) throws -> String? {
        try connection.one("SELECT value FROM ps_kv WHERE key = ?1", [.text(key)]) { $0.string(0) }
    }
}
