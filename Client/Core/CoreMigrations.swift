import PowerSyncSQLite
import PowerSyncWire

/// Brings the internal tables of a database to a version (client-core 1.3).
package enum CoreMigrations {
    /// The version that this library reads and writes.
    package static let latest = 14

    /// Migrates up or down, one version after the other.
    ///
    /// Going down runs the statements that are stored in the database, whoever wrote them.
    ///
    /// - Parameters:
    ///   - connection: The writer with the core installed, in a transaction.
    ///   - target: The version to reach.
    /// - Throws: code 21 outside a transaction; 4 if a stored step does not lower the version; SQLite's errors.
    package static func migrate(_ connection: SQLiteConnection, to target: Int = latest) throws {
        try CoreExtension.of(connection).requireTransaction()
        guard target >= 1, target <= latest else {
            throw CoreError.argument("there is no version \(target)")
        }
        try connection.run(
            "CREATE TABLE IF NOT EXISTS ps_migration(id INTEGER PRIMARY KEY, down_migrations TEXT)")
        var current = try version(connection)
        let startsEmpty = current == 0
        while current > target {
            try stepDown(from: current, connection)
            let reached = try version(connection)
            if reached >= current {
                throw CoreError.abort("Down migration failed - version not updated from \(current)")
            }
            current = reached
        }
        for migration in Migration.all where migration.version > current && migration.version <= target {
            try migration.up(connection, startsEmpty)
            try connection.run(
                "INSERT INTO ps_migration(id, down_migrations) VALUES (?, ?)",
                [.integer(Int64(migration.version)), SQLiteValue(migration.storedDown)])
        }
        if target == latest { try removeKeyQuotes(connection) }
    }

    /// The version of a database; 0 without internal tables' rows.
    private static func version(_ connection: SQLiteConnection) throws -> Int {
        Int(try connection.one("SELECT ifnull(max(id), 0) FROM ps_migration") { $0.int64(0) } ?? 0)
    }

    private static func stepDown(from version: Int, _ connection: SQLiteConnection) throws {
        let stored = try connection.one(
            "SELECT down_migrations FROM ps_migration WHERE id = ?", [.integer(Int64(version))]
        ) { $0.text(0) }
        guard let stored = stored ?? nil else {
            throw CoreError.abort("Down migration failed - version not updated from \(version)")
        }
        let steps: JSON
        do { steps = try JSON.parse(stored) } catch { throw CoreError.corrupt(error.message) }
        for step in steps.arrayValue ?? [] {
            guard let sql = step["sql"]?.stringValue else {
                throw CoreError.corrupt("a stored down migration has no SQL text")
            }
            try connection.execute(sql)
        }
    }

    /// Repairs keys of early JavaScript SDKs, once for each file that has operations (client-core 5.5).
    private static func removeKeyQuotes(_ connection: SQLiteConnection) throws {
        let isDone = try connection.one("SELECT 1 FROM ps_kv WHERE key = ?", [.text(keyMark)]) { _ in true }
        let hasOperations = try connection.one("SELECT 1 FROM ps_oplog LIMIT 1") { _ in true }
        guard isDone == nil, hasOperations != nil else { return }
        try connection.run(
            """
            UPDATE ps_oplog SET key = powersync_remove_duplicate_key_encoding(key) \
            WHERE key GLOB '*"' AND powersync_remove_duplicate_key_encoding(key) IS NOT NULL
            """)
        try markKeys(connection)
    }

    /// Tells official JavaScript SDKs that the keys of this file are right.
    ///
    /// Without the mark the first one to open the file "repairs" the keys of all operations, which makes them NULL, and a
    /// row that the service deletes comes back. The database sets it before the first operation comes; the core alone
    /// does not, as the official one does not.
    ///
    /// - Parameter connection: The writer, migrated, in a transaction.
    /// - Throws: SQLite's errors.
    static func markKeys(_ connection: SQLiteConnection) throws {
        try connection.run("INSERT OR IGNORE INTO ps_kv(key, value) VALUES (?, '1')", [.text(keyMark)])
    }

    private static let keyMark = "powersync_js_migrated_subkeys"
}

/// One step between two versions of the internal tables.
struct Migration: Sendable {
    let version: Int
    /// Reaches the version; the flag tells whether the database was empty before the run.
    let up: @Sendable (SQLiteConnection, _ startsEmpty: Bool) throws -> Void
    /// Statements that lead back to the version before; nil for the first version, which has none.
    let down: [String]?

    init(_ version: Int, up: [String], down: [String]?) {
        self.init(version, down: down) { connection, _ in
            for sql in up { try connection.run(sql) }
        }
    }

    init(_ version: Int, down: [String]?, up: @escaping @Sendable (SQLiteConnection, Bool) throws -> Void) {
        self.version = version
        self.up = up
        self.down = down
    }

    /// What `ps_migration` keeps: it may be run by another library, long after this one is gone.
    var storedDown: String? {
        down.map { statements in
            let all = statements + ["DELETE FROM ps_migration WHERE id >= \(version)"]
            return JSON.array(all.map { .object([JSONMember("sql", .string($0))]) }).text
        }
    }

    /// Every step in order.
    static let all: [Migration] = early + [bucketIDs] + later
}
