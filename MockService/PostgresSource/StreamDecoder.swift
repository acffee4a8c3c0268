import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine

/// Reads messages of the replication stream into batches, without doing anything itself (service 7.4): texts stay where
/// they were received.
package struct StreamDecoder {
    /// What has to happen before the next message is read.
    package enum Step: Sendable, Equatable {
        /// The table must be looked up, after the batch so far is written; `set` answers, then the message is read again.
        case table(PgOutputRelation)
        /// Everything before `end` has been sent; the server may ask for a status at once.
        case keepalive(end: LSN, replyRequested: Bool)
        /// What was read may come to so much that it is to be submitted first.
        case full
    }

    /// What was read, for those who count.
    package struct Notes: Sendable, Equatable {
        /// Bytes of messages.
        package var bytes = 0
        /// Commits.
        package var commits = 0
        /// The transactions that began.
        package var begun: [UInt32] = []
        /// When the last of these was committed, in microseconds since 2000; nil if none began.
        package var commitTime: Int64?

        /// Makes notes of nothing.
        package init() {}
    }

    private let appliedLSN: LSN
    private let partial: TransactionProgress
    private let limits: StoreLimits
    private var tables: [UInt32: TablePlan] = [:]
    /// What was told of relations since they were looked up.
    private var unresolved: [UInt32: PgOutputRelation] = [:]
    private var isSkipping = false
    /// Where the transaction is committed that is being told.
    package private(set) var finalLSN = LSN.zero
    /// The id of that transaction.
    package private(set) var transactionID: UInt32 = 0
    /// The position of the last change that it has told, and how many of that position.
    private var last = (position: LSN.zero, changes: 0)
    /// Whether a transaction has begun that is not complete.
    package private(set) var isInTransaction = false
    private var notes = Notes()

    /// What waits to be submitted; its bytes are also those of messages that were not read yet.
    private var batch = ChangeBatch()
    /// The tables of the batch, by relation.
    private var indexes: [UInt32: Int] = [:]
    /// The transaction that the batch named last.
    private var begun: LSN?
    /// How many bytes of the batch's messages tell of rows that may come to many times as much.
    private var multipliedBytes = 0
    /// The table of the last row, with its index in the batch.
    private var current: (relation: UInt32, plan: TablePlan, index: Int)?
    private var values: [PostgresCell] = []
    /// Where messages end in the bytes of the batch, where the first one begins, and which is next.
    private var ends: [Int] = []
    private var start = 0
    private var next = 0

    /// Makes a decoder.
    ///
    /// Postgres repeats what it has no acknowledgement for.
    ///
    /// - Parameters:
    ///   - appliedLSN: The end of the last transaction that was applied; those before it are skipped.
    ///   - partial: What was applied of the one behind it; that is skipped, too.
    ///   - limits: How large a batch is.
    package init(
        appliedLSN: LSN, partial: TransactionProgress = TransactionProgress(),
        limits: StoreLimits = StoreLimits()
    ) {
        self.appliedLSN = appliedLSN
        self.partial = partial
        self.limits = limits
    }

    // MARK: Tables

    /// Names the table of a relation; nil if its rows do not matter.
    package mutating func set(_ table: TablePlan?, for relation: UInt32) {
        replace(table, for: relation)
        unresolved[relation] = nil
    }

    /// What was told of a relation when it was looked up; nil if its changes do not matter.
    package func description(of relation: UInt32) -> TableDescription? {
        tables[relation]?.table.description
    }

    /// Puts another record in the place of a table; what was told of its relation since is looked up all the same.
    package mutating func replace(_ table: TablePlan?, for relation: UInt32) {
        tables[relation] = table
        indexes[relation] = nil
        current = nil
    }

    // MARK: Batches

    /// Whether nothing waits to be submitted.
    package var isEmpty: Bool { batch.isEmpty }

    /// Whether the batch is so large that it must be written, even in the middle of a transaction (service 7.10).
    package var isFull: Bool {
        batch.changes.count >= limits.batchChanges
            || (!batch.changes.isEmpty && batch.bytes.count >= limits.batchBytes)
    }

    /// How much the next buffer may have.
    package var room: PostgresFrames.Limits {
        PostgresFrames.Limits(
            bytes: max(1, limits.batchBytes - (batch.changes.isEmpty ? 0 : batch.bytes.count)),
            count: max(1, limits.batchChanges - batch.changes.count))
    }

    /// Takes what was read since the last call; nil if there is nothing.
    package mutating func takeNotes() -> Notes? {
        guard notes != Notes() else { return nil }
        defer { notes = Notes() }
        return notes
    }

    /// Takes the batch; one that ends in the middle of a transaction says how much of it was told, and so does a truncate
    /// of what stands in front of it.
    ///
    /// - Returns: The batch; nil if there is nothing in it.
    package mutating func take() -> ChangeBatch? {
        guard !batch.isEmpty else { return nil }
        var taken = batch
        batch = ChangeBatch()
        if next < ends.count {
            // A table is looked up in the midst of a buffer: the rest of it moves.
            let first = next == 0 ? start : ends[next - 1]
            batch.bytes = Array(taken.bytes[first..<(ends.last ?? first)])
            ends = ends[next...].map { $0 - first }
            taken.bytes.removeLast(taken.bytes.count - first)
        } else {
            ends = []
        }
        (start, next) = (0, 0)
        indexes.removeAll(keepingCapacity: true)
        current = nil
        begun = nil
        multipliedBytes = 0
        if isInTransaction, last.changes > 0 { taken.append(.told(progress(last))) }
        return taken
    }

    private func progress(_ last: (position: LSN, changes: Int)) -> TransactionProgress {
        TransactionProgress(finalLSN: finalLSN, position: last.position, changes: last.changes)
    }

    // MARK: Messages

    /// Adds messages that have arrived; all of those before have been read.
    ///
    /// - Parameter frames: The messages; nothing is left in it.
    package mutating func append(_ frames: inout PostgresFrames) {
        precondition(next == ends.count, "messages are read in order")
        if batch.changes.isEmpty {
            // What they had is of no use any more.
            start = 0
            (batch.bytes, ends) = frames.take()
        } else {
            start = batch.bytes.count
            let more = frames.take()
            batch.bytes += more.bytes
            ends = more.ends.map { $0 + start }
        }
        next = 0
    }

    /// Reads messages up to one that something has to happen for.
    ///
    /// - Returns: What has to happen; nil if all have been read.
    /// - Throws: `PostgresError` for a message that is malformed.
    package mutating func step() throws(PostgresError) -> Step? {
        while next < ends.count {
            let range = (next == 0 ? start : ends[next - 1])..<ends[next]
            switch try ReplicationFrame.read(batch.bytes, in: range) {
            case .keepalive(let end, let replyRequested):
                next += 1
                return .keepalive(end: end, replyRequested: replyRequested)
            case .xlog(let position, _, let payload):
                if let relation = try read(payload, at: position) { return .table(relation) }
                notes.bytes += payload.count
                next += 1
                if multipliedBytes >= limits.multipliedBytes { return .full }
            }
        }
        return nil
    }

    /// Reads a message; returns a relation that has to be looked up before.
    private mutating func read(
        _ payload: Range<Int>, at position: LSN
    ) throws(PostgresError) -> PgOutputRelation? {
        values.removeAll(keepingCapacity: true)
        if let change = try PgOutputRowChange.read(batch.bytes, in: payload, cells: &values) {
            let former = last
            switch turn(of: change.relation, at: position) {
            case .lookUp(let relation): return relation
            case .skip: break
            case .read: add(change, bytes: payload.count, behind: former)
            }
            return nil
        }
        switch try PgOutputMessage.decode(batch.bytes, in: payload) {
        case .begin(let finalLSN, let commitTime, let transactionID):
            begin(transactionID, finalLSN: finalLSN)
            notes.begun.append(transactionID)
            notes.commitTime = commitTime
        case .commit(_, let endLSN, _):
            if !isSkipping { batch.append(.committed(endLSN)) }
            isInTransaction = false
            isSkipping = false
            notes.commits += 1
        case .relation(let relation): unresolved[relation.oid] = relation
        case .truncate(let relations, _): return truncate(relations, at: position)
        case .insert, .update, .delete, .message, .origin, .type: break
        }
        return nil
    }

    private mutating func begin(_ transactionID: UInt32, finalLSN: LSN) {
        isInTransaction = true
        self.finalLSN = finalLSN
        self.transactionID = transactionID
        last = (.zero, 0)
        // The final position is where the commit begins, the stored one where it ends.
        isSkipping = finalLSN < appliedLSN
    }

    private enum Turn {
        case lookUp(PgOutputRelation)
        case skip
        case read
    }

    /// Counts a change, and says whether it is applied.
    ///
    /// A relation is looked up for a change that counts. What is repeated tells of shapes that are over; looking them up
    /// would replace the table by what it was.
    private mutating func turn(of relation: UInt32, at position: LSN) -> Turn {
        let next = (position: position, changes: position == last.position ? last.changes + 1 : 1)
        guard !isRepeated(next) else {
            last = next
            return .skip
        }
        if !unresolved.isEmpty, let told = unresolved[relation] { return .lookUp(told) }
        last = next
        return .read
    }

    private func isRepeated(_ change: (position: LSN, changes: Int)) -> Bool {
        isSkipping || (finalLSN == partial.finalLSN && change <= (partial.position, partial.changes))
    }

    private mutating func truncate(_ relations: [UInt32], at position: LSN) -> PgOutputRelation? {
        let former = last
        let next = (position: position, changes: position == last.position ? last.changes + 1 : 1)
        let isRepeated = isRepeated(next)
        if !isRepeated, let relation = relations.first(where: { unresolved[$0] != nil }) {
            return unresolved[relation]
        }
        last = next
        guard !isRepeated else { return nil }
        let truncated = relations.filter { relation in tables[relation].map { !wasRead($0) } ?? false }
        // Rows are removed in pieces: should the service end between two, what stands in front is not applied again.
        if !truncated.isEmpty, former.changes > 0 { batch.append(.told(progress(former))) }
        for relation in truncated {
            if let index = index(of: relation)?.index { batch.append(.truncate(index)) }
        }
        return nil
    }

    /// Whether what is told was read with the rows of a table.
    private func wasRead(_ plan: TablePlan) -> Bool {
        finalLSN <= plan.table.readUntil && plan.table.wasRead(transactionID, committedAt: finalLSN)
    }

    /// The table of a relation, with its index in the batch; nil if its rows do not matter.
    private mutating func index(of relation: UInt32) -> (plan: TablePlan, index: Int)? {
        if let current, current.relation == relation { return (current.plan, current.index) }
        guard let plan = tables[relation] else { return nil }
        let index = indexes[relation] ?? batch.tables.count
        if index == batch.tables.count {
            batch.tables.append(plan)
            indexes[relation] = index
        }
        current = (relation, plan, index)
        return (plan, index)
    }

    /// Adds a change behind another one of its transaction.
    private mutating func add(
        _ change: PgOutputRowChange, bytes: Int, behind former: (position: LSN, changes: Int)
    ) {
        guard let (plan, index) = index(of: change.relation), !wasRead(plan) else { return }
        if plan.isMultiplied { multipliedBytes += bytes }
        // What stands in front may be enough for a transaction of the store, which is not applied again then.
        if plan.hasManyPlaces, former.changes > 0, !batch.changes.isEmpty {
            batch.append(.told(progress(former)))
        }
        if begun != finalLSN {
            begun = finalLSN
            batch.append(.begun(finalLSN))
        }
        let old = append(change.old, of: plan)
        let new = append(change.new, of: plan)
        if new.isPartial || plan.table.hasComposites { batch.mayBeIncomplete = true }
        let kind: ChangeBatch.Change.Kind =
            switch change.kind {
            case .insert: .insert
            case .update: .update
            case .delete: .delete
            }
        batch.changes.append(
            ChangeBatch.Change(kind, table: index, new: new.first, old: old.first))
    }

    /// Adds the cells of a row; the first one is -1 if there is none.
    private mutating func append(
        _ row: Range<Int>?, of plan: TablePlan
    ) -> (first: Int, isPartial: Bool) {
        guard let row else { return (-1, false) }
        return batch.append(values[row], columns: plan.conversions.count)
    }
}
