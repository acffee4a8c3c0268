import PowerSyncPostgresValues

/// What became of changes that are on the disk.
package struct WriteOutcome: Sendable {
    /// The end of the last transaction that is stored; nil if none ended.
    package var committed: LSN?
    /// Up to where the state has everything, of which the source may forget it; nil if that is not further than before.
    package var durable: LSN?
    /// The newly published checkpoint, if there is one.
    package var checkpoint: StoredCheckpoint?
    /// The buckets that this checkpoint changes since the one before.
    package var changed = ChangedBuckets()
    /// Rows that have to be read again from the source.
    package var incomplete: [IncompleteRow] = []
    /// Tables that have to be read anew.
    package var over: [SourceTable] = []
    /// What an operator should know.
    package var warnings = RowWarnings()
    /// Whether clients are served from this stream from now on.
    package var hasSwitched = false
    /// How many batches there were, those of snapshots left out.
    package var batches = 0
    /// How many changes of rows were in these.
    package var changes = 0

    /// Makes an outcome of nothing.
    package init() {}

    /// Adds what became of the changes behind.
    package mutating func add(_ next: WriteOutcome) {
        committed = next.committed ?? committed
        durable = [durable, next.durable].compactMap { $0 }.max()
        checkpoint = next.checkpoint ?? checkpoint
        changed.formUnion(next.changed)
        incomplete += next.incomplete
        over += next.over
        for (text, count) in next.warnings.counts { warnings.add(text, count) }
        hasSwitched = hasSwitched || next.hasSwitched
        batches += next.batches
        changes += next.changes
    }
}
