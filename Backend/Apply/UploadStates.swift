import PowerSyncPostgres
import PowerSyncWire

/// Tells what became of each operation, from what the statements returned (backend 1.6).
package enum UploadStates {
    /// Returns the state of every operation of a transaction that committed.
    ///
    /// - Parameters:
    ///   - operations: all operations of the transaction.
    ///   - plans: those executed.
    ///   - runs: the statements.
    ///   - touched: what each run has touched.
    /// - Returns: one state for each operation.
    package static func states(
        of operations: [UploadOperation], plans: [PlannedOperation], runs: [UploadRun],
        touched: [TouchedRows]
    ) -> [UploadResult.Operation] {
        var states = operations.indices.map { index in
            UploadResult.Operation(
                index: index, opID: operations[index].opID, status: "noop", code: "NO_CHANGES")
        }
        for (run, touched) in zip(runs, touched) {
            let (hit, isAll) = (touched.names, touched == .all)
            for position in run.operations.indices {
                let plan = run.operations[position]
                let isHit: Bool
                if let hit {
                    isHit = hit.contains(ExactText(plan.kind == .put ? plan.id : String(position + 1)))
                } else {
                    isHit = isAll
                }
                states[plan.index].status = isHit ? (plan.isAdjusted ? "adjusted" : "applied") : "noop"
                states[plan.index].code = isHit ? nil : code(plan)
            }
        }
        return states
    }

    private static func code(_ plan: PlannedOperation) -> String {
        guard plan.kind == .put else { return "ROW_MISSING" }
        return plan.columns.isEmpty ? "NO_CHANGES" : "SUPPRESSED_BY_TRIGGER"
    }
}

/// Which operations of a run its statement has done something for.
package enum TouchedRows: Sendable, Hashable {
    /// None.
    case nothing
    /// Every one.
    case all
    /// Of several those of these ids (PUT), or places from 1 (PATCH, DELETE), as Postgres prints them.
    case these([String])

    /// Reads what the statement of a run has returned.
    ///
    /// - Parameters:
    ///   - run: the run.
    ///   - result: the result; nil if the statement did not run to its end.
    init(of run: UploadRun, _ result: PostgresResult?) {
        guard let result else {
            self = .nothing
            return
        }
        let returned = result.columns.isEmpty ? result.affectedRows : result.rowCount
        if run.operations.count == 1 {
            // The rows of a strict statement are places, of which one may be no place.
            let isTouched = result.columns.isEmpty ? returned > 0 : !result.firstColumn.isEmpty
            self = isTouched ? .all : .nothing
        } else if run.operations[0].kind == .put, returned == run.operations.count {
            // Each row that is put is returned once at most, and no id stands twice in a run.
            self = .all
        } else {
            self = .these(result.firstColumn)
        }
    }

    /// The ids or places of `these`; nil for the others.
    fileprivate var names: Set<ExactText>? {
        guard case .these(let texts) = self else { return nil }
        return Set(texts.map(ExactText.init))
    }
}

extension PostgresResult {
    /// The texts of the first column.
    var firstColumn: [String] { (0..<rowCount).compactMap { self[$0, 0] } }
}
