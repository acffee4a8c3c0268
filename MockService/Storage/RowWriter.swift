import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncWire

/// Writes changes of rows as operations, inside one SQLite transaction.
final class RowWriter {
    private struct Total {
        var checksum = Checksum.zero
        var count: Int64 = 0
        var lastOperation: Int64 = 0
    }

    private struct StoredRow {
        var largeValues: [ExactText: String?]
        var entries: [RowEntry]
    }

    private let connection: SQLiteConnection
    private let stream: StreamNumber
    private let evaluator: RowEvaluator
    private let converter: ValueConverter
    private let progress: @Sendable () -> Void
    /// Up to here rows may be stored that are newer than what the stream says.
    private let aheadUntil: LSN
    private var buckets: [ExactText: Int64] = [:]
    private var totals: [Int64: Total] = [:]
    /// The last operation id before this writer.
    let firstOperation: Int64
    /// The last operation id that was used.
    private(set) var lastOperation: Int64
    /// Rows that could not be written, because a value is not known.
    private(set) var incomplete: [IncompleteRow] = []
    /// What an operator should know; holds no values.
    private(set) var warnings = RowWarnings()
    /// The buckets with new operations, by whole name; there behind `finish`.
    private(set) var written = WrittenBuckets()
    private var bucketsUpToCommit: Set<Int64> = []
    private var bucketsBehind: Set<Int64> = []

    /// Rows larger than this are not synced (service 4.6).
    private static let rowLimit = 15 << 20

    init(_ connection: SQLiteConnection, _ context: EvaluationContext, aheadUntil: LSN) throws {
        self.connection = connection
        self.aheadUntil = aheadUntil
        stream = context.stream
        evaluator = context.evaluator
        converter = context.converter
        progress = context.progress
        lastOperation = try connection.one("SELECT last_op FROM counter") { $0.int64(0) } ?? 0
        firstOperation = lastOperation
    }

    /// Whether anything was written.
    var hasWritten: Bool { lastOperation > firstOperation }

    /// Notes that a transaction of the source ends here.
    func noteCommit() {
        bucketsUpToCommit.formUnion(bucketsBehind)
        bucketsBehind = []
    }

    func apply(_ change: RowChange, to table: SourceTable) throws {
        switch change {
        case .snapshot(let tuple):
            let id = table.replicaID(tuple, converter)
            guard try stored(table, id) == nil else { return }
            try write(table, id, tuple, previous: nil)
        case .insert(let tuple):
            if hasOtherFields(table, tuple) {
                incomplete.append(IncompleteRow(table: table, tuple: tuple))
                return
            }
            let id = table.replicaID(tuple, converter)
            try write(table, id, tuple, previous: try stored(table, id))
        case .update(let old, let new): try update(table, old: old, new: new)
        case .delete(let tuple):
            let id = table.replicaID(tuple, converter)
            if let previous = try stored(table, id) { try remove(table, id, previous) }
        }
    }

    private func update(_ table: SourceTable, old: PgOutputTuple?, new: PgOutputTuple) throws {
        // Large values that did not change are taken from the old tuple, of which FULL sends all.
        var tuple = new
        if let old {
            for index in tuple.indices where tuple[index] == .unchangedToast && index < old.count {
                if case .text = old[index] { tuple[index] = old[index] }
            }
        }
        let id = table.replicaID(tuple, converter)
        let oldID = old.map { table.replicaID($0, converter) } ?? id
        let previous = try stored(table, oldID)
        // A row that was read later than this was told can be another one that has had the key since: what it holds goes
        // to no other key.
        let isOther = oldID != id && table.toldAt.map { $0 < aheadUntil } ?? false
        if let previous, !isOther, let columns = missing(table, tuple) {
            for index in columns {
                if let known = previous.largeValues[ExactText(table.shape.columns[index])] {
                    tuple[index] = known.map { .text($0) } ?? .null
                }
            }
        }
        if missing(table, tuple) != nil || hasOtherFields(table, tuple) {
            incomplete.append(IncompleteRow(table: table, tuple: tuple))
            if oldID != id, let previous { try remove(table, oldID, previous) }
            return
        }
        if oldID != id {
            if let previous { try remove(table, oldID, previous) }
            try write(table, id, tuple, previous: try stored(table, id))
        } else {
            try write(table, id, tuple, previous: previous)
        }
    }

    /// Whether values may have had other fields when they were told than those that are known.
    private func hasOtherFields(_ table: SourceTable, _ tuple: PgOutputTuple) -> Bool {
        // Such a row cannot be found by its identity.
        guard table.hasComposites, !table.isOfLayout, !table.hasFieldsInIdentity else { return false }
        return table.types.indices.contains {
            table.types[$0].hasFields && $0 < tuple.count && tuple[$0].text != nil
        }
    }

    private func missing(_ table: SourceTable, _ tuple: PgOutputTuple) -> [Int]? {
        let columns = tuple.indices.filter { tuple[$0] == .unchangedToast }
        return columns.isEmpty ? nil : columns
    }

    /// Removes all rows of a table, by ascending replica id and a bounded number at a time.
    func truncate(_ table: SourceTable) throws {
        while true {
            let ids = try connection.query(
                "SELECT replica_id FROM source_row WHERE source_table = ? ORDER BY replica_id LIMIT 2000",
                [.integer(table.id)]
            ) { try ReplicaID(stored: $0.blob(0)) }
            if ids.isEmpty { return }
            progress()
            for id in ids {
                if let previous = try stored(table, id) { try remove(table, id, previous) }
            }
        }
    }

    private func write(_ table: SourceTable, _ id: ReplicaID, _ tuple: PgOutputTuple, previous: StoredRow?)
        throws
    {
        let size = tuple.reduce(0) { $0 + ($1.text?.utf8.count ?? 0) }
        let isTooLarge = size > Self.rowLimit
        if isTooLarge {
            warnings.add(
                "[PSYNC_S1002] A row of \(table.qualifiedName) is larger than 15 MiB and is not synced.")
        }
        let evaluated = isTooLarge ? [] : evaluate(table, tuple)
        var current: [(entry: RowEntry, data: String)] = []
        for row in evaluated {
            current.append((RowEntry(bucket: try bucket(row.bucket), type: row.type, id: row.id), row.data))
        }
        let plan = RowChangePlan.update(from: previous?.entries ?? [], to: current)
        for step in plan.steps { try perform(step, table, id) }
        try connection.run(
            "INSERT INTO source_row(source_table, replica_id, large_values, shape, entries) VALUES (?, ?, ?, ?, ?) "
                + "ON CONFLICT DO UPDATE SET large_values = excluded.large_values, shape = excluded.shape, "
                + "entries = excluded.entries",
            [
                .integer(table.id), .blob(id.bytes),
                // Of a row that is not synced nothing is kept: SQLite could refuse it, and replication stop with it.
                SQLiteValue(
                    table.isOfLayout && !isTooLarge ? RowState.text(largeValues: tuple, of: table) : nil
                ),
                .integer(table.layout.shape), .text(RowState.text(entries: plan.entries)),
            ])
    }

    private func evaluate(_ table: SourceTable, _ tuple: PgOutputTuple) -> [EvaluatedRow] {
        var values: [SQLiteValue] = []
        values.reserveCapacity(tuple.count)
        for (index, type) in table.types.enumerated() {
            let text = index < tuple.count ? tuple[index].text : nil
            do throws(ConversionError) {
                values.append(try converter.value(text, type))
            } catch {
                // A row without this value would be a row less on every device.
                values.append(SQLiteValue(text))
                warnings.add(
                    "The column \(table.shape.columns[index]) of \(table.qualifiedName) is synced as Postgres spells it: "
                        + error.message)
            }
        }
        return evaluator.evaluate(
            SourceRow(shape: table.shape, values: values), schema: table.description.schema,
            table: table.description.name)
    }

    private func remove(_ table: SourceTable, _ id: ReplicaID, _ previous: StoredRow) throws {
        for step in RowChangePlan.update(from: previous.entries, to: []).steps {
            try perform(step, table, id)
        }
        try connection.run(
            "DELETE FROM source_row WHERE source_table = ? AND replica_id = ?",
            [.integer(table.id), .blob(id.bytes)])
    }

    private func stored(_ table: SourceTable, _ id: ReplicaID) throws -> StoredRow? {
        try connection.one(
            "SELECT large_values, shape, entries FROM source_row WHERE source_table = ? AND replica_id = ?",
            [.integer(table.id), .blob(id.bytes)]
        ) { row in
            // Values of another layout may be others by now.
            let isOfLayout = row.int64(1) == table.layout.shape
            return StoredRow(
                largeValues: isOfLayout ? try RowState.largeValues(row.text(0)) : [:],
                entries: try RowState.entries(row.string(2)))
        }
    }

    private func bucket(_ name: String) throws -> Int64 {
        if let known = buckets[ExactText(name)] { return known }
        let full = "\(stream)#\(name)"
        let parameters: [SQLiteValue] = [.integer(stream), .text(full)]
        let select = "SELECT id FROM bucket WHERE stream = ? AND name = ?"
        var id = try connection.one(select, parameters) { $0.int64(0) }
        if id == nil {
            try connection.run("INSERT INTO bucket(stream, name) VALUES (?, ?)", parameters)
            id = connection.lastInsertRowID
        }
        guard let id else { throw StoreError.noStream }
        buckets[ExactText(name)] = id
        return id
    }

    private func perform(_ step: RowChangePlan.Step, _ table: SourceTable, _ replicaID: ReplicaID) throws {
        let entry: RowEntry
        let checksum: Checksum
        let kind: OperationKind
        var text: String?
        switch step {
        case .put(let target, let data):
            entry = target
            kind = .put
            checksum = OperationChecksum.put(type: target.type, id: target.id, data: data)
            text = data
        case .remove(let target):
            entry = target
            kind = .remove
            checksum = OperationChecksum.remove(subkey: table.subkey(replicaID))
        }
        lastOperation += 1
        try connection.run(
            "INSERT INTO operation(op_id, bucket, kind, source_table, replica_id, object_type, object_id, checksum, data) "
                + "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                .integer(lastOperation), .integer(entry.bucket), .integer(kind.rawValue), .integer(table.id),
                .blob(replicaID.bytes), .text(entry.type), .text(entry.id), .integer(Int64(checksum.value)),
                SQLiteValue(text),
            ])
        totals[entry.bucket, default: Total()].checksum += checksum
        totals[entry.bucket, default: Total()].count += 1
        totals[entry.bucket, default: Total()].lastOperation = lastOperation
        bucketsBehind.insert(entry.bucket)
    }

    /// Writes counters and totals; the last call before the commit.
    func finish() throws {
        guard hasWritten else { return }
        for (bucket, total) in totals {
            let name = try connection.one(
                "UPDATE bucket SET checksum = (checksum + ?) & 4294967295, count = count + ?, last_op = ? "
                    + "WHERE id = ? RETURNING name",
                [
                    .integer(Int64(total.checksum.value)), .integer(total.count),
                    .integer(total.lastOperation),
                    .integer(bucket),
                ]
            ) { ExactText($0.string(0)) }
            guard let name else { throw StoreError.noStream }
            if bucketsUpToCommit.contains(bucket) { written.upToCommit.insert(name) }
            if bucketsBehind.contains(bucket) { written.behind.insert(name) }
        }
        try connection.run("UPDATE counter SET last_op = ?", [.integer(lastOperation)])
        try connection.run(
            "UPDATE replication_stream SET last_op = ? WHERE id = ?",
            [.integer(lastOperation), .integer(stream)])
    }
}
