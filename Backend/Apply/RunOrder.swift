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

    /// A row of the database; its table by the place in a list.
    private struct Row: Hashable {
        let table: Int
        let id: ExactText
    }

    /// Operations that are done together.
    private struct Group {
        /// The shape of the first of them.
        let shape: PlanShape
        /// The place of its table in a list.
        let table: Int
        /// Their places among all.
        var places: [Int] = []
    }

    /// The operations by table and columns, those of each in the client's order; nil where another order may show.
    ///
    /// Groups stand in the order of their first operations. So where one of a single operation fails, nothing that the
    /// client did before it has failed.
    private static func groups(of operations: [PlannedOperation]) -> [UploadRun]? {
        var groups: [Group] = []
        var known: [ObjectIdentifier: Int] = [:]
        var tables: [ExactText] = []
        var rows: Set<Row> = []
        rows.reserveCapacity(operations.count)
        var last: (shape: PlanShape, group: Int)?
        for place in operations.indices {
            let shape = operations[place].shape
            let group: Int
            if let last, last.shape === shape {
                group = last.group
            } else if let found = known[ObjectIdentifier(shape)] {
                group = found
            } else {
                guard showsNoOrder(shape) else { return nil }
                // A client may name the same columns in another order.
                group = groups.firstIndex { $0.shape.joins(shape) } ?? groups.count
                if group == groups.count {
                    guard groups.count < limit else { return nil }
                    let name = ExactText(shape.table.quoted)
                    let table = tables.firstIndex(of: name) ?? tables.count
                    if table == tables.count { tables.append(name) }
                    groups.append(Group(shape: shape, table: table))
                }
                known[ObjectIdentifier(shape)] = group
            }
            last = (shape, group)
            // Which rows are the caller's is asked in front of a run.
            guard operations[place].parents.isEmpty,
                rows.insert(Row(table: groups[group].table, id: ExactText(operations[place].id))).inserted
            else { return nil }
            groups[group].places.append(place)
        }
        // All that are in one group are it, and none is copied.
        if groups.count == 1 { return runs(of: operations) }
        return groups.flatMap { group in runs(of: group.places.map { operations[$0] }) }
    }

    /// The runs of a group, all about as long: a single operation behind thousands would stand in front of what the client
    /// did before it.
    private static func runs(of group: [PlannedOperation]) -> [UploadRun] {
        guard group.count > UploadRun.limit else { return [UploadRun(operations: group)] }
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
