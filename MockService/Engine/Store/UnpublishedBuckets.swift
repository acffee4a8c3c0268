import PowerSyncSystem

/// The buckets that one transaction of the store has written to.
package struct WrittenBuckets: Sendable {
    /// Those with operations up to its last commit of the source.
    package var upToCommit = ChangedBuckets()
    /// Those with operations behind that, or with any if there is no commit.
    package var behind = ChangedBuckets()

    /// Makes buckets of which there are none.
    package init() {}
}

/// The buckets that each replication stream has written to since its last checkpoint.
///
/// Everything that changes a bucket is noted here: the stream, a snapshot, rows that are read again, a truncate and the
/// replacement of a table all write through `GroupWriter`. What is removed of a stopped stream nobody holds.
package final class UnpublishedBuckets: Sendable {
    private let streams = Lock<[StreamNumber: ChangedBuckets]>([:])

    /// Makes buckets of no stream.
    package init() {}

    /// Notes what a transaction has written that is on the disk.
    ///
    /// - Parameters:
    ///   - written: The buckets.
    ///   - stream: The stream as it was before the transaction.
    ///   - isCheckpoint: Whether the transaction made a checkpoint of what it wrote up to its last commit.
    /// - Returns: What that checkpoint changes since the one before; nothing if there is none.
    package func note(
        _ written: WrittenBuckets, of stream: StreamRecord, isCheckpoint: Bool
    ) -> ChangedBuckets {
        streams.withLock { streams in
            // What was written before the process began, and not published, is not known.
            let isPublished = stream.lastOperation <= stream.checkpoint.operation
            var changed = streams[stream.number] ?? (isPublished ? ChangedBuckets() : .any)
            changed.formUnion(written.upToCommit)
            if isCheckpoint {
                streams[stream.number] = written.behind
                return changed
            }
            changed.formUnion(written.behind)
            streams[stream.number] = changed
            return ChangedBuckets()
        }
    }

    /// Notes that a transaction has failed, of which nobody knows whether it is on the disk.
    package func lose(_ stream: StreamNumber) { streams.withLock { $0[stream] = .any } }
}
