import PowerSyncPostgresValues

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
