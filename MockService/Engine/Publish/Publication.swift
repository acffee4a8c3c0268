import PowerSyncWire

/// A checkpoint that is on the disk, with what it changes (DESIGN.md, 2).
package struct DurableCommit: Sendable {
    /// The replication stream and its plan.
    package let served: ServedPlan
    /// The checkpoint.
    package let checkpoint: StoredCheckpoint
    /// The buckets that have other operations than at the checkpoint of the stream that was handed over before, with
    /// their totals at this one; more may be named, fewer may not.
    package let changed: ChangedBuckets
    /// The keys of lookups that find something else than at that checkpoint; more may be named, fewer may not.
    package let lookups: ChangedLookups
    /// The write checkpoints that rows have set since that checkpoint.
    package let writeCheckpoints: SetWriteCheckpoints
    /// When it was replicated; nil for one that an earlier process has left.
    package let time: ContinuousClock.Instant?

    /// Makes a commit of its parts.
    package init(
        served: ServedPlan, checkpoint: StoredCheckpoint, changed: ChangedBuckets, lookups: ChangedLookups,
        writeCheckpoints: SetWriteCheckpoints = SetWriteCheckpoints(),
        time: ContinuousClock.Instant? = ContinuousClock.now
    ) {
        self.served = served
        self.checkpoint = checkpoint
        self.changed = changed
        self.lookups = lookups
        self.writeCheckpoints = writeCheckpoints
        self.time = time
    }

    /// The replication stream.
    package var stream: StreamNumber { served.stream }
}

/// The newest checkpoint of the stream that clients are served from, when it was published; shared by all who get it.
package final class Publication: Sendable {
    /// Counts publications.
    package let sequence: UInt64
    /// The replication stream and its plan.
    package let served: ServedPlan
    /// The checkpoint.
    package let checkpoint: StoredCheckpoint
    /// The totals of the changed buckets that a stream holds, or may be about to hold, by whole name; nil if any may be
    /// one: then all are to be read.
    package let changed: [ExactText: BucketTotals]?
    /// The changed keys of lookups that a stream has used, or may be about to use; nil if any may be one.
    package let lookups: Set<LookupKey>?
    /// The write checkpoints that the position has reached, or that rows have set, by key; only of keys that a stream has.
    package let writeCheckpoints: [ExactText: Int64]

    /// Makes a publication of its parts.
    package init(
        sequence: UInt64, served: ServedPlan, checkpoint: StoredCheckpoint,
        changed: [ExactText: BucketTotals]?, lookups: Set<LookupKey>? = [],
        writeCheckpoints: [ExactText: Int64]
    ) {
        self.sequence = sequence
        self.served = served
        self.checkpoint = checkpoint
        self.changed = changed
        self.lookups = lookups
        self.writeCheckpoints = writeCheckpoints
    }

    /// The replication stream.
    package var stream: StreamNumber { served.stream }

    /// How many buckets and keys it names.
    var nameCount: Int { (changed?.count ?? 0) + (lookups?.count ?? 0) }
}
