#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The state of syncing.
public protocol SyncStatusData: Sendable {
    /// Whether a stream of the service is open.
    ///
    /// It stays true while another one takes its place at once, with a new token or for other subscriptions.
    var connected: Bool { get }
    /// Whether a stream is being opened.
    var connecting: Bool { get }
    /// Whether data of a new checkpoint is arriving.
    var downloading: Bool { get }
    /// How much of it has arrived; nil unless ``downloading``.
    var downloadProgress: (any SyncDownloadProgress)? { get }
    /// Whether local changes are being uploaded.
    var uploading: Bool { get }
    /// When all data was last complete.
    var lastSyncedAt: Date? { get }
    /// Whether all data was ever complete; nil only before the database is open.
    var hasSynced: Bool? { get }
    /// The last error of uploading, nil after a success: a `PowerSyncError`, or what the connector threw.
    var uploadError: Any? { get }
    /// The last error of downloading, nil after a success: a `PowerSyncError`, or what the connector threw.
    var downloadError: Any? { get }
    /// The download error, else the upload error.
    var anyError: Any? { get }
    /// One entry for each priority that was ever complete, the most urgent first.
    var priorityStatusEntries: [PriorityStatusEntry] { get }
    /// Returns the state of a priority; a less urgent one that is complete implies it.
    func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry
    /// All known streams; nil only before the database is open.
    var syncStreams: [SyncStreamStatus]? { get }
    /// Returns the state of the stream with this name and equal parameters.
    func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus?
    /// Whether this process is connected, but leaves syncing to another one that has the same file open.
    ///
    /// ``connected`` and ``connecting`` are false meanwhile. What the other process syncs shows here too, and it
    /// uploads what is written here. This process takes over when the other one disconnects or ends. Not part of the
    /// official SDK; false for a type of one's own that does not say otherwise.
    var isSyncedElsewhere: Bool { get }
}

extension SyncStatusData {
    /// False: nothing else is known.
    public var isSyncedElsewhere: Bool { false }
}

/// The live state of syncing: each property answers with the latest value.
public protocol SyncStatus: SyncStatusData, Sendable {
    /// Returns the state as it is, then a snapshot after each change.
    ///
    /// Of snapshots that nobody has taken yet the newest 1,024 are kept. The stream does not end by itself: after the
    /// database is closed nothing comes, so cancel the task that goes through it.
    ///
    /// ```swift
    /// for await status in database.currentStatus.asFlow() {
    ///     print(status.connected ? "online" : "offline", status.downloadProgress?.fraction ?? 1)
    /// }
    /// ```
    func asFlow() -> AsyncStream<any SyncStatusData>

    /// The state as an observable object for user interfaces; always the same instance.
    @available(macOS 14.0, iOS 17.0, watchOS 10.0, tvOS 17.0, *)
    @MainActor var observable: ObservableSyncStatus { get }
}
