import PowerSyncWire

/// The memory of a sync iteration (client-core 6.3); nothing of it is stored.
package struct SyncState: Sendable {
    /// How far the iteration is.
    package enum Phase: Sendable {
        /// There is no iteration.
        case idle
        /// Waiting for the first checkpoint; these buckets were requested.
        case beforeCheckpoint(known: [String])
        /// Following a checkpoint.
        case tracking(TrackedCheckpoint)
    }

    /// How far the iteration is.
    package internal(set) var phase = Phase.idle
    /// What the iteration was started with; its active streams are the current ones.
    package internal(set) var start = SyncStart()
    /// The explicit subscriptions in the order of the request.
    package internal(set) var requested: [RequestedSubscription] = []
    /// A checkpoint that was validated, but could not be applied because of local changes.
    package internal(set) var pending: TrackedCheckpoint?
    /// The status now.
    package internal(set) var status = SyncIterationStatus()
    /// The status that was told last.
    var told: SyncIterationStatus?
    /// Where the operations of a bucket count.
    var routes: [ExactText: BucketRoute] = [:]
    /// What diagnostics have told; nil if nobody wants them.
    var diagnostics: SyncDiagnostics?

    /// Makes the state of a client that is not connected.
    package init() {}

    /// Whether an iteration is under way.
    package var isActive: Bool {
        if case .idle = phase { false } else { true }
    }
}

/// Which entries of the status a bucket's operations count for.
struct BucketRoute: Sendable {
    /// Index in `status.downloading`.
    var priority: Int
    /// Indexes in `status.streams`.
    var streams: [Int]
}
