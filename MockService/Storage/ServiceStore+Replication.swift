import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncWire

/// What rows are evaluated and converted with.
package struct EvaluationContext: Sendable {
    /// The stream that is written.
    package let stream: StreamNumber
    let evaluator: RowEvaluator
    let converter: ValueConverter
    /// Is called now and then while much is written at once.
    let progress: @Sendable () -> Void

    /// Makes a context.
    package init(
        stream: StreamNumber, config: CompiledSyncConfig, progress: @escaping @Sendable () -> Void = {}
    ) {
        self.stream = stream
        self.progress = progress
        evaluator = RowEvaluator(config)
        converter = ValueConverter(options: config.conversion)
    }
}

/// What became of a batch of changes.
package struct ApplyResult: Sendable {
    /// The newly published checkpoint, if there is one.
    package var checkpoint: StoredCheckpoint?
    /// Rows that have to be read again from the source.
    package var incomplete: [IncompleteRow]
    /// What an operator should know.
    package var warnings: [String]
}

extension ServiceStore {
    /// Writes a batch of changes in one SQLite transaction, durable when this returns.
    ///
    /// A checkpoint is published at the last `committed` of the batch, if the snapshot is complete and the
    /// log has passed
    /// `noCheckpointBefore`. What follows that event belongs to a transaction that goes on: it is stored, and
    /// not visible.
    ///
    /// - Parameters:
    ///   - events: The changes, in the order of the log.
    ///   - context: The stream and what rows are evaluated with.
    ///   - isAhead: Whether the rows were read from the source, and so are newer than the log. From now on nothing is
    ///     published, also after a crash, until `holdCheckpoint` says up to which position.
    /// - Returns: What became of it.
    /// - Throws: `SQLiteError`; then nothing was written.
    package func apply(
        _ events: [ReplicationEvent], _ context: EvaluationContext, isAhead: Bool = false
    ) async throws -> ApplyResult {
        try await pool.write { connection in
            try connection.transaction {
                let before = try Self.required(context.stream, connection)
                // Its data is being deleted: what is written now would stay for ever.
                guard !before.isStopped else { throw StoreError.noStream }
                let writer = try RowWriter(connection, context)
                var committed: (lsn: LSN, operation: Int64)?
                for event in events {
                    switch event {
                    case .change(let table, let change): try writer.apply(change, to: table)
                    case .truncate(let table): try writer.truncate(table)
                    case .committed(let lsn): committed = (lsn, writer.lastOperation)
                    }
                }
                try writer.finish()
                // The rest of a transaction of which a row is missing is stored: it must not be published with the ones
                // before it, should reading the row again fail.
                if isAhead || !writer.incomplete.isEmpty {
                    try connection.run(
                        "UPDATE replication_stream SET is_ahead = 1 WHERE id = ?", [.integer(context.stream)])
                }
                var result = ApplyResult(incomplete: writer.incomplete, warnings: writer.warnings)
                guard let committed else { return result }
                // Ids are shared by all streams, so only what this one wrote moves its checkpoint.
                let written = committed.operation > writer.firstOperation ? committed.operation : 0
                let operation = max(before.checkpoint.operation, before.lastOperation, written)
                // A row that has yet to be read again is not applied; after a crash the transaction comes
                // again.
                guard writer.incomplete.isEmpty else { return result }
                result.checkpoint = try Self.commit(committed.lsn, operation: operation, before, connection)
                return result
            }
        }
    }

    private static func commit(
        _ lsn: LSN, operation: Int64, _ before: StreamRecord, _ connection: SQLiteConnection
    ) throws -> StoredCheckpoint? {
        try connection.run(
            "UPDATE replication_stream SET applied_lsn = ? WHERE id = ?",
            [value(lsn), .integer(before.number)])
        guard before.isSnapshotDone, !before.isAhead, lsn >= before.noCheckpointBefore else { return nil }
        try connection.run(
            "UPDATE replication_stream SET checkpoint_op = ?, checkpoint_lsn = ? WHERE id = ?",
            [.integer(operation), value(lsn), .integer(before.number)])
        return StoredCheckpoint(operation: operation, lsn: lsn)
    }

    private static func required(_ number: StreamNumber, _ connection: SQLiteConnection) throws
        -> StreamRecord
    {
        let record = try connection.one(
            "SELECT \(columns) FROM replication_stream WHERE id = ?", [.integer(number)]
        ) { Self.record($0) }
        guard let record else { throw StoreError.noStream }
        return record
    }

    /// Finds the record of a table; nil if there is none that fits.
    package func table(
        matching description: TableDescription, types: TypeCatalog, _ context: EvaluationContext
    ) async throws -> SourceTable? {
        try await records(context.stream).first { $0.fits(description) }?.table(description, types)
    }

    /// Finds the record of a table, or makes one.
    ///
    /// A record of the same relation or name that does not fit any more, because another table took the name,
    /// or the
    /// identity changed, is replaced: all its rows are removed (service 4.8).
    ///
    /// - Parameters:
    ///   - description: What the source says of the table.
    ///   - types: The types of its columns.
    ///   - context: The stream.
    ///   - anew: Whether a record that fits is replaced, too.
    /// - Returns: The table; its snapshot is to be made if it is not done.
    /// - Throws: `SQLiteError`.
    package func resolve(
        _ description: TableDescription, types: TypeCatalog, _ context: EvaluationContext, anew: Bool = false
    ) async throws -> SourceTable {
        var match: SourceTable?
        for record in try await records(context.stream) {
            let other = record.description
            let isSameName =
                ExactText(other.schema) == ExactText(description.schema)
                && ExactText(other.name) == ExactText(description.name)
            guard isSameName || other.oid == description.oid else { continue }
            if record.fits(description), !anew {
                match = record.table(description, types)
            } else {
                try await replace(record, context)
            }
        }
        return if let match { match } else { try await add(description, types, context.stream) }
    }

    /// A record of the state file; of the columns only the identity's spelling is kept.
    private struct TableRecord: Sendable {
        let id: Int64
        let uuid: String
        let description: TableDescription
        let storedIdentity: String
        let isSnapshotDone: Bool
        let snapshotKey: String?
        let layout: TableLayout.Version

        func fits(_ other: TableDescription) -> Bool {
            description.isSameTable(as: other, identity: storedIdentity)
        }

        func table(_ description: TableDescription, _ types: TypeCatalog) -> SourceTable {
            var table = SourceTable(
                id: id, uuid: uuid, description: description, isSnapshotDone: isSnapshotDone,
                snapshotKey: snapshotKey, types: types)
            table.layout = layout
            return table
        }
    }

    private func records(_ stream: StreamNumber) async throws -> [TableRecord] {
        try await pool.read { connection in
            try connection.query(
                "SELECT id, uuid, oid, schema_name, name, identity, snapshot_done, snapshot_key, shape, layout_since "
                    + "FROM source_table "
                    + "WHERE stream = ? AND is_replaced = 0 ORDER BY id", [.integer(stream)]
            ) { row in
                TableRecord(
                    id: row.int64(0), uuid: row.string(1),
                    description: TableDescription(
                        oid: UInt32(truncatingIfNeeded: row.int64(2)), schema: row.string(3),
                        name: row.string(4),
                        columns: []),
                    storedIdentity: row.string(5), isSnapshotDone: row.int64(6) != 0,
                    snapshotKey: row.text(7),
                    layout: TableLayout.Version(shape: row.int64(8), since: Self.lsn(row.int64(9))))
            }
        }
    }

    private func add(
        _ description: TableDescription, _ types: TypeCatalog, _ stream: StreamNumber
    ) async throws -> SourceTable {
        let uuid = ReplicaID.random().text
        let id = try await pool.write { connection in
            try connection.run(
                "INSERT INTO source_table(stream, uuid, oid, schema_name, name, identity) VALUES (?, ?, ?, ?, ?, ?)",
                [
                    .integer(stream), .text(uuid), .integer(Int64(description.oid)),
                    .text(description.schema),
                    .text(description.name), .text(description.identity),
                ])
            return connection.lastInsertRowID
        }
        return SourceTable(
            id: id, uuid: uuid, description: description, isSnapshotDone: false, snapshotKey: nil,
            types: types)
    }

    /// Removes the rows of a relation that no longer belongs to the configuration.
    package func forget(oid: UInt32, _ context: EvaluationContext) async throws {
        for record in try await records(context.stream) where record.description.oid == oid {
            try await replace(record, context)
        }
    }

    private func replace(_ record: TableRecord, _ context: EvaluationContext) async throws {
        // Removing needs no columns, and so no types.
        _ = try await apply([.truncate(record.table(record.description, TypeCatalog()))], context)
        try await pool.write { connection in
            try connection.run("UPDATE source_table SET is_replaced = 1 WHERE id = ?", [.integer(record.id)])
        }
    }

    /// Notes where the rows of a table lie by now; if they have moved, the large values that are known are so no more.
    ///
    /// - Parameters:
    ///   - layout: What the source says.
    ///   - table: The table.
    /// - Returns: The table with the version of its layout.
    /// - Throws: `SQLiteError`.
    package func note(_ layout: TableLayout, of table: SourceTable) async throws -> SourceTable {
        let version = try await pool.write { connection in
            try connection.run(
                "UPDATE source_table SET shape = shape + 1, layout = ?1, layout_since = ?2 "
                    + "WHERE id = ?3 AND layout IS NOT ?1",
                [.text(layout.text), Self.value(layout.seenAt), .integer(table.id)])
            return try connection.one(
                "SELECT shape, layout_since FROM source_table WHERE id = ?", [.integer(table.id)]
            ) { TableLayout.Version(shape: $0.int64(0), since: Self.lsn($0.int64(1))) }
        }
        var table = table
        table.layout = version ?? TableLayout.Version()
        return table
    }

    /// Whether a stream has begun to read tables.
    package func hasTables(_ stream: StreamNumber) async throws -> Bool {
        try await pool.read { connection in
            try connection.one("SELECT 1 FROM source_table WHERE stream = ? LIMIT 1", [.integer(stream)]) {
                _ in true
            }
                ?? false
        }
    }

    /// Notes how far the snapshot of a table has come.
    package func noteSnapshot(_ table: SourceTable) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE source_table SET snapshot_done = ?, snapshot_key = ? WHERE id = ?",
                [.integer(table.isSnapshotDone ? 1 : 0), SQLiteValue(table.snapshotKey), .integer(table.id)])
        }
    }

    /// Publishes no checkpoint before the log has passed a position that was taken behind all rows that were read;
    /// `isSnapshotDone` also ends the initial
    /// snapshot.
    package func holdCheckpoint(
        _ stream: StreamNumber, until lsn: LSN, isSnapshotDone: Bool = false
    ) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE replication_stream SET no_checkpoint_before = max(no_checkpoint_before, ?), is_ahead = 0, "
                    + "snapshot_done = max(snapshot_done, ?) WHERE id = ?",
                [Self.value(lsn), .integer(isSnapshotDone ? 1 : 0), .integer(stream)])
        }
    }
}
