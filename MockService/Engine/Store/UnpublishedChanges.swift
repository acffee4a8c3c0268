import PowerSyncSystem
import PowerSyncWire

/// The buckets that one transaction of the store has written to.
package struct WrittenBuckets: Sendable {
    /// Those with operations up to its last commit of the source that becomes visible, and their totals there.
    package var upToCommit = ChangedBuckets()
    /// Those with operations behind that, or with any if there is no such commit, and their totals behind all of them.
    package var behind = ChangedBuckets()
    /// What was written to those that a stream holds, by whole name, unless it is too much to be kept.
    package var operations: [ExactText: KeptOperations] = [:]
    /// The keys of lookups that find something else at that commit.
    package var lookupsUpToCommit = ChangedLookups()
    /// Those that do behind that, or at all if there is no such commit.
    package var lookupsBehind = ChangedLookups()
    /// The write checkpoints that rows have set up to that commit.
    package var writeCheckpointsUpToCommit = SetWriteCheckpoints()
    /// Those behind it, or all if there is no such commit.
    package var writeCheckpointsBehind = SetWriteCheckpoints()

    /// Makes buckets of which there are none.
    package init() {}
}

/// What a checkpoint changes, or is going to.
package struct CheckpointChanges: Sendable {
    /// The buckets.
    package fileprivate(set) var buckets = ChangedBuckets()
    /// What was written to those of them that a stream has held all the while, by whole name.
    package fileprivate(set) var operations: [ExactText: KeptOperations] = [:]
    /// The keys of lookups that find something else.
    package fileprivate(set) var lookups = ChangedLookups()
    /// The write checkpoints that rows have set.
    package fileprivate(set) var writeCheckpoints = SetWriteCheckpoints()
}

/// What each replication stream has written since its last checkpoint.
///
/// Everything that changes a bucket is noted here: the stream, a snapshot, rows that are read again, a truncate and the
/// replacement of a table all write through `GroupWriter`. What is removed of a stopped stream nobody holds.
package final class UnpublishedChanges: Sendable {
    private let streams = Lock<[StreamNumber: CheckpointChanges]>([:])
    private let limits: StoreLimits

    /// Makes changes of no stream.
    ///
    /// - Parameter limits: How many operations are kept.
    package init(limits: StoreLimits = StoreLimits()) { self.limits = limits }

    /// How many bytes of operations are kept.
    package var keptBytes: Int {
        streams.withLock { streams in
            streams.values.flatMap { $0.operations.values }.reduce(0) { $0 + $1.byteCount }
        }
    }

    /// Notes what a transaction has written that is on the disk.
    ///
    /// - Parameters:
    ///   - written: The buckets.
    ///   - stream: The stream as it was before the transaction.
    ///   - isCheckpoint: Whether the transaction made a checkpoint of what it wrote up to its last commit.
    /// - Returns: What that checkpoint changes since the one before; nothing if there is none.
    package func note(
        _ written: WrittenBuckets, of stream: StreamRecord, isCheckpoint: Bool
    ) -> CheckpointChanges {
        streams.withLock { streams in
            // Taken out, so that it is changed in place.
            var changes = streams.removeValue(forKey: stream.number) ?? Self.first(of: stream)
            keep(written, in: &changes)
            changes.buckets.formUnion(written.upToCommit)
            changes.lookups.formUnion(written.lookupsUpToCommit)
            changes.writeCheckpoints.formUnion(written.writeCheckpointsUpToCommit)
            guard isCheckpoint else {
                changes.buckets.formUnion(written.behind)
                changes.lookups.formUnion(written.lookupsBehind)
                changes.writeCheckpoints.formUnion(written.writeCheckpointsBehind)
                streams[stream.number] = changes
                return CheckpointChanges()
            }
            streams[stream.number] = Self.rest(of: changes, written)
            return changes
        }
    }

    /// What may have changed when nothing is known of a stream: what was written before the process began, and not published.
    private static func first(of stream: StreamRecord) -> CheckpointChanges {
        var changes = CheckpointChanges()
        if stream.lastOperation > stream.checkpoint.operation {
            changes.buckets = .any
            changes.lookups = .any
            changes.writeCheckpoints = .any
        }
        return changes
    }

    /// Notes that a transaction has failed, of which nobody knows whether it is on the disk.
    package func lose(_ stream: StreamNumber) {
        streams.withLock { streams in
            var changes = CheckpointChanges()
            changes.buckets = .any
            changes.lookups = .any
            changes.writeCheckpoints = .any
            streams[stream] = changes
        }
    }

    /// Forgets the changes of all streams but one: the others have been stopped.
    package func forgetAll(but stream: StreamNumber) {
        streams.withLock { streams in streams = streams.filter { $0.key == stream } }
    }

    /// Adds operations to those of buckets of which all since the last checkpoint are kept; of all others none are.
    private func keep(_ written: WrittenBuckets, in changes: inout CheckpointChanges) {
        guard let before = changes.buckets.known, let upToCommit = written.upToCommit.known,
            let behind = written.behind.known
        else {
            changes.operations = [:]
            return
        }
        for name in Set(upToCommit.keys).union(behind.keys) {
            if before[name] == nil {
                changes.operations[name] = written.operations[name]
            } else if let next = written.operations[name] {
                changes.operations[name]?.append(next)
            } else {
                changes.operations[name] = nil
            }
        }
        bound(&changes.operations)
    }

    /// Lets go of what is too much: whoever needs it reads the disk.
    private func bound(_ operations: inout [ExactText: KeptOperations]) {
        operations = operations.filter { $0.value.byteCount <= limits.publishedFrameBytes }
        var bytes = operations.values.reduce(0) { $0 + $1.byteCount }
        while bytes > limits.publicationBytes, let (name, kept) = operations.first {
            operations[name] = nil
            bytes -= kept.byteCount
        }
    }

    /// What lies behind a checkpoint.
    private static func rest(
        of changes: CheckpointChanges, _ written: WrittenBuckets
    ) -> CheckpointChanges {
        let behind = written.behind
        var rest = CheckpointChanges()
        rest.buckets = behind
        rest.lookups = written.lookupsBehind
        rest.writeCheckpoints = written.writeCheckpointsBehind
        // Without their totals nobody knows where buckets end at the checkpoint; nothing is kept of them then.
        guard let told = changes.buckets.known, let names = behind.known?.keys else { return rest }
        for name in names {
            rest.operations[name] = changes.operations[name]
            if let last = told[name]?.lastOperation { rest.operations[name]?.drop(through: last) }
        }
        return rest
    }
}
