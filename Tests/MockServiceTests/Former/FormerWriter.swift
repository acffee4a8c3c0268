import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// Decides what changes of rows come to (service 4.6, 7.5), one by one and value by value, and has a `RowWriter` write
/// that: what `GroupTransaction` must come to.
final class FormerWriter {
    /// What a row comes to as it is now.
    private struct Evaluated {
        /// Its PUTs, each with a bucket of its own among `buckets`.
        var operations: [EvaluatedBatch.Operation] = []
        var buckets: [Int64] = []
        var bytes: [UInt8] = []
    }

    private let rows: RowWriter
    private let evaluator: RowEvaluator
    private let converter: ValueConverter
    private let limits: StoreLimits
    private var hasher = OperationHasher()
    /// Up to here rows may be stored that are newer than what the stream says.
    private let aheadUntil: LSN
    /// Where the transaction is committed that tells of the rows; nil if they are read from the source.
    var toldAt: LSN?
    /// Rows that could not be written, because a value is not known.
    private(set) var incomplete: [IncompleteRow] = []
    /// What an operator should know; holds no values.
    private(set) var warnings = RowWarnings()

    init(_ rows: RowWriter, _ context: EvaluationContext, aheadUntil: LSN, limits: StoreLimits) {
        self.rows = rows
        self.aheadUntil = aheadUntil
        self.limits = limits
        evaluator = RowEvaluator(context.plan)
        converter = ValueConverter(options: context.plan.options)
    }

    func apply(_ change: RowChange, to table: SourceTable) throws {
        switch change {
        case .snapshot(let tuple): try insert(table, tuple, replacesKnown: false)
        case .insert(let tuple):
            if hasOtherFields(table, tuple) {
                miss(table, tuple)
            } else {
                try insert(table, tuple)
            }
        case .readAgain(let tuple): try insert(table, tuple, isReadAgain: true)
        case .update(let old, let new): try update(table, old: old, new: new)
        case .delete(let tuple): try rows.remove(identify(tuple, of: table).key, from: table)
        }
    }

    // MARK: Changes

    /// Writes a row that is told whole, and whose key is new as a rule.
    private func insert(
        _ table: SourceTable, _ tuple: PgOutputTuple, replacesKnown: Bool = true, isReadAgain: Bool = false
    ) throws {
        let (key, replicaID) = identify(tuple, of: table)
        guard let evaluated = try evaluate(table, tuple, replicaID) else {
            miss(table, tuple)
            return
        }
        func row(isKept: Bool) -> RowWriter.Row {
            var evaluated = evaluated
            let large = keep(
                tuple, of: table, in: &evaluated, isKept: isKept || isReadAgain, isNeeded: isReadAgain)
            return Self.row(table, key, evaluated, large)
        }
        let isWritten = try rows.insert(row(isKept: false))
        guard !isWritten, replacesKnown else { return }
        let previous = try rows.places(of: key, in: table)
        guard previous != nil || isReadAgain else { return }
        try rows.write(row(isKept: previous?.hasLargeValues ?? false), replacing: previous)
    }

    private func update(_ table: SourceTable, old: PgOutputTuple?, new: PgOutputTuple) throws {
        // Large values that did not change are taken from the old tuple, of which FULL sends all.
        var tuple = new
        if let old {
            for index in tuple.indices where tuple[index] == .unchangedToast && index < old.count {
                if case .text = old[index] { tuple[index] = old[index] }
            }
        }
        let (key, replicaID) = identify(tuple, of: table)
        let oldKey = old.map { identify($0, of: table).key } ?? key
        let previous = try rows.places(of: oldKey, in: table)
        let hadLargeValues = previous?.hasLargeValues ?? false
        // A row that was read later than this was told can be another one that has had the key since: what it holds goes
        // to no other key.
        let isOther = oldKey != key && toldAt.map { $0 < aheadUntil } ?? false
        // A row that is in no bucket keeps them if a query had to know them, or they were kept so already.
        let isWaiting = try evaluate(table, tuple, replicaID) == nil
        let isNeeded = isWaiting || previous?.areNone ?? false
        var known: LargeCells?
        if hadLargeValues, !isOther, tuple.contains(.unchangedToast) {
            known = try rows.largeCells(of: oldKey, in: table)
            if let known { Self.fill(&tuple, from: known, table) }
        }
        guard !hasOtherFields(table, tuple), var evaluated = try evaluate(table, tuple, replicaID) else {
            miss(table, tuple)
            if oldKey != key, previous != nil { try rows.remove(oldKey, from: table) }
            return
        }
        var large = keep(tuple, of: table, in: &evaluated, isKept: hadLargeValues, isNeeded: isNeeded)
        guard oldKey == key else {
            if previous != nil { try rows.remove(oldKey, from: table) }
            return try rows.write(
                Self.row(table, key, evaluated, large), replacing: try rows.places(of: key, in: table))
        }
        if case .cells(let range) = large, let known, evaluated.bytes[range].elementsEqual(known.bytes) {
            large = .unchanged
        }
        try rows.write(Self.row(table, key, evaluated, large), replacing: previous)
    }

    /// Whether values may have had other fields when they were told than those that are known.
    private func hasOtherFields(_ table: SourceTable, _ tuple: PgOutputTuple) -> Bool {
        // Such a row cannot be found by its identity.
        guard table.hasComposites, !isOfLayout(table), !table.hasFieldsInIdentity else { return false }
        return table.types.indices.contains {
            table.types[$0].hasFields && $0 < tuple.count && tuple[$0].text != nil
        }
    }

    private func miss(_ table: SourceTable, _ tuple: PgOutputTuple) {
        incomplete.append(IncompleteRow(table: table, values: tuple.map(\.text)))
    }

    /// Whether values are surely of the layout that is known.
    private func isOfLayout(_ table: SourceTable) -> Bool { toldAt.map { $0 > table.layout.since } ?? true }

    /// The key and the id of a row from the texts of its identity columns; random for a table without identity.
    private func identify(
        _ tuple: PgOutputTuple, of table: SourceTable
    ) -> (key: RowKey, replicaID: ReplicaID) {
        var identity: [(name: String, value: SQLiteValue)] = []
        for (index, column) in table.description.columns.enumerated()
        where column.isIdentity && index < tuple.count {
            let text = tuple[index].text
            do throws(ConversionError) {
                identity.append((column.name, try converter.value(text, table.types[index])))
            } catch {
                // The text identifies the row as well as its value would.
                identity.append((column.name, SQLiteValue(text)))
            }
        }
        let replicaID = identity.isEmpty ? ReplicaID.random() : ReplicaID(columns: identity)
        return (RowKey(identity.map(\.value), of: replicaID), replicaID)
    }

    // MARK: Large values

    /// Puts what is known into the places of values that were left out.
    private static func fill(_ tuple: inout PgOutputTuple, from known: LargeCells, _ table: SourceTable) {
        for (index, column) in table.largeColumns.enumerated()
        where column < tuple.count && tuple[column] == .unchangedToast {
            tuple[column] = known[index].map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null
        }
    }

    /// Appends the cells of a row, if they are a reason to keep them.
    private func keep(
        _ tuple: PgOutputTuple, of table: SourceTable, in evaluated: inout Evaluated, isKept: Bool,
        isNeeded: Bool
    ) -> RowWriter.LargeValues {
        // Of another layout, or of fewer columns, they would be taken for what they are not. Where one is missing, which no
        // query reads then, what is known of the others is over.
        guard isOfLayout(table), tuple.count == table.description.columns.count,
            !tuple.contains(.unchangedToast)
        else { return .nothing }
        let byteCount = table.largeColumns.reduce(0) { $0 + (tuple[$1].text?.utf8.count ?? 0) }
        guard table.keepsLargeValues,
            evaluated.operations.isEmpty ? isKept && isNeeded : isKept || byteCount > limits.largeValueBytes
        else { return .nothing }
        let start = evaluated.bytes.count
        for column in table.largeColumns {
            if let text = tuple[column].text {
                LargeCells.append(text.utf8, to: &evaluated.bytes)
            } else {
                LargeCells.appendNull(to: &evaluated.bytes)
            }
        }
        return .cells(start..<evaluated.bytes.count)
    }

    // MARK: Evaluation

    /// What a row comes to; nil if a query needs a value that was left out.
    private func evaluate(
        _ table: SourceTable, _ tuple: PgOutputTuple, _ replicaID: ReplicaID
    ) throws -> Evaluated? {
        var evaluated = Evaluated()
        guard tuple.reduce(0, { $0 + ($1.text?.utf8.count ?? 0) }) <= limits.rowBytes else {
            warnings.add(
                "[PSYNC_S1002] A row of \(table.qualifiedName) is larger than 15 MiB and is not synced.")
            return evaluated
        }
        var found = RowWarnings()
        var values: [SQLiteValue] = []
        values.reserveCapacity(table.types.count)
        for (index, type) in table.types.enumerated() {
            let text = index < tuple.count ? tuple[index].text : nil
            do throws(ConversionError) {
                values.append(try converter.value(text, type))
            } catch {
                // A row without this value would be a row less on every device.
                values.append(SQLiteValue(text))
                found.add(
                    "The column \(table.description.columns[index].name) of \(table.qualifiedName) is synced as Postgres spells it: "
                        + error.message)
            }
        }
        let result = evaluator.evaluate(
            SourceRow(
                shape: RowShape(columns: table.description.columns.map(\.name)), values: values),
            without: Set(
                tuple.indices.filter { tuple[$0] == .unchangedToast }.map {
                    table.description.columns[$0].name
                }),
            schema: table.description.schema, table: table.description.name)
        guard let result else { return nil }
        for (text, count) in found.counts { warnings.add(text, count) }
        for row in result { try append(row, of: table, replicaID, to: &evaluated) }
        return evaluated
    }

    private func append(
        _ row: EvaluatedRow, of table: SourceTable, _ replicaID: ReplicaID, to evaluated: inout Evaluated
    ) throws {
        let (type, id, data) = (Array(row.type.utf8), Array(row.id.utf8), Array(row.data.utf8))
        let checksum = hasher.put(type: type, id: id, data: data)
        let outputType = try rows.outputType(named: row.type)
        let start = evaluated.bytes.count
        OperationRecord.appendPut(
            checksum, sourceTable: table.id, outputType: outputType, replicaID: replicaID, objectID: id,
            data: data, to: &evaluated.bytes)
        let end = evaluated.bytes.count
        let idEnd = end - data.count - Varint.count(data.count)
        evaluated.operations.append(
            EvaluatedBatch.Operation(
                bucket: evaluated.buckets.count, type: outputType, id: idEnd - id.count..<idEnd,
                record: start..<end, checksum: checksum))
        evaluated.buckets.append(try rows.bucket(named: row.bucket))
    }

    private static func row(
        _ table: SourceTable, _ key: RowKey, _ evaluated: Evaluated, _ large: RowWriter.LargeValues
    ) -> RowWriter.Row {
        RowWriter.Row(
            table: table, key: key, operations: evaluated.operations[...], buckets: evaluated.buckets,
            large: large, bytes: evaluated.bytes)
    }
}

extension ServiceStore {
    /// Stores events in one transaction as they were stored before there were batches; tables that are emptied have few rows.
    func formerApply(
        _ events: [ReplicationEvent], _ context: EvaluationContext, isAhead: Bool = false
    ) async throws -> (checkpoint: StoredCheckpoint?, incomplete: [IncompleteRow]) {
        try await pool.write { [limits] connection in
            try connection.transaction {
                let before = try ServiceStore.writable(context.stream, connection)
                let rows = try RowWriter(
                    connection, stream: before.number, checkpoint: before.checkpoint.operation,
                    limits: limits)
                let changes = FormerWriter(
                    rows, context,
                    aheadUntil: before.isAhead ? LSN(rawValue: .max) : before.noCheckpointBefore,
                    limits: limits)
                var checkpoint: StoredCheckpoint?
                var committed: LSN?
                var over: [Int64] = []
                for event in events {
                    switch event {
                    case .change(let table, let change): try changes.apply(change, to: table)
                    case .truncate(let table): while try !rows.removeRows(of: table, limit: .max).isAll {}
                    case .begun(let position): changes.toldAt = position
                    case .identityIsOver(let table): over.append(table.id)
                    case .told(let progress): try ServiceStore.note(progress, before.number, connection)
                    case .committed(let position):
                        committed = position
                        guard before.isSnapshotDone, !before.isAhead, !isAhead,
                            position >= before.noCheckpointBefore, changes.incomplete.isEmpty, over.isEmpty
                        else { continue }
                        let written = rows.hasWritten ? rows.lastOperation : 0
                        let operation = max(before.checkpoint.operation, before.lastOperation, written)
                        checkpoint = StoredCheckpoint(operation: operation, lsn: position)
                        rows.cover(through: operation)
                    }
                }
                try rows.finish()
                let missing = Set(changes.incomplete.map(\.table.id) + over)
                for table in missing {
                    try connection.run(
                        "UPDATE source_table SET is_incomplete = 1 WHERE id = ?", [.integer(table)])
                }
                if isAhead || !missing.isEmpty {
                    try connection.run("UPDATE replication_stream SET is_ahead = 1")
                }
                if let committed {
                    try connection.run(
                        "UPDATE replication_stream SET applied_lsn = ?", [ServiceStore.value(committed)])
                }
                if let checkpoint {
                    try connection.run(
                        "UPDATE replication_stream SET checkpoint_op = ?, checkpoint_lsn = ?",
                        [.integer(checkpoint.operation), ServiceStore.value(checkpoint.lsn)])
                }
                return (checkpoint, changes.incomplete)
            }
        }
    }
}
