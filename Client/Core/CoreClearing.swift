import PowerSyncSQLite

/// Removing what was synced (client-core 4.1).
package enum CoreClearing {
    /// Also empties local-only tables.
    package static let includingLocalTables = 1
    /// Keeps the downloaded operations, so that the next sync applies them again instead of fetching them.
    package static let softly = 2

    /// Empties the tables, the upload queue and the sync state; the client id stays.
    ///
    /// - Parameters:
    ///   - flags: `includingLocalTables` and `softly`, added.
    ///   - connection: The writer, in a transaction.
    /// - Throws: code 21 outside a transaction; 3091 when clearing softly during a sync iteration.
    package static func clear(flags: Int, on connection: SQLiteConnection) throws {
        let core = try CoreExtension.of(connection)
        try core.requireTransaction()
        if flags & softly == 0 {
            for table in ["ps_oplog", "ps_buckets"] { try connection.deleteWithoutNotice(from: table) }
        } else {
            try requireNoIteration(core)
            try resetAppliedOperations(connection)
            try connection.run("DELETE FROM ps_buckets WHERE name = '$local'")
        }
        for table in ["ps_crud", "ps_untyped", "ps_updated_rows", "ps_stream_subscriptions", "ps_sync_state"]
        {
            try connection.run("DELETE FROM \(table)")
        }
        try connection.run("DELETE FROM ps_kv WHERE key <> 'client_id'")
        core.crud.forgetGate()
        for table in try DataTable.all(on: connection)
        where !table.isLocal || flags & includingLocalTables != 0 {
            let name = SQLText.identifier(table.internalName)
            // The first row tells watchers; all others go at once.
            try connection.run("DELETE FROM \(name) WHERE rowid IN (SELECT rowid FROM \(name) LIMIT 1)")
            try connection.deleteWithoutNotice(from: name)
        }
        try core.applyingSync {
            for table in core.rawTables {
                if let clear = table.clear { try connection.execute(clear) }
            }
        }
    }

    /// Makes the next complete checkpoint write every downloaded row again.
    ///
    /// - Parameters:
    ///   - clearProgress: Whether to forget what has been synced when.
    ///   - connection: The writer, in a transaction.
    /// - Throws: code 21 outside a transaction; 3091 during a sync iteration.
    package static func triggerResync(clearProgress: Bool, on connection: SQLiteConnection) throws {
        let core = try CoreExtension.of(connection)
        try core.requireTransaction()
        try requireNoIteration(core)
        try resetAppliedOperations(connection)
        // Rows that a later REMOVE takes away would otherwise not be looked at again.
        try connection.run(
            """
            INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) \
            SELECT row_type, row_id FROM ps_oplog WHERE row_type IS NOT NULL AND row_id IS NOT NULL
            """)
        if clearProgress {
            try connection.run("DELETE FROM ps_sync_state")
            try connection.run("UPDATE ps_stream_subscriptions SET last_synced_at = NULL")
        }
    }

    private static func resetAppliedOperations(_ connection: SQLiteConnection) throws {
        try connection.run("UPDATE ps_buckets SET last_applied_op = 0 WHERE name <> '$local'")
    }

    private static func requireNoIteration(_ core: CoreExtension) throws {
        if core.hasIteration {
            throw CoreError.argument("Cannot clear or trigger resync while a sync iteration is active.")
        }
    }
}
