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
    ///   - touched: what each statement returned in its only column.
    /// - Returns: one state for each operation.
    package static func states(
        of operations: [UploadOperation], plans: [PlannedOperation], runs: [UploadRun], touched: [[String]]
    ) -> [UploadResult.Operation] {
        var states = operations.enumerated().map { index, operation in
            UploadResult.Operation(
                index: index, opID: operation.opID, status: "noop", code: "NO_CHANGES")
        }
        for (run, texts) in zip(runs, touched) {
            let hit = Set(texts)
            for (position, plan) in run.operations.enumerated() {
                let isHit: Bool
                if run.operations.count == 1 {
                    isHit = !hit.isEmpty
                } else {
                    isHit = hit.contains(plan.kind == .put ? plan.id : String(position + 1))
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

extension PostgresResult {
    /// The texts of the first column.
    var firstColumn: [String] { (0..<rowCount).compactMap { self[$0, 0] } }
}
