import PowerSyncWire

/// In which order the operations of a transaction are done, and which of them together.
///
/// The client's order, unless nobody can see another one: then all rows that are put into the same columns of one table
/// are one statement, wherever they stand (SPEC.md, "What is done together").
package enum RunOrder {
    /// The most statements that operations are regrouped into: a transaction that needs more has no two rows alike.
    package static let limit = 64

    /// Cuts a transaction into runs; operations that change nothing are in none.
    ///
    /// - Parameters:
    ///   - operations: in the client's order.
    ///   - alone: the indices of those that have runs of their own, because they failed together with others: then all are
    ///     done in the client's order, so that the first that fails is the client's first.
    /// - Returns: the runs in order.
    package static func runs(of operations: [PlannedOperation], alone: Set<Int>) -> [UploadRun] {
        if alone.isEmpty, let groups = groups(of: operations) { return groups }
        return UploadRun.runs(of: operations, alone: alone)
    }

    /// A row of the database.
    private struct Row: Hashable {
        let table: ExactText
        let id: ExactText
    }

    /// The operations by table and columns, those of each in the client's order; nil where another order may show.
    ///
    /// Groups stand in the order of their first operations. So where one of a single operation fails, nothing that the
    /// client did before it has failed.
    private static func groups(of operations: [PlannedOperation]) -> [UploadRun]? {
        var groups: [[PlannedOperation]] = []
        var places: [ObjectIdentifier: Int] = [:]
        var rows: Set<Row> = []
        rows.reserveCapacity(operations.count)
        for operation in operations {
            let shape = operation.shape
            let place: Int
            if let known = places[ObjectIdentifier(shape)] {
                place = known
            } else {
                guard showsNoOrder(shape) else { return nil }
                // A client may name the same columns in another order.
                place = groups.firstIndex { $0[0].shape.joins(shape) } ?? groups.count
                if place == groups.count {
                    guard groups.count < limit else { return nil }
                    groups.append([])
                }
                places[ObjectIdentifier(shape)] = place
            }
            // Which rows are the caller's is asked in front of a run.
            guard operation.parents.isEmpty,
                rows.insert(Row(table: ExactText(shape.table.quoted), id: ExactText(operation.id))).inserted
            else { return nil }
            groups[place].append(operation)
        }
        return groups.flatMap { runs(of: $0) }
    }

    /// The runs of a group, all about as long: a single operation behind thousands would stand in front of what the client
    /// did before it.
    private static func runs(of group: [PlannedOperation]) -> [UploadRun] {
        let count = (group.count + UploadRun.limit - 1) / UploadRun.limit
        let size = (group.count + count - 1) / count
        return stride(from: 0, to: group.count, by: size).map { start in
            UploadRun(operations: Array(group[start..<min(start + size, group.count)]))
        }
    }

    private static func showsNoOrder(_ shape: PlanShape) -> Bool {
        shape.kind == .put && shape.table.showsNoOrder && shape.table.id.hasCanonicalText
    }
}
