import PowerSyncPostgres

/// Collects messages of the replication stream into batches, without doing anything itself (service 7.4).
package struct ChangeAssembler {
    /// What has to happen before the next message is handled.
    package enum Need: Sendable, Equatable {
        /// The table must be looked up, after the batch so far is written; `set` answers, then the message is handled
        /// again.
        case table(PgOutputRelation)
    }

    private let appliedLSN: LSN
    private let partial: TransactionProgress
    private var tables: [UInt32: SourceTable] = [:]
    /// What was told of relations since they were looked up.
    private var unresolved: [UInt32: PgOutputRelation] = [:]
    private var isSkipping = false
    /// Where the transaction is committed that is being told.
    private(set) var finalLSN = LSN.zero
    /// The id of that transaction.
    private(set) var transactionID: UInt32 = 0
    /// The position of the last change that it has told, and how many of that position.
    private var last = (position: LSN.zero, changes: 0)
    private var size = 0
    /// Whether a transaction has begun that is not complete.
    package private(set) var isInTransaction = false
    /// What waits to be written.
    package private(set) var events: [ReplicationEvent] = []

    /// Makes an assembler.
    ///
    /// Postgres repeats what it has no acknowledgement for.
    ///
    /// - Parameters:
    ///   - appliedLSN: The end of the last transaction that was applied; those before it are skipped.
    ///   - partial: What was applied of the one behind it; that is skipped, too.
    package init(appliedLSN: LSN, partial: TransactionProgress = TransactionProgress()) {
        self.appliedLSN = appliedLSN
        self.partial = partial
    }

    /// Whether the batch is so large that it must be written, even in the middle of a transaction (service
    /// 7.10).
    package var isFull: Bool { events.count >= 2000 || size >= 5 << 20 }

    /// Names the table of a relation; nil if its rows do not matter.
    package mutating func set(_ table: SourceTable?, for relation: UInt32) {
        tables[relation] = table
        unresolved[relation] = nil
    }

    /// What was told of a relation when it was looked up; nil if its changes do not matter.
    package func description(of relation: UInt32) -> TableDescription? { tables[relation]?.description }

    /// Puts another record in the place of a table; what was told of its relation since is looked up all the same.
    package mutating func replace(_ table: SourceTable?, for relation: UInt32) { tables[relation] = table }

    /// Takes the batch; one that ends in the middle of a transaction says how much of it was told, and so does a truncate of
    /// what stands in front of it.
    package mutating func takeEvents() -> [ReplicationEvent] {
        defer {
            events = []
            size = 0
        }
        guard !events.isEmpty, isInTransaction, last.changes > 0 else { return events }
        return events + [.told(progress(last))]
    }

    private func progress(_ last: (position: LSN, changes: Int)) -> TransactionProgress {
        TransactionProgress(finalLSN: finalLSN, position: last.position, changes: last.changes)
    }

    /// Handles one message.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - position: Where the log tells of it; that of changes grows within a transaction.
    /// - Returns: What has to happen before the next one.
    package mutating func handle(_ message: PgOutputMessage, at position: LSN) -> Need? {
        let relations = message.relations
        let former = last
        if !relations.isEmpty {
            let next = (position: position, changes: position == last.position ? last.changes + 1 : 1)
            let isRepeated =
                isSkipping || (finalLSN == partial.finalLSN && next <= (partial.position, partial.changes))
            // A relation is looked up for a change that counts. What is repeated tells of shapes that are over; looking
            // them up would replace the table by what it was.
            if !isRepeated, let oid = relations.first(where: { unresolved[$0] != nil }) {
                return unresolved[oid].map(Need.table)
            }
            last = next
            guard !isRepeated else { return nil }
        }
        switch message {
        case .begin(let finalLSN, _, let transactionID):
            isInTransaction = true
            self.finalLSN = finalLSN
            self.transactionID = transactionID
            last = (.zero, 0)
            // The final position is where the commit begins, the stored one where it ends.
            isSkipping = finalLSN < appliedLSN
        case .commit(_, let endLSN, _):
            if !isSkipping { events.append(.committed(endLSN)) }
            isInTransaction = false
            isSkipping = false
        case .relation(let relation): unresolved[relation.oid] = relation
        case .insert(let relation, let new): add(relation, .insert(new), new)
        case .update(let relation, let old, let new): add(relation, .update(old: old?.tuple, new: new), new)
        case .delete(let relation, let old): add(relation, .delete(old.tuple), old.tuple)
        case .truncate(let relations, _):
            let truncated = relations.compactMap { tables[$0] }.filter { !wasRead($0) }
            // Rows are removed in pieces: should the service end between two, what stands in front is not applied again.
            if !truncated.isEmpty, former.changes > 0 { events.append(.told(progress(former))) }
            events += truncated.map { ReplicationEvent.truncate($0) }
        case .message, .origin, .type: break
        }
        return nil
    }

    /// Whether what is told was read with the rows of a table.
    private func wasRead(_ table: SourceTable) -> Bool {
        table.wasRead(transactionID, committedAt: finalLSN)
    }

    private mutating func add(_ relation: UInt32, _ change: RowChange, _ tuple: PgOutputTuple) {
        guard var table = tables[relation], !wasRead(table) else { return }
        table.toldAt = finalLSN
        events.append(.change(table, change))
        size += tuple.reduce(64) { $0 + ($1.text?.utf8.count ?? 0) }
    }
}

extension PgOutputMessage {
    /// The relations whose rows the message changes.
    fileprivate var relations: [UInt32] {
        switch self {
        case .insert(let relation, _), .update(let relation, _, _), .delete(let relation, _): [relation]
        case .truncate(let relations, _): relations
        default: []
        }
    }
}
