import PowerSyncPostgres
import PowerSyncWire

/// One change of one row, as the replication stream tells it.
package enum RowChange: Sendable {
    /// A row that a snapshot read; it changes nothing if the row is known, since what was streamed is newer.
    case snapshot(PgOutputTuple)
    /// A new row, or one that was read again.
    case insert(PgOutputTuple)
    /// A changed row; `old` is there if the identity changed or is the whole row.
    case update(old: PgOutputTuple?, new: PgOutputTuple)
    /// A row that is gone.
    case delete(PgOutputTuple)
}

/// What is written to the state, in order.
package enum ReplicationEvent: Sendable {
    /// A change of a row.
    case change(SourceTable, RowChange)
    /// All rows of a table are gone.
    case truncate(SourceTable)
    /// The end of a transaction; everything before it may be published.
    case committed(LSN)

    /// The table whose row changes; nil for other events.
    var table: SourceTable? {
        if case .change(let table, _) = self { table } else { nil }
    }

    /// The same change with types that were read again.
    func with(_ types: TypeCatalog) -> ReplicationEvent {
        guard case .change(let table, let change) = self, table.hasComposites else { return self }
        return .change(table.described(by: table.description, types), change)
    }
}

/// A row of which a large value is unknown: it has to be read again from the source (service 7.5).
package struct IncompleteRow: Sendable {
    /// The table.
    package let table: SourceTable
    /// The new tuple, with the identity's values.
    package let tuple: PgOutputTuple
}

/// Where a source row is synced to.
package struct RowEntry: Sendable, Hashable {
    /// The bucket's id in the state file.
    package let bucket: Int64
    private let exactType: ExactText
    private let exactID: ExactText

    /// Makes an entry.
    package init(bucket: Int64, type: String, id: String) {
        self.bucket = bucket
        exactType = ExactText(type)
        exactID = ExactText(id)
    }

    /// The client's table.
    package var type: String { exactType.text }

    /// The client's id.
    package var id: String { exactID.text }
}

/// Decides which operations a changed row becomes (service 4.6).
package enum RowChangePlan {
    /// An operation to write.
    package enum Step: Sendable, Equatable {
        /// The row as it is now.
        case put(RowEntry, data: String)
        /// The row is no longer there.
        case remove(RowEntry)
    }

    /// A PUT for every place the row belongs to, even if nothing changed, then a REMOVE for each it has left.
    ///
    /// - Parameters:
    ///   - previous: Where the row was.
    ///   - current: Where it is, with its data there.
    /// - Returns: The operations in order, and where the row is now, each place once.
    package static func update(
        from previous: [RowEntry], to current: [(entry: RowEntry, data: String)]
    ) -> (steps: [Step], entries: [RowEntry]) {
        var seen: Set<RowEntry> = []
        let entries = current.map(\.entry).filter { seen.insert($0).inserted }
        let puts = current.map { Step.put($0.entry, data: $0.data) }
        return (puts + previous.filter { !seen.contains($0) }.map(Step.remove), entries)
    }
}
