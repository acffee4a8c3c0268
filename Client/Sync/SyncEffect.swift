import PowerSyncWire

/// What a sync iteration asks its surroundings to do, in order.
package enum SyncEffect: Sendable {
    /// Do this in the database now, in the same transaction, and feed the outcome back.
    case perform(SyncTask)
    /// Open a stream with this request and, if there is one, send the checkpoint request beside it.
    case open(SyncStreamRequest, checkpointRequest: CheckpointRequestBody? = nil)
    /// The status is now this.
    case status(SyncIterationStatus)
    /// Tell the app's log.
    case log(LogSeverity, String)
    /// Get fresh credentials; `expired`: the ones in use must not be used again.
    case fetchCredentials(expired: Bool)
    /// A complete checkpoint was applied, and this write checkpoint with it.
    case completed(appliedCheckpointRequestID: Int64?)
    /// Tell tools; only if the iteration was started with diagnostics.
    case diagnostics(SyncDiagnosticsEvent)
    /// Close the stream; the iteration is over. Always the last effect.
    case close(SyncCloseReason)
}

/// Why an iteration ended.
package enum SyncCloseReason: Sendable, Hashable {
    /// The stream ended or somebody asked to stop.
    case ended
    /// Fresh credentials are there.
    case tokenRefreshed
    /// The service says that the credentials are no longer valid.
    case tokenExpired
    /// The subscriptions differ from those of the request.
    case subscriptionsChanged
    /// Data was damaged; the text names the buckets.
    case checksumMismatch(String)

    /// Whether the next iteration begins without a pause, `hide_disconnect` of the official core.
    package var reconnectsAtOnce: Bool {
        switch self {
        case .tokenRefreshed, .subscriptionsChanged: true
        case .ended, .tokenExpired, .checksumMismatch: false
        }
    }
}

/// Work for the store.
package enum SyncTask: Sendable {
    /// Read what a request needs and prolong the subscriptions in use. Outcome: `prepared`.
    case prepare(activeStreams: [StreamKey])
    /// Delete buckets, compare subscriptions, read counters. Outcome: `tracked`.
    case track(TrackedCheckpoint, dropping: [String])
    /// Store operations. Outcome: `saved`.
    case save([StorableLine])
    /// Validate and apply. Outcome: `applied`.
    case apply(ApplyRequest)
    /// Prolong the subscriptions in use. No outcome.
    case prolong([StreamKey])
    /// Drop subscriptions that ended and list the rest. Outcome: `subscriptionsRebuilt`.
    case rebuildSubscriptions(keeping: [StreamKey])
    /// Read the local target. Outcome: `target`.
    case readTarget
}

/// A checkpoint that the client follows.
package struct TrackedCheckpoint: Sendable, Hashable {
    /// How many buckets, and how many streams, it may have.
    ///
    /// They are held as long as the stream is open, and each diff may add to them. A service gives a client 1,000 buckets
    /// unless it is told otherwise, and 10,000 are as many as anybody has asked for: a hundred times as much as the one, and
    /// ten times as much as the other, take some tens of MB.
    package static let limit = 100_000

    /// The operation up to which the service knows everything.
    package var lastOpID: OperationID
    /// The newest write checkpoint of this client that it includes.
    package var writeCheckpoint: Int64?
    /// Its buckets by name.
    package var buckets: [ExactText: BucketChecksum]
    /// The streams of the last full checkpoint.
    package var streams: [StreamDescription]

    /// Takes a full checkpoint.
    package init(_ checkpoint: Checkpoint) {
        lastOpID = checkpoint.lastOpID
        writeCheckpoint = checkpoint.writeCheckpoint
        buckets = Dictionary(checkpoint.buckets.map { (ExactText($0.bucket), $0) }) { _, last in last }
        streams = checkpoint.streams
    }

    /// Takes over the changes of a diff; a diff without a write checkpoint means none.
    package mutating func apply(_ diff: CheckpointDiff) {
        lastOpID = diff.lastOpID
        writeCheckpoint = diff.writeCheckpoint
        for name in diff.removedBuckets { buckets[ExactText(name)] = nil }
        for bucket in diff.updatedBuckets { buckets[ExactText(bucket.bucket)] = bucket }
    }

    /// Refuses more buckets or streams than a client holds.
    func check() throws(SyncError) {
        guard buckets.count <= Self.limit, streams.count <= Self.limit else {
            throw SyncError(
                .protocolViolation, "A checkpoint has more than \(Self.limit) buckets or streams")
        }
    }

    /// The buckets that count for a partial checkpoint of that priority; all of them for nil.
    package func scope(_ priority: Int?) -> [BucketChecksum] {
        guard let priority else { return Array(buckets.values) }
        return buckets.values.filter { $0.effectivePriority <= priority }
    }
}

extension BucketChecksum {
    /// The priority, 3 where the service names none.
    var effectivePriority: Int { priority ?? 3 }
}

/// A checkpoint to validate and apply.
package struct ApplyRequest: Sendable {
    /// What made it due.
    package enum Cause: Sendable {
        /// The line that completes it.
        case line
        /// The end of an upload that blocked it before.
        case completedUpload
    }

    /// The checkpoint.
    package var checkpoint: TrackedCheckpoint
    /// The priority of a partial checkpoint; nil for a complete one.
    package var priority: Int?
    /// The subscriptions whose data is complete with it.
    package var streamIDs: [Int64]
    /// What made it due.
    package var cause: Cause

    /// Makes a request of its fields.
    package init(checkpoint: TrackedCheckpoint, priority: Int?, streamIDs: [Int64], cause: Cause) {
        self.checkpoint = checkpoint
        self.priority = priority
        self.streamIDs = streamIDs
        self.cause = cause
    }
}
