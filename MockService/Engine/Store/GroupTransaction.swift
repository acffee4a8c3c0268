import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncWire

/// What one SQLite transaction stores of a group: rows, what is told beside them, and where the stream stands.
struct GroupTransaction {
    let group: GroupWriter
    let connection: SQLiteConnection
    /// The stream as it was before the transaction.
    let before: StreamRecord
    let rows: RowWriter
    /// The buckets of the batch in work by their index there; 0 for one that no row has named yet.
    var buckets: [Int64] = []
    private(set) var place: GroupPlace
    var outcome = WriteOutcome()
    private var rule: CommitRule
    /// How many rows of tables that are emptied may yet be removed.
    private var room: Int
    private var told: TransactionProgress?
    private var passed: LSN?

    /// Begins.
    ///
    /// - Parameters:
    ///   - group: Who writes.
    ///   - place: Where the group stands.
    ///   - connection: The one that writes, in a transaction.
    /// - Throws: `SQLiteError`; `StoreError` if the stream is gone or stopped.
    init(_ group: GroupWriter, from place: GroupPlace, _ connection: SQLiteConnection) throws {
        before = try ServiceStore.writable(group.context.stream, connection)
        self.group = group
        self.connection = connection
        self.place = place
        rows = try RowWriter(
            connection, stream: before.number, checkpoint: before.checkpoint.operation,
            limits: group.store.limits, isHeld: { group.isHeld($0) }, progress: group.context.progress)
        rule = CommitRule(before)
        room = group.store.limits.truncatedRows
    }

    /// The buckets that were written to.
    var written: WrittenBuckets { rows.written }

    // MARK: The group

    /// Writes batches as far as one transaction goes.
    mutating func write(_ batches: [EvaluatedBatch]) throws {
        while place.batch < batches.count, !rows.isFull {
            let batch = batches[place.batch]
            try begin(batch)
            guard try writes(batch) else { return }
            place = GroupPlace(batch: place.batch + 1)
        }
    }

    private mutating func begin(_ batch: EvaluatedBatch) throws {
        buckets = Array(repeating: 0, count: batch.buckets.count)
        // A piece of it may be stored already.
        guard place.aheadUntil == nil else { return }
        place.aheadUntil = rule.aheadUntil
        for (text, count) in batch.warnings.counts { outcome.warnings.add(text, count) }
        guard batch.isAhead else { return }
        // From now on nothing is published, also after a crash, before these rows have a position.
        rule.readsAhead()
        try setAhead()
    }

    private func setAhead() throws {
        try connection.run(
            "UPDATE replication_stream SET is_ahead = 1 WHERE id = ?", [.integer(before.number)])
    }

    /// Writes what is left of a batch; false if that is more than fits.
    ///
    /// The rest is left to another transaction where the source can go on, should the service end in between.
    private mutating func writes(_ batch: EvaluatedBatch) throws -> Bool {
        while true {
            while place.mark < batch.marks.count, batch.marks[place.mark].before <= place.row {
                let mark = batch.marks[place.mark].mark
                guard try take(mark, of: batch) else { return false }
                place.mark += 1
                if rows.isFull, Self.isEnd(mark) { return false }
            }
            guard place.row < batch.rows.count else { return true }
            var isWaiting = false
            if place.waiting < batch.waiting.count, batch.waiting[place.waiting] == place.row {
                isWaiting = true
                place.waiting += 1
            }
            try write(place.row, of: batch, isWaiting: isWaiting)
            place.row += 1
            // Rows that were read may be read again: what is stored of them stays as it is.
            if rows.isFull, batch.isAhead { return false }
        }
    }

    /// Whether the source can go on behind a mark: what stands in front of it is not told again, or does no harm.
    private static func isEnd(_ mark: ChangeBatch.Mark) -> Bool {
        switch mark {
        case .committed, .told, .truncate: true
        case .begun, .identityIsOver, .readUpTo, .readWhole, .hold, .passed: false
        }
    }

    /// Takes a mark; false if it is a table that has more rows than fit.
    private mutating func take(_ mark: ChangeBatch.Mark, of batch: EvaluatedBatch) throws -> Bool {
        switch mark {
        case .begun(let position): place.toldAt = position
        case .committed(let position): commit(position)
        case .told(let progress): told = progress
        case .truncate(let table):
            let removed = try rows.removeRows(of: batch.tables[table].table, limit: room)
            room -= removed.count
            return removed.isAll && room > 0
        case .identityIsOver(let table):
            outcome.over.append(batch.tables[table].table)
            rule.misses()
        case .readUpTo(let table, let key):
            try ServiceStore.noteSnapshot(batch.tables[table].table.id, key: key, isDone: false, connection)
        case .readWhole(let table):
            try ServiceStore.noteSnapshot(batch.tables[table].table.id, key: nil, isDone: true, connection)
        case .hold(let position, let isAhead, let isSnapshotDone):
            rule.holds(until: position, isAhead: isAhead, isSnapshotDone: isSnapshotDone)
            try ServiceStore.hold(
                before.number, until: position, isSnapshotDone: isSnapshotDone, isAhead: isAhead, connection)
        case .passed(let position): passed = max(passed ?? .zero, position)
        }
        return true
    }

    private mutating func commit(_ position: LSN) {
        outcome.committed = position
        let written = rows.hasWritten ? rows.lastOperation : 0
        let group = self.group
        let visible = rule.commits(position, written: written, mayShow: { group.mayShow($0) })
        guard let visible else { return }
        outcome.checkpoint = visible
        rows.cover(through: visible.operation)
    }

    /// Notes a row that cannot be written, because a value is not known.
    mutating func miss(_ index: Int, of batch: EvaluatedBatch, _ table: SourceTable) {
        outcome.incomplete.append(IncompleteRow(table: table, values: batch.source?.texts(index) ?? []))
        rule.misses()
    }

    /// Stores what is not of one row; the last call before the commit.
    mutating func finish() throws {
        try rows.finish()
        let stream = SQLiteValue.integer(before.number)
        if let told { try ServiceStore.note(told, before.number, connection) }
        // The log does not bring these rows again.
        let missing = Set(outcome.incomplete.map(\.table.id) + outcome.over.map(\.id))
        for table in missing.sorted() {
            try connection.run("UPDATE source_table SET is_incomplete = 1 WHERE id = ?", [.integer(table)])
        }
        if !missing.isEmpty { try setAhead() }
        if let passed {
            try connection.run(
                "UPDATE replication_stream SET reported_lsn = max(reported_lsn, ?) WHERE id = ?",
                [ServiceStore.value(passed), stream])
        }
        if let committed = outcome.committed {
            try connection.run(
                "UPDATE replication_stream SET applied_lsn = ? WHERE id = ?",
                [ServiceStore.value(committed), stream])
        }
        if let checkpoint = outcome.checkpoint {
            try connection.run(
                "UPDATE replication_stream SET checkpoint_op = ?, checkpoint_lsn = ? WHERE id = ?",
                [.integer(checkpoint.operation), ServiceStore.value(checkpoint.lsn), stream])
            if group.isSwitching {
                try ServiceStore.activate(before.number, connection)
                outcome.hasSwitched = true
            }
        }
        outcome.durable = [outcome.committed, passed].compactMap { $0 }.max()
    }
}
