import PowerSyncPostgres

/// One change of one row, as the replication stream tells it.
package enum RowChange: Sendable {
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

/// How much of a transaction has been told, which Postgres tells from its beginning when the link is made again.
package struct TransactionProgress: Sendable, Hashable {
    /// Where its commit begins.
    package let finalLSN: LSN
    /// The position of the last change of rows, or truncate, that was told.
    ///
    /// Another link may tell of fewer or more changes before it: those of tables that were published meanwhile.
    package let position: LSN
    /// How many changes of that position were told, since one record can insert many rows.
    package let changes: Int

    /// Makes a progress; by default that of no transaction.
    package init(finalLSN: LSN = .zero, position: LSN = .zero, changes: Int = 0) {
        self.finalLSN = finalLSN
        self.position = position
        self.changes = changes
    }
}

/// What is written to the state, in order.
package enum ReplicationEvent: Sendable {
    /// A change of a row.
    case change(SourceTable, RowChange)
    /// All rows of a table are gone.
    case truncate(SourceTable)
    /// The end of a transaction; everything before it may be published.
    case committed(LSN)
    /// The rows of a table were identified by what is over: it has to be read anew.
    case identityIsOver(SourceTable)
    /// A transaction goes on behind the batch.
    case told(TransactionProgress)

    /// The table whose row changes; nil for other events.
    var table: SourceTable? {
        if case .change(let table, _) = self { table } else { nil }
    }
}

/// A row of which a value is unknown: it has to be read again from the source (service 7.5).
package struct IncompleteRow: Sendable {
    /// The table.
    package let table: SourceTable
    /// The new tuple, with the identity's values.
    package let tuple: PgOutputTuple
}
