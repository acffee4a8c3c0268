import PowerSyncPostgresValues

/// Decides which commits of a group become visible (DESIGN.md, 3; service 4.6).
///
/// It stands in the midst of a group: what is told to it is what stands before the next commit.
package struct CommitRule: Sendable, Equatable {
    private var isSnapshotDone: Bool
    /// Whether rows are stored that are newer than the log, up to a position that is not known.
    private var isAhead: Bool
    /// Whether a row is missing.
    private var isIncomplete = false
    private var hold: LSN
    private var checkpoint: StoredCheckpoint
    /// The last operation that is on the disk.
    private let lastOperation: Int64

    /// Begins in front of a group.
    ///
    /// - Parameter stream: The stream as the disk has it.
    package init(_ stream: StreamRecord) {
        isSnapshotDone = stream.isSnapshotDone
        isAhead = stream.isAhead
        hold = stream.noCheckpointBefore
        checkpoint = stream.checkpoint
        lastOperation = stream.lastOperation
    }

    /// Up to where rows may be stored that are newer than what the stream says.
    package var aheadUntil: LSN { isAhead || isIncomplete ? LSN(rawValue: .max) : hold }

    /// Whether all that is on the disk is published.
    package var isPublished: Bool { lastOperation <= checkpoint.operation }

    /// Rows follow that were read from the source.
    package mutating func readsAhead() { isAhead = true }

    /// A row is missing, or a table has to be read anew.
    ///
    /// A transaction of which a row is missing is stored: it must not be published, also not with the next one, should
    /// reading the row again fail.
    package mutating func misses() { isIncomplete = true }

    /// Rows that were read have a position.
    ///
    /// - Parameters:
    ///   - position: No checkpoint is published before the log has passed it.
    ///   - isAhead: Whether more is being read.
    ///   - isSnapshotDone: Whether that ends the initial snapshot.
    package mutating func holds(until position: LSN, isAhead: Bool, isSnapshotDone: Bool) {
        hold = max(hold, position)
        self.isAhead = self.isAhead && isAhead
        self.isSnapshotDone = self.isSnapshotDone || isSnapshotDone
    }

    /// Decides on a commit.
    ///
    /// - Parameters:
    ///   - position: The end of the transaction.
    ///   - written: The last operation of the group so far; 0 if it has none.
    ///   - mayShow: Whether clients may be served the checkpoint.
    /// - Returns: The checkpoint that it becomes; nil if it is stored, and not visible.
    package mutating func commits(
        _ position: LSN, written: Int64, mayShow: (StoredCheckpoint) -> Bool
    ) -> StoredCheckpoint? {
        guard isSnapshotDone, !isAhead, !isIncomplete, position >= hold else { return nil }
        // Ids are shared by all streams, so only what this one wrote moves its checkpoint.
        let next = StoredCheckpoint(
            operation: max(checkpoint.operation, lastOperation, written), lsn: position)
        guard mayShow(next) else { return nil }
        checkpoint = next
        return next
    }
}
