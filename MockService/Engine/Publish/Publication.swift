import PowerSyncWire

/// A checkpoint that is on the disk, with what it changes (DESIGN.md, 2).
package struct DurableCommit: Sendable {
    /// The replication stream.
    package let stream: StreamNumber
    /// Its configuration.
    package let config: CompiledSyncConfig
    /// The checkpoint.
    package let checkpoint: StoredCheckpoint
    /// The buckets that have other operations than at the checkpoint of the stream that was handed over before, with
    /// their totals at this one; more may be named, fewer may not.
    package let changed: ChangedBuckets
    /// When it was replicated; nil for one that an earlier process has left.
    package let time: ContinuousClock.Instant?

    /// Makes a commit of its parts.
    package init(
        stream: StreamNumber, config: CompiledSyncConfig, checkpoint: StoredCheckpoint,
        changed: ChangedBuckets, time: ContinuousClock.Instant? = ContinuousClock.now
    ) {
        self.stream = stream
        self.config = config
        self.checkpoint = checkpoint
        self.changed = changed
        self.time = time
    }
}

/// The newest checkpoint of the stream that clients are served from, when it was published; shared by all who get it.
package final class Publication: Sendable {
    /// Counts publications.
    package let sequence: UInt64
    /// The replication stream.
    package let stream: StreamNumber
    /// Its configuration.
    package let config: CompiledSyncConfig
    /// The checkpoint.
    package let checkpoint: StoredCheckpoint
    /// The totals of the changed buckets that a stream holds, by whole name; nil if any may be one: then all are to be
    /// read.
    package let changed: [ExactText: BucketTotals]?
    /// The write checkpoints that the position has reached, by key; only of keys that a stream has.
    package let writeCheckpoints: [ExactText: Int64]

    /// Makes a publication of its parts.
    package init(
        sequence: UInt64, stream: StreamNumber, config: CompiledSyncConfig, checkpoint: StoredCheckpoint,
        changed: [ExactText: BucketTotals]?, writeCheckpoints: [ExactText: Int64]
    ) {
        self.sequence = sequence
        self.stream = stream
        self.config = config
        self.checkpoint = checkpoint
        self.changed = changed
        self.writeCheckpoints = writeCheckpoints
    }
}
