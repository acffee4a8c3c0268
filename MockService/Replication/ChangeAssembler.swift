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
    private var tables: [UInt32: SourceTable] = [:]
    /// What was told of relations since they were looked up.
    private var unresolved: [UInt32: PgOutputRelation] = [:]
    private var isSkipping = false
    /// Where the transaction is committed that is being told.
    private var finalLSN = LSN.zero
    private var size = 0
    /// Whether a transaction has begun that is not complete.
    package private(set) var isInTransaction = false
    /// What waits to be written.
    package private(set) var events: [ReplicationEvent] = []

    /// Makes an assembler.
    ///
    /// - Parameter appliedLSN: The end of the last transaction that was applied; those before it are skipped,
    ///   because
    ///   Postgres repeats what it has no acknowledgement for.
    package init(appliedLSN: LSN) { self.appliedLSN = appliedLSN }

    /// Whether the batch is so large that it must be written, even in the middle of a transaction (service
    /// 7.10).
    package var isFull: Bool { events.count >= 2000 || size >= 5 << 20 }

    /// Names the table of a relation; nil if its rows do not matter.
    package mutating func set(_ table: SourceTable?, for relation: UInt32) {
        tables[relation] = table
        unresolved[relation] = nil
    }

    /// Takes the batch.
    package mutating func takeEvents() -> [ReplicationEvent] {
        defer {
            events = []
            size = 0
        }
        return events
    }

    /// Handles one message.
    ///
    /// - Parameter message: The message.
    /// - Returns: What has to happen before the next one.
    package mutating func handle(_ message: PgOutputMessage) -> Need? {
        // A relation is looked up for a change that counts. What is repeated tells of shapes that are over; looking them
        // up would replace the table by what it was.
        if !isSkipping, let oid = message.relations.first(where: { unresolved[$0] != nil }) {
            return unresolved[oid].map(Need.table)
        }
        switch message {
        case .begin(let finalLSN, _, _):
            isInTransaction = true
            self.finalLSN = finalLSN
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
            guard !isSkipping else { return nil }
            for relation in relations {
                if let table = tables[relation] { events.append(.truncate(table)) }
            }
        case .message, .origin, .type: break
        }
        return nil
    }

    private mutating func add(_ relation: UInt32, _ change: RowChange, _ tuple: PgOutputTuple) {
        guard !isSkipping, var table = tables[relation] else { return }
        table.keepsLargeValues = finalLSN > table.layout.since
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
