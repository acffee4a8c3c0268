import PowerSyncWire

/// What can happen to a sync iteration: something from outside, or the outcome of a task of the store.
package enum SyncEvent: Sendable {
    /// A new iteration begins; one that was under way is forgotten.
    case start(SyncStart)
    /// The service answered, its stream is open.
    case connectionEstablished
    /// The stream ended in an orderly way.
    case connectionEnded
    /// One line of the stream; `size` counts its bytes as received.
    case line(SyncLine, size: Int)
    /// Data lines side by side, in the order of the stream, that are stored together.
    case data([StorableLine])
    /// Fresh credentials are there, the stream must be opened with them.
    case tokenRefreshed
    /// An upload round ended.
    case uploadCompleted
    /// The app holds these streams now.
    case subscriptionsChanged(active: [StreamKey])
    /// The iteration is over, for whatever reason.
    case stop

    /// Outcome of ``SyncTask/prepare(activeStreams:)``.
    case prepared(Preparation)
    /// Outcome of ``SyncTask/track(_:dropping:)``.
    case tracked(TrackOutcome)
    /// Outcome of ``SyncTask/save(_:)``: for each bucket of the lines the number of operations that were new.
    case saved([ExactText: Int])
    /// Outcome of ``SyncTask/apply(_:)``.
    case applied(ApplyRequest, ApplyOutcome)
    /// Outcome of ``SyncTask/rebuildSubscriptions(keeping:)``.
    case subscriptionsRebuilt([RequestedSubscription], active: [StreamKey])
    /// Outcome of ``SyncTask/readTarget``: the write checkpoint that must be seen before anything is applied.
    case target(Int64?)
}

/// What a connection asks for (client-core 6.2).
package struct SyncStart: Sendable, Hashable {
    /// Client parameters, a JSON object.
    package var parameters: JSON?
    /// Whether the service's default streams are wanted.
    package var includeDefaults: Bool
    /// The streams that the app holds.
    package var activeStreams: [StreamKey]
    /// What the app says of itself.
    package var appMetadata: [JSONMember]?
    /// How write checkpoints are obtained.
    package var checkpointMode: CheckpointMode
    /// Whether ``SyncEffect/diagnostics(_:)`` is wanted.
    package var wantsDiagnostics: Bool

    /// Makes a request of its fields.
    package init(
        parameters: JSON? = .object([]), includeDefaults: Bool = true, activeStreams: [StreamKey] = [],
        appMetadata: [JSONMember]? = nil, checkpointMode: CheckpointMode = .legacy,
        wantsDiagnostics: Bool = false
    ) {
        self.parameters = parameters
        self.includeDefaults = includeDefaults
        self.activeStreams = activeStreams
        self.appMetadata = appMetadata
        self.checkpointMode = checkpointMode
        self.wantsDiagnostics = wantsDiagnostics
    }

    /// How the client learns which checkpoint includes its uploads (client-core 8).
    package enum CheckpointMode: String, Sendable, Hashable {
        /// The service allocates an id after each upload, `write-checkpoint2.json`.
        case legacy
        /// The client allocates ids and tells the service, `sync/checkpoint-request` (service 1.24 and later).
        ///
        /// A service without that endpoint answers with an error; iterations fail with it and say so in the status.
        case requests
    }
}

/// The identity of a stream subscription: a name and the text of its parameters (client-core 7.1).
package struct StreamKey: Sendable, Hashable {
    /// The name in the sync configuration.
    package var name: String
    /// The parameters as JSON text with a fixed order of keys; nil for none.
    package var parameters: String?

    /// Makes a key of its fields.
    package init(name: String, parameters: String? = nil) {
        self.name = name
        self.parameters = parameters
    }

    /// What is refused as parameters: they lie four deep in a request, whose readers take no more than their limit.
    static let limits = JSONLimits(depth: JSONLimits.standard.depth - 4)

    /// What the column `local_params` holds.
    package var storedParameters: String { parameters ?? "null" }

    /// Compares bytes, as the table of subscriptions does.
    package static func == (left: StreamKey, right: StreamKey) -> Bool {
        ExactText(left.name) == ExactText(right.name)
            && left.parameters.map(ExactText.init) == right.parameters.map(ExactText.init)
    }

    /// Hashes the bytes.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(ExactText(name))
        hasher.combine(parameters.map(ExactText.init))
    }
}

/// A subscription as it was put into the request of this stream.
package struct RequestedSubscription: Sendable, Hashable {
    /// The id of its row; checkpoints refer to it by the position in the request.
    package var id: Int64
    /// The stream's name.
    package var name: String
    /// The text of its parameters, `null` for none.
    package var parameters: String
    /// The same as a value; nil for none.
    package var json: JSON?
    /// A priority other than the stream's own.
    package var priority: Int?

    /// Makes a subscription of its fields.
    package init(id: Int64, name: String, parameters: String, json: JSON? = nil, priority: Int? = nil) {
        self.id = id
        self.name = name
        self.parameters = parameters
        self.json = json
        self.priority = priority
    }

    /// Whether the service would be asked for the same.
    func asksForTheSame(as other: RequestedSubscription) -> Bool {
        ExactText(name) == ExactText(other.name) && ExactText(parameters) == ExactText(other.parameters)
            && priority == other.priority
    }
}

/// What a new iteration needs to know of the database.
package struct Preparation: Sendable {
    /// The status as stored, before this iteration changed anything.
    package var status: SyncIterationStatus
    /// The id of this client.
    package var clientID: String
    /// The buckets and how far they are.
    package var buckets: [BucketRequest]
    /// The explicit subscriptions, ascending by id.
    package var subscriptions: [RequestedSubscription]
    /// The streams of subscriptions that are left out, because their parameters cannot be read.
    package var unreadableStreams: [String]
    /// The id with which checkpoint requests of this stream begin.
    package var firstCheckpointRequest: Int64

    /// Makes a preparation of its fields.
    package init(
        status: SyncIterationStatus, clientID: String, buckets: [BucketRequest],
        subscriptions: [RequestedSubscription], unreadableStreams: [String] = [],
        firstCheckpointRequest: Int64 = 1
    ) {
        self.status = status
        self.clientID = clientID
        self.buckets = buckets
        self.subscriptions = subscriptions
        self.unreadableStreams = unreadableStreams
        self.firstCheckpointRequest = firstCheckpointRequest
    }
}

/// What following a new checkpoint found.
package struct TrackOutcome: Sendable {
    /// Counters of the checkpoint's buckets; a bucket without a row is absent.
    package var counters: [ExactText: BucketCounters]
    /// All subscriptions after they were compared with the checkpoint's list, ascending by id.
    package var subscriptions: [StreamSyncState]
    /// For each index of the checkpoint's streams the row of its default subscription.
    package var defaultRows: [Int: Int64]

    /// Makes an outcome of its fields.
    package init(
        counters: [ExactText: BucketCounters], subscriptions: [StreamSyncState], defaultRows: [Int: Int64]
    ) {
        self.counters = counters
        self.subscriptions = subscriptions
        self.defaultRows = defaultRows
    }
}

/// How much of a bucket was downloaded.
package struct BucketCounters: Sendable, Hashable {
    /// Its operations at the last complete checkpoint.
    package var atLast: Int64
    /// Operations downloaded since.
    package var sinceLast: Int64

    /// Makes counters of its fields.
    package init(atLast: Int64, sinceLast: Int64) {
        self.atLast = atLast
        self.sinceLast = sinceLast
    }
}

/// How trying to apply a checkpoint ended.
package enum ApplyOutcome: Sendable, Hashable {
    /// Rows were applied at this time, in microseconds since 1970.
    case applied(at: Int64)
    /// Local changes have not made their way through the service yet.
    case blocked
    /// Checksums differ, in the order of names; these buckets are deleted.
    case mismatch([ChecksumMismatch])
}

/// One bucket whose checksum differs from the checkpoint's.
package struct ChecksumMismatch: Sendable, Hashable, CustomStringConvertible {
    /// The bucket's name.
    package var bucket: String
    /// What the checkpoint says.
    package var expected: Checksum
    /// The sum over operations that are present.
    package var present: Checksum
    /// The sum over operations that are not.
    package var superseded: Checksum

    /// Makes a mismatch of its fields.
    package init(bucket: String, expected: Checksum, present: Checksum, superseded: Checksum) {
        self.bucket = bucket
        self.expected = expected
        self.present = present
        self.superseded = superseded
    }

    /// The text of the official core's log (client-core 6.5).
    package var description: String {
        "\(bucket) (expected \(expected), got \(present + superseded) = \(present) (op) + \(superseded) (add))"
    }
}
