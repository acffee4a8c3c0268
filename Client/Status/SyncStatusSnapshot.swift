/// The state of syncing at one moment, as a plain value (client-core 6.12, client-api 1.11).
///
/// All times are microseconds since 1970 (UTC). The public status types are views of it.
package struct SyncStatusSnapshot: Sendable {
    /// The part that the sync iteration decides; the offline status fills it before the first connection.
    package var iteration: SyncIterationStatus
    /// Whether local changes are being uploaded; true only while the queue has something to do.
    package var uploading: Bool
    /// The last error of uploading; nil after a success.
    package var uploadError: (any Error)?
    /// The last error of downloading; nil once a checkpoint was applied completely.
    package var downloadError: (any Error)?
    /// Whether this process is connected, but leaves syncing to another one.
    package var isSyncedElsewhere = false

    /// Makes a snapshot of its parts.
    package init(
        iteration: SyncIterationStatus = SyncIterationStatus(), uploading: Bool = false,
        uploadError: (any Error)? = nil, downloadError: (any Error)? = nil
    ) {
        self.iteration = iteration
        self.uploading = uploading
        self.uploadError = uploadError
        self.downloadError = downloadError
    }

    /// Whether a stream of the service is open, or is replaced by another one at once.
    package var connected: Bool { iteration.connected }
    /// Whether a stream is being opened.
    package var connecting: Bool { iteration.connecting }
    /// The download of the checkpoint that is arriving, by priority; nil when nothing is missing.
    package var downloading: [PriorityProgress]? { iteration.downloading }
    /// What was ever complete, ascending by priority number.
    package var priorities: [PrioritySyncState] { iteration.priorities }
    /// All known subscriptions and default streams.
    package var streams: [StreamSyncState] { iteration.streams }
}

/// The part of the status that a sync iteration decides.
package struct SyncIterationStatus: Sendable, Hashable {
    /// Whether a stream of the service is open.
    package var connected = false
    /// Whether a stream is being opened.
    package var connecting = false
    /// One entry for each priority of the checkpoint that is arriving, ascending; nil when none is.
    package var downloading: [PriorityProgress]?
    /// What was ever complete, ascending by priority number.
    package var priorities: [PrioritySyncState] = []
    /// All known subscriptions and default streams, in the order of their rows.
    package var streams: [StreamSyncState] = []
    /// The write checkpoint of the last complete checkpoint of this connection, if it carried one.
    package var appliedCheckpointRequestID: Int64?

    /// Makes the status of a client that has never synced.
    package init() {}

    /// Forgets everything that only an open stream can know.
    package mutating func disconnect() {
        connected = false
        connecting = false
        appliedCheckpointRequestID = nil
        stopDownloading()
    }

    /// Forgets the progress of the download, also that of each stream.
    package mutating func stopDownloading() {
        downloading = nil
        for index in streams.indices {
            streams[index].totalOperations = 0
            streams[index].downloadedOperations = 0
        }
    }
}

/// How much of the checkpoint that is arriving is here, for the buckets of one priority.
package struct PriorityProgress: Sendable, Hashable {
    /// The priority of the buckets; 0 is the most urgent.
    package var priority: Int
    /// How many operations the download consists of.
    package var totalOperations: Int64
    /// How many of them have arrived.
    package var downloadedOperations: Int64

    /// Makes an entry of its fields.
    package init(priority: Int, totalOperations: Int64, downloadedOperations: Int64) {
        self.priority = priority
        self.totalOperations = totalOperations
        self.downloadedOperations = downloadedOperations
    }
}

/// When the data of a priority, and of all more urgent ones, was last complete.
package struct PrioritySyncState: Sendable, Hashable {
    /// The number that stands for a complete checkpoint.
    package static let fullSync = 2_147_483_647

    /// The priority, or ``fullSync``.
    package var priority: Int
    /// When that was.
    package var lastSyncedAt: Int64

    /// Makes an entry of its fields.
    package init(priority: Int, lastSyncedAt: Int64) {
        self.priority = priority
        self.lastSyncedAt = lastSyncedAt
    }
}

/// One stream that is subscribed to, explicitly or by default.
package struct StreamSyncState: Sendable, Hashable {
    /// The id of its row in ps_stream_subscriptions.
    package var id: Int64
    /// Its name in the sync configuration.
    package var name: String
    /// Its parameters as JSON text; nil for none.
    package var parameters: String?
    /// The largest number among its buckets' priorities; nil while no checkpoint names buckets of it.
    package var priority: Int?
    /// Whether the service listed it in its last checkpoint.
    package var isActive: Bool
    /// Whether the service gives it to clients that did not ask.
    package var isDefault: Bool
    /// Whether this client asked for it.
    package var hasExplicitSubscription: Bool
    /// When the subscription ends unless it is in use; nil for a stream that is only a default one.
    package var expiresAt: Int64?
    /// When its data was last complete; nil if it never was.
    package var lastSyncedAt: Int64?
    /// How many operations its part of the download consists of; 0 when nothing is missing.
    package var totalOperations: Int64
    /// How many of them have arrived.
    package var downloadedOperations: Int64

    /// Makes a state of its fields.
    package init(
        id: Int64, name: String, parameters: String? = nil, priority: Int? = nil, isActive: Bool = false,
        isDefault: Bool = false, hasExplicitSubscription: Bool = false, expiresAt: Int64? = nil,
        lastSyncedAt: Int64? = nil, totalOperations: Int64 = 0, downloadedOperations: Int64 = 0
    ) {
        self.id = id
        self.name = name
        self.parameters = parameters
        self.priority = priority
        self.isActive = isActive
        self.isDefault = isDefault
        self.hasExplicitSubscription = hasExplicitSubscription
        self.expiresAt = expiresAt
        self.lastSyncedAt = lastSyncedAt
        self.totalOperations = totalOperations
        self.downloadedOperations = downloadedOperations
    }
}
