import PowerSyncPostgresValues
import PowerSyncWire

/// Decides what the changes of a batch come to (service 4.6, 7.5): what a row is now says the batch, what it was says the
/// store.
extension GroupTransaction {
    /// A row as it is now: of the batch in hand, or of one of its own, where it was evaluated once more.
    private struct Current {
        let row: EvaluatedBatch.Row
        let batch: EvaluatedBatch
        /// The ids of the batch's buckets, at least of those that the row names.
        let buckets: [Int64]
    }

    /// Writes one change.
    ///
    /// - Parameters:
    ///   - index: Its row in the batch.
    ///   - batch: The batch.
    ///   - isWaiting: Whether a value is needed that was left out.
    /// - Throws: `SQLiteError`, `StoreError`.
    mutating func write(_ index: Int, of batch: EvaluatedBatch, isWaiting: Bool) throws {
        let row = batch.rows[index]
        let plan = batch.tables[row.table]
        switch row.kind {
        case .snapshot, .insert, .readAgain:
            let isOther = row.kind == .insert && hasOtherFields(index, of: batch.source, plan)
            guard !isWaiting, !isOther else { return miss(index, of: batch, plan.table) }
            try setWriteCheckpoints(row, of: batch)
            try insert(index, of: batch, plan)
        case .update: try update(index, of: batch, plan, isWaiting: isWaiting)
        case .delete:
            guard let key = row.oldKey else { return }
            try rows.remove(try Self.key(key, in: batch), from: plan.table)
        }
    }

    private static func key(_ range: Range<Int>, in batch: EvaluatedBatch) throws -> RowKey {
        try RowKey(stored: Array(batch.bytes[range]))
    }

    // MARK: Changes

    /// Writes a row that is told whole, and whose key is new as a rule; of one that is not synced what is to be kept.
    private mutating func insert(_ index: Int, of batch: EvaluatedBatch, _ plan: TablePlan) throws {
        let row = batch.rows[index]
        guard let range = row.key else { return }
        try resolve(row.operations, of: batch)
        let large = isOfLayout(plan) ? row.large : nil
        if row.isStored {
            let isWritten = try rows.insert(row, key: range, large: large, of: batch, plan, buckets)
            if isWritten == true { return }
            if isWritten == nil {
                let now = Current(row: row, batch: batch, buckets: buckets)
                let key = try Self.key(range, in: batch)
                if try rows.insert(writerRow(now, key, plan, large)) { return }
            }
        }
        guard row.kind != .snapshot || row.isTooLarge else { return }
        let key = try Self.key(range, in: batch)
        let previous = try rows.places(of: key, in: plan.table)
        // What was streamed is newer than what a snapshot has read.
        guard previous != nil ? row.kind != .snapshot : large != nil else { return }
        let isNeeded = row.kind == .readAgain
        let now = try kept(
            index, of: batch, plan, isKept: previous?.hasLargeValues == true, isNeeded: isNeeded)
        let values = largeValues(of: now, plan, isNeeded: isNeeded)
        try rows.write(writerRow(now, key, plan, values), replacing: previous)
    }

    private mutating func update(
        _ index: Int, of batch: EvaluatedBatch, _ plan: TablePlan, isWaiting: Bool
    ) throws {
        let row = batch.rows[index]
        guard let range = row.key else { return }
        let stored = try rows.storedPlaces(of: row.oldKey ?? range, in: batch.bytes, plan)
        if !isWaiting, row.oldKey == nil, stored == nil, !row.isStored, row.large == nil,
            !plan.table.hasComposites
        {
            // It was in no bucket, and is in none; nothing finds it.
            return try setWriteCheckpoints(row, of: batch)
        }
        let hadLargeValues = stored?.first.map { $0 & 1 == 1 } ?? false
        if !isWaiting, !row.hasMissingValues, row.oldKey == nil, !hadLargeValues, row.large == nil,
            !plan.table.hasComposites, let stored
        {
            try resolve(row.operations, of: batch)
            if try rows.rewrite(row, key: range, of: batch, buckets, table: plan.table.id, stored: stored) {
                return try setWriteCheckpoints(row, of: batch)
            }
        }
        let key = try Self.key(range, in: batch)
        let oldKey = try row.oldKey.map { try Self.key($0, in: batch) } ?? key
        let previous = try stored.map { try RowPlaces(stored: $0, of: oldKey) }
        // A row that was read later than this was told can be another one that has had the key since: what it holds goes
        // to no other key.
        let isOther = oldKey != key && isToldBeforeWhatWasRead
        var known: LargeCells?
        if hadLargeValues, !isOther, row.hasMissingValues {
            known = try rows.largeCells(of: oldKey, in: plan.table)
        }
        let source = known.flatMap { batch.source?.alone(index, filledWith: $0) }
        let filled = source.map { evaluatedAgain($0) }
        let isMissing =
            if let source, let filled {
                !filled.waiting.isEmpty || hasOtherFields(0, of: source, plan)
            } else {
                isWaiting || hasOtherFields(index, of: batch.source, plan)
            }
        guard !isMissing else {
            miss(index, of: batch, plan.table)
            if oldKey != key, previous != nil { try rows.remove(oldKey, from: plan.table) }
            return
        }
        // A query that had to know them to leave the row out has to the next time.
        let isNeeded = isWaiting || previous?.areNone == true
        let now: Current
        if let filled {
            if isWaiting { for (text, count) in filled.warnings.counts { outcome.warnings.add(text, count) } }
            now = try current(filled)
        } else {
            now = try kept(index, of: batch, plan, isKept: hadLargeValues, isNeeded: isNeeded)
        }
        try setWriteCheckpoints(now.row, of: now.batch)
        let large = largeValues(of: now, plan, isNeeded: isNeeded)
        guard oldKey == key else {
            if previous != nil { try rows.remove(oldKey, from: plan.table) }
            return try rows.write(
                writerRow(now, key, plan, large), replacing: try rows.places(of: key, in: plan.table))
        }
        try rows.write(writerRow(now, key, plan, large, known: known), replacing: previous)
    }

    /// Sets the write checkpoints of a row that does not wait; whether it is synced does not matter.
    private func setWriteCheckpoints(_ row: EvaluatedBatch.Row, of batch: EvaluatedBatch) throws {
        for named in batch.writeCheckpoints[row.writeCheckpoints] { try rows.set(named) }
    }

    // MARK: Rows as they are now

    /// A row of the batch in hand; one whose large values are kept for no other reason than that some are already is
    /// evaluated again for them.
    private mutating func kept(
        _ index: Int, of batch: EvaluatedBatch, _ plan: TablePlan, isKept: Bool, isNeeded: Bool
    ) throws -> Current {
        let row = batch.rows[index]
        if isKept, row.large == nil, mayKeepLargeValues(row, plan, isNeeded: isNeeded),
            let source = batch.source?.alone(index, filledWith: nil)
        {
            return try current(evaluatedAgain(source))
        }
        try resolve(row.operations, of: batch)
        return Current(row: row, batch: batch, buckets: buckets)
    }

    /// The only row of a batch.
    private func current(_ batch: EvaluatedBatch) throws -> Current {
        let row = batch.rows[0]
        var ids = Array(repeating: Int64(0), count: batch.buckets.count)
        // Others were named by queries that then had no value for the row.
        for operation in batch.operations[row.operations] where ids[operation.bucket] == 0 {
            ids[operation.bucket] = try rows.bucket(
                named: Self.name(batch.buckets[operation.bucket], in: batch))
        }
        return Current(row: row, batch: batch, buckets: ids)
    }

    /// Evaluates a batch of one row, with its large values.
    private func evaluatedAgain(_ source: ChangeBatch) -> EvaluatedBatch {
        var limits = group.store.limits
        limits.largeValueBytes = -1
        return RowEvaluation.evaluateAtOnce(source, group.context.converter, limits: limits)
    }

    /// Looks up the buckets that operations of the batch in hand name, each once.
    private mutating func resolve(_ operations: Range<Int>, of batch: EvaluatedBatch) throws {
        for index in operations {
            let bucket = batch.operations[index].bucket
            guard buckets[bucket] == 0 else { continue }
            buckets[bucket] = try rows.bucket(named: Self.name(batch.buckets[bucket], in: batch))
        }
    }

    private static func name(_ range: Range<Int>, in batch: EvaluatedBatch) -> String {
        String(decoding: batch.bytes[range], as: UTF8.self)
    }

    /// The row for the writer.
    private func writerRow(
        _ now: Current, _ key: RowKey, _ plan: TablePlan, _ large: Range<Int>?, known: LargeCells? = nil
    ) -> RowWriter.Row {
        var values = RowWriter.LargeValues.nothing
        if let large {
            let isSame = known.map {
                now.row.isTooLarge == ($0.lengths != nil) && now.batch.bytes[large].elementsEqual($0.bytes)
            }
            values = isSame == true ? .unchanged : now.row.isTooLarge ? .lengths(large) : .cells(large)
        }
        return RowWriter.Row(
            table: plan.table, key: key, operations: now.batch.operations[now.row.operations],
            buckets: now.buckets, large: values, bytes: now.batch.bytes,
            lookups: now.batch.lookups[now.row.lookups])
    }

    // MARK: Large values and fields

    /// Where the large values lie that are kept of a row; nil for none.
    private func largeValues(of now: Current, _ plan: TablePlan, isNeeded: Bool) -> Range<Int>? {
        mayKeepLargeValues(now.row, plan, isNeeded: isNeeded) ? now.row.large : nil
    }

    /// Whether large values may be kept of a row, should there be a reason.
    ///
    /// Of another layout they would be taken for what they are not. Where one is missing, which no query reads then, what
    /// is known of the others is over; but for lengths, which are those of a row that is too large at least.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - plan: Its table.
    ///   - isNeeded: Whether that a row is in no bucket may not be known without them.
    /// - Returns: Whether they may.
    private func mayKeepLargeValues(_ row: EvaluatedBatch.Row, _ plan: TablePlan, isNeeded: Bool) -> Bool {
        guard isOfLayout(plan), plan.keepsLargeValues else { return false }
        return row.isTooLarge || (!row.hasMissingValues && (row.isStored || isNeeded))
    }

    /// Whether values are surely of the layout that is known: they may stand in for those that a later update leaves out,
    /// and have the fields that are known.
    private func isOfLayout(_ plan: TablePlan) -> Bool {
        place.toldAt.map { $0 > plan.table.layout.since } ?? true
    }

    /// Whether rows may be stored that are newer than what is told.
    private var isToldBeforeWhatWasRead: Bool {
        guard let toldAt = place.toldAt, let aheadUntil = place.aheadUntil else { return false }
        return toldAt < aheadUntil
    }

    /// Whether values may have had other fields when they were told than those that are known.
    private func hasOtherFields(_ index: Int, of source: ChangeBatch?, _ plan: TablePlan) -> Bool {
        // Such a row cannot be found by its identity.
        guard plan.table.hasComposites, !isOfLayout(plan), !plan.table.hasFieldsInIdentity, let source else {
            return false
        }
        let change = source.changes[index]
        return plan.conversions.indices.contains {
            plan.conversions[$0].hasFields && source.now($0, of: change).range != nil
        }
    }
}
