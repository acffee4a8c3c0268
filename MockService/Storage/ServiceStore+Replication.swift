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
    package var incomplete: [IncompleteRow] = []
    /// Tables that have to be read anew.
    package var over: [SourceTable] = []
    /// What an operator should know.
    package var warnings = RowWarnings()

    /// Adds what became of the changes behind.
    mutating func add(_ next: ApplyResult) {
        checkpoint = next.checkpoint ?? checkpoint
        changed.formUnion(next.changed)
        incomplete += next.incomplete
        over += next.over
        for (text, count) in next.warnings.counts { warnings.add(text, count) }
    }
}

extension ServiceStore {
    /// Writes a batch of changes, durable when this returns.
    ///
    /// That is one SQLite transaction, unless a table is emptied: of its rows a bounded number goes in each, and others
    /// write in between. Should the service end there, what was told in front is stored with its progress, and a table
    /// that is emptied once more loses the rest.
    ///
    /// A checkpoint is published at the last `committed` of the batch in front of which no row is missing, if the snapshot
    /// is complete and the log has passed `noCheckpointBefore`. What follows that event is stored, and not visible.
    ///
    /// - Parameters:
    ///   - events: The changes, in the order of the log.
    ///   - context: The stream and what rows are evaluated with.
    ///   - isAhead: Whether the rows were read from the source, and so are newer than the log. From now on nothing is
    ///     published, also after a crash, until `holdCheckpoint` says up to which position.
    /// - Returns: What became of it.
    /// - Throws: `SQLiteError`; then nothing was written behind a table that was not emptied to the end.
    package func apply(
        _ events: [ReplicationEvent], _ context: EvaluationContext, isAhead: Bool = false
    ) async throws -> ApplyResult {
        var result = ApplyResult()
        var rest = events[...]
        var aheadUntil: LSN?
        repeat {
            let piece = try await pool.write { [rest, aheadUntil, limits, unpublished] connection in
                do {
                    let stored = try connection.transaction {
                        var piece = try Piece(
                            context, isAhead: isAhead, aheadUntil: aheadUntil, limits, connection)
                        try piece.apply(rest)
                        try piece.finish()
                        return (
                            result: piece.result, written: piece.written, before: piece.before,
                            count: piece.count, aheadUntil: piece.aheadUntil
                        )
                    }
                    var result = stored.result
                    result.changed = unpublished.note(
                        stored.written, of: stored.before, isCheckpoint: result.checkpoint != nil)
                    return (result: result, count: stored.count, aheadUntil: stored.aheadUntil)
                } catch {
                    unpublished.lose(context.stream)
                    throw error
                }
            }
            result.add(piece.result)
            rest = rest.dropFirst(piece.count)
            aheadUntil = piece.aheadUntil
            if !rest.isEmpty { context.progress() }
        } while !rest.isEmpty
        return result
    }

    /// What one SQLite transaction stores of a batch.
    private struct Piece {
        private let connection: SQLiteConnection
        let before: StreamRecord
        private let isAhead: Bool
        private let rows: RowWriter
        private let changes: ChangeWriter
        /// How many rows of tables that are emptied it may remove yet.
        private var room: Int
        private var committed: LSN?
        private var told: TransactionProgress?
        /// Up to where rows may be stored that are newer than what the stream says, as it was before the batch.
        let aheadUntil: LSN
        /// How many of the events are done.
        private(set) var count = 0
        private(set) var result = ApplyResult()
        /// The buckets that were written to.
        var written: WrittenBuckets { rows.written }

        init(
            _ context: EvaluationContext, isAhead: Bool, aheadUntil: LSN?, _ limits: StoreLimits,
            _ connection: SQLiteConnection
        ) throws {
            let before = try ServiceStore.required(context.stream, connection)
            // Its data is being deleted: what is written now would stay for ever.
            guard !before.isStopped else { throw StoreError.noStream }
            self.connection = connection
            self.before = before
            self.isAhead = isAhead
            self.aheadUntil =
                aheadUntil ?? (before.isAhead ? LSN(rawValue: .max) : before.noCheckpointBefore)
            rows = try RowWriter(
                connection, stream: before.number, checkpoint: before.checkpoint.operation, limits: limits)
            changes = ChangeWriter(rows, context, aheadUntil: self.aheadUntil, limits: limits)
            room = limits.truncatedRows
        }

        /// Writes events, up to a table of which there may be more rows than fit.
        mutating func apply(_ events: ArraySlice<ReplicationEvent>) throws {
            for event in events {
                switch event {
                case .change(let table, let change): try changes.apply(change, to: table)
                case .truncate(let table):
                    room -= try rows.removeRows(of: table, limit: room)
                    guard room > 0 else { return }
                case .committed(let lsn): commit(lsn)
                case .identityIsOver(let table): result.over.append(table)
                case .told(let progress): told = progress
                }
                count += 1
            }
        }

        private mutating func commit(_ lsn: LSN) {
            committed = lsn
            // A transaction of which a row is missing is stored: it must not be published, also not with the next one,
            // should reading the row again fail.
            guard before.isSnapshotDone, !before.isAhead, !isAhead, lsn >= before.noCheckpointBefore,
                changes.incomplete.isEmpty, result.over.isEmpty
            else { return }
            // Ids are shared by all streams, so only what this one wrote moves its checkpoint.
            let written = rows.hasWritten ? rows.lastOperation : 0
            let operation = max(before.checkpoint.operation, before.lastOperation, written)
            result.checkpoint = StoredCheckpoint(operation: operation, lsn: lsn)
            rows.cover(through: operation)
        }

        /// Stores what is not of one row; the last call before the commit.
        mutating func finish() throws {
            try rows.finish()
            result.incomplete = changes.incomplete
            result.warnings = changes.warnings
            let stream = SQLiteValue.integer(before.number)
            if let told { try ServiceStore.note(told, before.number, connection) }
            // The log does not bring these rows again.
            let missing = Set(result.incomplete.map(\.table.id) + result.over.map(\.id))
            for table in missing {
                try connection.run(
                    "UPDATE source_table SET is_incomplete = 1 WHERE id = ?", [.integer(table)])
            }
            if isAhead || !missing.isEmpty {
                try connection.run("UPDATE replication_stream SET is_ahead = 1 WHERE id = ?", [stream])
            }
            if let committed {
                try connection.run(
                    "UPDATE replication_stream SET applied_lsn = ? WHERE id = ?",
                    [ServiceStore.value(committed), stream])
            }
            if let checkpoint = result.checkpoint {
                try connection.run(
                    "UPDATE replication_stream SET checkpoint_op = ?, checkpoint_lsn = ? WHERE id = ?",
                    [.integer(checkpoint.operation), ServiceStore.value(checkpoint.lsn), stream])
            }
        }
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
