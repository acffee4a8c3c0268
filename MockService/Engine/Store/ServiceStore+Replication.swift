import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncWire

/// Where a stream stands while it is written.
extension ServiceStore {
    /// Publishes no checkpoint before the log has passed a position that was taken behind all rows that were read so far.
    ///
    /// - Parameters:
    ///   - stream: The stream, of which nothing is being written.
    ///   - lsn: The position, up to which the log is on the source's disk.
    ///   - isSnapshotDone: Whether that ends the initial snapshot.
    ///   - isAhead: Whether more is being read.
    /// - Throws: `SQLiteError`.
    package func holdCheckpoint(
        _ stream: StreamNumber, until lsn: LSN, isSnapshotDone: Bool = false, isAhead: Bool = false
    ) async throws {
        try await pool.write { connection in
            try Self.hold(
                stream, until: lsn, isSnapshotDone: isSnapshotDone, isAhead: isAhead, connection)
        }
    }

    /// The same within a transaction.
    static func hold(
        _ stream: StreamNumber, until lsn: LSN, isSnapshotDone: Bool, isAhead: Bool,
        _ connection: SQLiteConnection
    ) throws {
        try connection.run(
            "UPDATE replication_stream SET no_checkpoint_before = max(no_checkpoint_before, ?), "
                + "is_ahead = is_ahead AND ?, snapshot_done = max(snapshot_done, ?) WHERE id = ?",
            [value(lsn), .integer(isAhead ? 1 : 0), .integer(isSnapshotDone ? 1 : 0), .integer(stream)])
    }

    /// The stream that a transaction writes.
    ///
    /// - Parameters:
    ///   - number: The stream.
    ///   - connection: The one that writes.
    /// - Returns: Where it stands.
    /// - Throws: `SQLiteError`; `StoreError` if it is gone or stopped: its data is being deleted, and what is written now
    ///   would stay for ever.
    static func writable(_ number: StreamNumber, _ connection: SQLiteConnection) throws -> StreamRecord {
        let record = try connection.one(
            "SELECT \(columns) FROM replication_stream WHERE id = ?", [.integer(number)]
        ) { Self.record($0) }
        guard let record, !record.isStopped else { throw StoreError.noStream }
        return record
    }

    /// Notes how much is stored of a transaction that goes on.
    static func note(
        _ told: TransactionProgress, _ number: StreamNumber, _ connection: SQLiteConnection
    ) throws {
        try connection.run(
            "UPDATE replication_stream SET partial_lsn = ?, partial_position = ?, partial_changes = ? WHERE id = ?",
            [value(told.finalLSN), value(told.position), .integer(Int64(told.changes)), .integer(number)])
    }

    /// Makes a table ready to be evaluated.
    ///
    /// - Parameters:
    ///   - table: The table with its record.
    ///   - context: The stream.
    ///   - isRead: Whether its rows are read with the table, and not streamed.
    /// - Returns: The table with what the stream's configuration makes of its rows.
    /// - Throws: `SQLiteError`.
    package func plan(
        _ table: SourceTable, _ context: EvaluationContext, isRead: Bool = false
    ) async throws -> TablePlan {
        try await pool.write { connection in
            try connection.transaction {
                try TablePlan(
                    table, context.served, keepsLargeValues: table.keepsLargeValues, isRead: isRead
                ) {
                    try RowWriter.outputType(named: $0, connection)
                }
            }
        }
    }
}
