import Observation

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The state of syncing as an observable object; any change invalidates all of its properties.
@available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
@MainActor @Observable public final class ObservableSyncStatus {
    private var data: any SyncStatusData

    /// Creates the object with a first state.
    package init(_ data: any SyncStatusData) {
        self.data = data
    }

    /// Shows a newer state.
    package func update(_ data: any SyncStatusData) {
        self.data = data
    }

    /// Whether a stream of the service is open.
    public var connected: Bool { data.connected }
    /// Whether a stream is being opened.
    public var connecting: Bool { data.connecting }
    /// Whether data of a new checkpoint is arriving.
    public var downloading: Bool { data.downloading }
    /// How much of it has arrived; nil unless ``downloading``.
    public var downloadProgress: (any SyncDownloadProgress)? { data.downloadProgress }
    /// Whether local changes are being uploaded.
    public var uploading: Bool { data.uploading }
    /// When all data was last complete.
    public var lastSyncedAt: Date? { data.lastSyncedAt }
    /// Whether all data was ever complete; nil only before the database is open.
    public var hasSynced: Bool? { data.hasSynced }
    /// The last error of uploading, nil after a success: a `PowerSyncError`, or what the connector threw.
    public var uploadError: Any? { data.uploadError }
    /// The last error of downloading, nil after a success: a `PowerSyncError`, or what the connector threw.
    public var downloadError: Any? { data.downloadError }
    /// The download error, else the upload error.
    public var anyError: Any? { data.anyError }
    /// One entry for each priority that was ever complete, the most urgent first.
    public var priorityStatusEntries: [PriorityStatusEntry] { data.priorityStatusEntries }
    /// All known streams; nil only before the database is open.
    public var syncStreams: [SyncStreamStatus]? { data.syncStreams }
    /// Whether this process is connected, but leaves syncing to another one that has the same file open.
    public var isSyncedElsewhere: Bool { data.isSyncedElsewhere }

    /// Returns the state of a priority; a less urgent one that is complete implies it.
    public func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        data.statusForPriority(priority)
    }

    /// Returns the state of the stream with this name and equal parameters.
    public func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? {
        data.forStream(stream: stream)
    }
}
