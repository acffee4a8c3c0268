import PowerSyncPostgres
import PowerSyncSQLite

/// The number of a replication stream: one for each deployed configuration (service 7.2).
package typealias StreamNumber = Int64

/// Where a replication stream stands.
package struct StreamRecord: Sendable, Equatable {
    /// Its number.
    package let number: StreamNumber
    /// The replication slot on the source.
    package let slot: String
    /// Whether it is the one that clients are served from.
    package var isActive: Bool
    /// Whether every table has been read.
    package var isSnapshotDone: Bool
    /// No checkpoint is published before the log has passed this.
    package var noCheckpointBefore: LSN
    /// Whether rows are stored that are newer than the log, up to a position that is not known yet; none is published.
    package var isAhead: Bool
    /// The end of the last transaction that was applied.
    package var appliedLSN: LSN
    /// The last operation that was written, published or not.
    package var lastOperation: Int64
    /// The published checkpoint.
    package var checkpoint: StoredCheckpoint
}

/// A published checkpoint: all changes up to the position are in operations up to the id (service 0).
package struct StoredCheckpoint: Sendable, Hashable {
    /// The last operation that belongs to it.
    package let operation: Int64
    /// The position in the source's log.
    package let lsn: LSN

    /// Makes a checkpoint.
    package init(operation: Int64, lsn: LSN) {
        self.operation = operation
        self.lsn = lsn
    }
}

/// The state of the service in one SQLite file; it survives the end of the process at any moment.
package final class ServiceStore: Sendable {
    let pool: SQLitePool

    /// Opens the file, which is made if it is missing.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - readers: How many streams can read at once.
    /// - Returns: The store.
    /// - Throws: `SQLiteError`, or `StoreError` for the file of another version.
    package static func open(path: String, readers: Int = 4) async throws -> ServiceStore {
        let pool = try await SQLitePool.open(path: path, readers: readers) { connection, isWriter in
            try StoreSchema.configure(connection, isWriter: isWriter)
            if isWriter { try StoreSchema.prepare(connection) }
        }
        return ServiceStore(pool: pool)
    }

    private init(pool: SQLitePool) { self.pool = pool }

    /// The size of the file in bytes.
    package func size() async throws -> Int64 {
        try await pool.read { connection in
            let pages = try connection.one("PRAGMA page_count") { $0.int64(0) } ?? 0
            return try connection.one("PRAGMA page_size") { $0.int64(0) * pages } ?? 0
        }
    }

    /// Closes the file once accepted work is done.
    package func close() async { await pool.close() }

    /// The newest stream of a configuration that has not been stopped.
    package func stream(configHash: String) async throws -> StreamRecord? {
        try await pool.read { connection in
            let sql =
                "SELECT \(Self.columns) FROM replication_stream WHERE state <> 'stopped' AND config_hash = ? "
                + "ORDER BY id DESC LIMIT 1"
            return try connection.one(sql, [.text(configHash)]) { Self.record($0) }
        }
    }

    /// The stream of a configuration that clients are served from.
    package func activeStream(configHash: String) async throws -> StreamRecord? {
        try await pool.read { connection in
            let sql =
                "SELECT \(Self.columns) FROM replication_stream WHERE state = 'active' AND config_hash = ?"
            return try connection.one(sql, [.text(configHash)]) { Self.record($0) }
        }
    }

    /// One stream, as it is now.
    package func stream(_ number: StreamNumber) async throws -> StreamRecord {
        let record = try await pool.read { connection in
            try connection.one(
                "SELECT \(Self.columns) FROM replication_stream WHERE id = ?", [.integer(number)]
            ) {
                Self.record($0)
            }
        }
        guard let record else { throw StoreError.noStream }
        return record
    }

    /// Adds a stream under the next number.
    ///
    /// - Parameters:
    ///   - configHash: Identifies the configuration's text.
    ///   - slot: Makes the slot's name of the number.
    /// - Returns: The stream.
    /// - Throws: `SQLiteError`.
    package func addStream(
        configHash: String, slot: @escaping @Sendable (StreamNumber) -> String
    ) async throws -> StreamRecord {
        let number = try await pool.write { connection in
            try connection.transaction {
                try connection.run(
                    "INSERT INTO replication_stream(config_hash, slot, state) VALUES (?, '', 'building')",
                    [.text(configHash)])
                let number = connection.lastInsertRowID
                try connection.run(
                    "UPDATE replication_stream SET slot = ? WHERE id = ?",
                    [.text(slot(number)), .integer(number)])
                return number
            }
        }
        return try await stream(number)
    }

    /// Makes a stream the one that clients are served from, and stops every other.
    package func activate(_ number: StreamNumber) async throws {
        try await pool.write { connection in
            try connection.transaction {
                try connection.run(
                    "UPDATE replication_stream SET state = 'stopped' WHERE id <> ?", [.integer(number)])
                try connection.run(
                    "UPDATE replication_stream SET state = 'active' WHERE id = ?", [.integer(number)])
            }
        }
    }

    /// The slots of stopped streams that may still be there.
    package func stoppedSlots() async throws -> [String] {
        try await pool.read { connection in
            try connection.query(
                "SELECT slot FROM replication_stream WHERE state = 'stopped' AND slot <> '' ORDER BY id"
            ) { $0.string(0) }
        }
    }

    /// Notes that a slot has been dropped.
    package func forgetSlot(_ slot: String) async throws {
        try await pool.write { connection in
            try connection.run("UPDATE replication_stream SET slot = '' WHERE slot = ?", [.text(slot)])
        }
    }

    /// Stops one stream.
    package func stop(_ number: StreamNumber) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE replication_stream SET state = 'stopped' WHERE id = ?", [.integer(number)])
        }
    }

    /// Deletes what stopped streams hold, a piece at a time so that writers and readers get their turn.
    package func removeStoppedData() async throws {
        let batch = 10_000
        let stopped = "(SELECT id FROM replication_stream WHERE state = 'stopped')"
        let steps = [
            "DELETE FROM operation WHERE op_id IN (SELECT op_id FROM operation WHERE bucket IN "
                + "(SELECT id FROM bucket WHERE stream IN \(stopped)) LIMIT \(batch))",
            "DELETE FROM source_row WHERE (source_table, replica_id) IN (SELECT source_table, replica_id "
                + "FROM source_row WHERE source_table IN (SELECT id FROM source_table WHERE stream IN \(stopped)) "
                + "LIMIT \(batch))",
            "DELETE FROM bucket WHERE id IN (SELECT id FROM bucket WHERE stream IN \(stopped) LIMIT \(batch))",
            "DELETE FROM source_table WHERE stream IN \(stopped)",
        ]
        for sql in steps {
            while try await pool.write({ connection in
                try connection.run(sql)
                return connection.changes
            }) == batch {}
        }
    }

    static let columns =
        "id, slot, state, snapshot_done, no_checkpoint_before, is_ahead, applied_lsn, last_op, checkpoint_op, "
        + "checkpoint_lsn"

    static func record(_ row: SQLiteRow) -> StreamRecord {
        StreamRecord(
            number: row.int64(0), slot: row.string(1), isActive: row.string(2) == "active",
            isSnapshotDone: row.int64(3) != 0, noCheckpointBefore: lsn(row.int64(4)),
            isAhead: row.int64(5) != 0, appliedLSN: lsn(row.int64(6)), lastOperation: row.int64(7),
            checkpoint: StoredCheckpoint(operation: row.int64(8), lsn: lsn(row.int64(9))))
    }

    static func lsn(_ stored: Int64) -> LSN { LSN(rawValue: UInt64(bitPattern: stored)) }

    static func value(_ lsn: LSN) -> SQLiteValue { .integer(Int64(bitPattern: lsn.rawValue)) }
}
