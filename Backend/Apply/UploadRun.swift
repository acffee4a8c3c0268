import PowerSyncWire

/// Neighbouring operations that one statement can do: same table, same kind, same columns, no id twice
/// (backend 2.10).
package struct UploadRun: Sendable, Hashable {
    /// The operations in the client's order.
    package let operations: [PlannedOperation]

    /// The most operations of one statement, so that a long transaction is not held in memory twice at once.
    package static let limit = 5_000

    /// Makes a run of one operation.
    package init(_ operation: PlannedOperation) { operations = [operation] }

    private init(operations: [PlannedOperation]) { self.operations = operations }

    /// Cuts a transaction into runs; operations that change nothing are in none.
    ///
    /// A repeated id ends a run: in one upsert it would be an error, and in one update any of its rows would
    /// win.
    ///
    /// - Parameters:
    ///   - operations: in the client's order.
    ///   - isRowWise: whether each run has one operation, so that a failure names it.
    /// - Returns: the runs in order.
    package static func runs(of operations: [PlannedOperation], isRowWise: Bool = false) -> [UploadRun] {
        var runs: [UploadRun] = []
        var current: [PlannedOperation] = []
        var ids: Set<String> = []
        for operation in operations where !operation.isEmpty {
            if let first = current.first {
                let isJoined =
                    !isRowWise && current.count < limit && joins(operation, first)
                    && !ids.contains(operation.id)
                if !isJoined {
                    runs.append(UploadRun(operations: current))
                    current.removeAll()
                    ids.removeAll()
                }
            }
            current.append(operation)
            ids.insert(operation.id)
        }
        if !current.isEmpty { runs.append(UploadRun(operations: current)) }
        return runs
    }

    private static func joins(_ operation: PlannedOperation, _ first: PlannedOperation) -> Bool {
        // Where two spellings may be one id, only Postgres can tell whether an id repeats.
        first.kind == operation.kind && first.table.name == operation.table.name
            && first.table.id.kind.hasCanonicalText
            && first.columns.map(\.name) == operation.columns.map(\.name)
    }
}
