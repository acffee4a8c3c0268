import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// One change of one row, as tests tell it.
enum RowChange: Sendable {
    /// A row that a snapshot read; it changes nothing if the row is known, since what was streamed is newer.
    case snapshot(PgOutputTuple)
    /// A new row.
    case insert(PgOutputTuple)
    /// A row that was read again, because a value was not known.
    case readAgain(PgOutputTuple)
    /// A changed row; `old` is there if the identity changed or is the whole row.
    case update(old: PgOutputTuple?, new: PgOutputTuple)
    /// A row that is gone.
    case delete(PgOutputTuple)
}

/// What is written to the state, in order.
enum ReplicationEvent: Sendable {
    /// A change of a row.
    case change(SourceTable, RowChange)
    /// All rows of a table are gone.
    case truncate(SourceTable)
    /// What follows is told by a transaction that is committed there.
    case begun(LSN)
    /// The end of a transaction; everything before it may be published.
    case committed(LSN)
    /// The rows of a table were identified by what is over: it has to be read anew.
    case identityIsOver(SourceTable)
    /// A transaction goes on behind the batch.
    case told(TransactionProgress)
}

extension ServiceStore {
    /// Makes a batch of events.
    func batch(
        _ events: [ReplicationEvent], _ context: EvaluationContext, isAhead: Bool = false
    ) async throws -> ChangeBatch {
        let isEvaluated = events.contains { if case .change = $0 { true } else { false } }
        var plans: [TablePlan] = []
        func place(of table: SourceTable) async throws -> Int {
            let known = plans.firstIndex {
                $0.table.id == table.id && $0.table.description == table.description
                    && $0.table.layout == table.layout
            }
            if let known { return known }
            plans.append(isEvaluated ? try await plan(table, context) : TablePlan(table))
            return plans.count - 1
        }
        var builder = BatchBuilder([])
        for event in events {
            switch event {
            case .change(let table, let change):
                let index = try await place(of: table)
                switch change {
                case .snapshot(let tuple): builder.add(.snapshot, table: index, new: tuple)
                case .insert(let tuple): builder.add(.insert, table: index, new: tuple)
                case .readAgain(let tuple): builder.add(.readAgain, table: index, new: tuple)
                case .update(let old, let new): builder.add(.update, table: index, new: new, old: old)
                case .delete(let tuple): builder.add(.delete, table: index, old: tuple)
                }
            case .truncate(let table): builder.add(.truncate(try await place(of: table)))
            case .begun(let position): builder.add(.begun(position))
            case .committed(let position): builder.add(.committed(position))
            case .identityIsOver(let table): builder.add(.identityIsOver(try await place(of: table)))
            case .told(let progress): builder.add(.told(progress))
            }
        }
        var batch = builder.batch
        batch.tables = plans
        batch.isAhead = isAhead
        batch.mayBeIncomplete =
            batch.cells.contains(.unchanged) || plans.contains { $0.table.hasComposites }
        return batch
    }

    /// Stores events as one group, and tells nobody.
    @discardableResult
    func apply(
        _ events: [ReplicationEvent], _ context: EvaluationContext, isAhead: Bool = false
    ) async throws -> WriteOutcome {
        let batch = try await batch(events, context, isAhead: isAhead)
        let evaluated = RowEvaluation.evaluateAtOnce(batch, context.converter, limits: limits)
        return try await GroupWriter(self, context).write([evaluated])
    }

    /// Notes how far the snapshot of a table has come, as a batch of its rows does.
    func noteSnapshot(_ table: SourceTable) async throws {
        try await pool.write { connection in
            try Self.noteSnapshot(
                table.id, key: table.snapshotKey, isDone: table.isSnapshotDone, connection)
        }
    }

    /// Makes a stream the one that clients are served from, as its first checkpoint does.
    func activate(_ number: StreamNumber) async throws {
        try await pool.write { connection in
            try connection.transaction { try Self.activate(number, connection) }
        }
    }
}
