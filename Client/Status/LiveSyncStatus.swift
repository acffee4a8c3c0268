#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The live status of a database.
struct LiveSyncStatus: SyncStatus {
    let feed: StatusFeed

    var connected: Bool { feed.current.connected }
    var connecting: Bool { feed.current.connecting }
    var downloading: Bool { feed.current.downloading }
    var downloadProgress: (any SyncDownloadProgress)? { feed.current.downloadProgress }
    var uploading: Bool { feed.current.uploading }
    var lastSyncedAt: Date? { feed.current.lastSyncedAt }
    var hasSynced: Bool? { feed.current.hasSynced }
    var uploadError: Any? { feed.current.uploadError }
    var downloadError: Any? { feed.current.downloadError }
    var anyError: Any? { feed.current.anyError }
    var isSyncedElsewhere: Bool { feed.current.isSyncedElsewhere }
    var priorityStatusEntries: [PriorityStatusEntry] { feed.current.priorityStatusEntries }
    var syncStreams: [SyncStreamStatus]? { feed.current.syncStreams }

    func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        feed.current.statusForPriority(priority)
    }

    func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? {
        feed.current.forStream(stream: stream)
    }

    func asFlow() -> AsyncStream<any SyncStatusData> { feed.follow() }

    @MainActor var observable: ObservableSyncStatus { feed.observable }
}
