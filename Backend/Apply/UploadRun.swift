import PowerSyncWire

/// Operations that one statement can do, neighbours unless their order shows nowhere (`RunOrder`): same table, same kind,
/// same columns, no id twice, no row that names one of the same run (backend 2.10).
package struct UploadRun: Sendable, Hashable {
    /// The operations in the client's order.
    package let operations: [PlannedOperation]

    /// The most operations of one statement, so that a long transaction is not held in memory twice at once.
    package static let limit = 5_000

    /// Makes a run of one operation.
    package init(_ operation: PlannedOperation) { operations = [operation] }

    /// Makes a run of operations that one statement can do.
    init(operations: [PlannedOperation]) { self.operations = operations }

    /// Cuts a transaction into runs; operations that change nothing are in none.
    ///
    /// A repeated id ends a run: in one upsert it would be an error, and in one update any of its rows would
    /// win.
    ///
    /// - Parameters:
    ///   - operations: in the client's order.
    ///   - alone: the indices of those that have runs of their own, so that a failure names them.
    /// - Returns: the runs in order.
    package static func runs(of operations: [PlannedOperation], alone: Set<Int> = []) -> [UploadRun] {
        var runs: [UploadRun] = []
        var current: [PlannedOperation] = []
        var ids: Set<ExactText> = []
        for operation in operations where !operation.isEmpty {
            let id = ExactText(operation.id)
            if let first = current.first {
                let isJoined =
                    current.count < limit && joins(operation, first) && !ids.contains(id)
                    && !names(operation, oneOf: ids)
                    && !alone.contains(operation.index) && !alone.contains(first.index)
                if !isJoined {
                    runs.append(UploadRun(operations: current))
                    current.removeAll()
                    ids.removeAll()
                }
            }
            current.append(operation)
            ids.insert(id)
        }
        if !current.isEmpty { runs.append(UploadRun(operations: current)) }
        return runs
    }

    /// Whether a row that is put names one that the same run would put: whether that is there is asked before the run.
    private static func names(_ operation: PlannedOperation, oneOf ids: Set<ExactText>) -> Bool {
        guard operation.kind == .put, !operation.parents.isEmpty else { return false }
        return operation.parents.contains { place, text in
            operation.table.parents[place].source.name == operation.table.source.name
                && ids.contains(ExactText(text))
        }
    }

    private static func joins(_ operation: PlannedOperation, _ first: PlannedOperation) -> Bool {
        // Where two spellings may be one id, only Postgres can tell whether an id repeats.
        first.shape.table.id.hasCanonicalText && first.shape.joins(operation.shape)
    }
}
