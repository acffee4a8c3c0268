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
    /// The buckets that this checkpoint changes since the one before.
    package var changed = ChangedBuckets()
    /// Rows that have to be read again from the source.
    package var incomplete: [IncompleteRow]
    /// Tables that have to be read anew.
    package var over: [SourceTable]
    /// What an operator should know.
    package var warnings: RowWarnings
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
        try await pool.write { [unpublished] connection in
            do {
                let applied = try Self.apply(events, context, isAhead: isAhead, connection)
                var result = applied.result
                result.changed = unpublished.note(
                    applied.written, of: applied.before, isCheckpoint: result.checkpoint != nil)
                return result
            } catch {
                unpublished.lose(context.stream)
                throw error
            }
        }
    }

    private static func apply(
        _ events: [ReplicationEvent], _ context: EvaluationContext, isAhead: Bool,
        _ connection: SQLiteConnection
    ) throws -> (result: ApplyResult, written: WrittenBuckets, before: StreamRecord) {
        try connection.transaction {
            let before = try Self.required(context.stream, connection)
            // Its data is being deleted: what is written now would stay for ever.
            guard !before.isStopped else { throw StoreError.noStream }
            let writer = try RowWriter(
                connection, context,
                aheadUntil: before.isAhead ? LSN(rawValue: .max) : before.noCheckpointBefore)
            var committed: (lsn: LSN, operation: Int64)?
            var told: TransactionProgress?
            var over: [SourceTable] = []
            for event in events {
                switch event {
                case .change(let table, let change): try writer.apply(change, to: table)
                case .truncate(let table): try writer.truncate(table)
                case .committed(let lsn):
                    committed = (lsn, writer.lastOperation)
                    writer.noteCommit()
                case .identityIsOver(let table): over.append(table)
                case .told(let progress): told = progress
                }
            }
            try writer.finish()
            if let told { try Self.note(told, before.number, connection) }
            // The log does not bring these rows again.
            let missing = Set(writer.incomplete.map(\.table.id) + over.map(\.id))
            for table in missing {
                try connection.run(
                    "UPDATE source_table SET is_incomplete = 1 WHERE id = ?", [.integer(table)])
            }
            // A transaction of which a row is missing is stored: it must not be published, also not with the next
            // one, should reading the row again fail.
            let isAhead = isAhead || !missing.isEmpty
            if isAhead {
                try connection.run(
                    "UPDATE replication_stream SET is_ahead = 1 WHERE id = ?", [.integer(context.stream)])
            }
            var result = ApplyResult(
                incomplete: writer.incomplete, over: over, warnings: writer.warnings)
            guard let committed else { return (result, writer.written, before) }
            // Ids are shared by all streams, so only what this one wrote moves its checkpoint.
            let written = committed.operation > writer.firstOperation ? committed.operation : 0
            let operation = max(before.checkpoint.operation, before.lastOperation, written)
            result.checkpoint = try Self.commit(
                committed.lsn, operation: operation, before, isAhead: isAhead, connection)
            return (result, writer.written, before)
        }
    }

    private static func commit(
        _ lsn: LSN, operation: Int64, _ before: StreamRecord, isAhead: Bool, _ connection: SQLiteConnection
    ) throws -> StoredCheckpoint? {
        try connection.run(
            "UPDATE replication_stream SET applied_lsn = ? WHERE id = ?",
            [value(lsn), .integer(before.number)])
        guard before.isSnapshotDone, !before.isAhead, !isAhead, lsn >= before.noCheckpointBefore else {
            return nil
        }
        try connection.run(
            "UPDATE replication_stream SET checkpoint_op = ?, checkpoint_lsn = ? WHERE id = ?",
            [.integer(operation), value(lsn), .integer(before.number)])
        return StoredCheckpoint(operation: operation, lsn: lsn)
    }

    private static func note(
        _ told: TransactionProgress, _ number: StreamNumber, _ connection: SQLiteConnection
    ) throws {
        try connection.run(
            "UPDATE replication_stream SET partial_lsn = ?, partial_position = ?, partial_changes = ? WHERE id = ?",
            [value(told.finalLSN), value(told.position), .integer(Int64(told.changes)), .integer(number)])
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

    /// Notes that Postgres is about to be told that everything up to a position is stored here, of which nothing was to be
    /// applied behind the last commit.
    package func noteReported(_ lsn: LSN, _ stream: StreamNumber) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE replication_stream SET reported_lsn = ? WHERE id = ?",
                [Self.value(lsn), .integer(stream)])
        }
    }

    /// Publishes no checkpoint before the log has passed a position that was taken behind all rows that were read so far.
    ///
    /// - Parameters:
    ///   - stream: The stream.
    ///   - lsn: The position, up to which the log is on the source's disk.
    ///   - isSnapshotDone: Whether that ends the initial snapshot.
    ///   - isAhead: Whether more is being read.
    /// - Throws: `SQLiteError`.
    package func holdCheckpoint(
        _ stream: StreamNumber, until lsn: LSN, isSnapshotDone: Bool = false, isAhead: Bool = false
    ) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE replication_stream SET no_checkpoint_before = max(no_checkpoint_before, ?), "
                    + "is_ahead = is_ahead AND ?, snapshot_done = max(snapshot_done, ?) WHERE id = ?",
                [
                    Self.value(lsn), .integer(isAhead ? 1 : 0), .integer(isSnapshotDone ? 1 : 0),
                    .integer(stream),
                ])
        }
    }
}
