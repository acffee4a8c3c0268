import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The public view of one snapshot of the status.
struct SyncStatusValue: SyncStatusData {
    let snapshot: SyncStatusSnapshot
    /// Whether the stored status has been read; before that nothing is known.
    let isLoaded: Bool

    /// Takes a snapshot, with errors that an app can name.
    init(snapshot: SyncStatusSnapshot, isLoaded: Bool) {
        var snapshot = snapshot
        snapshot.uploadError = snapshot.uploadError.map(PowerSyncError.shown)
        snapshot.downloadError = snapshot.downloadError.map(PowerSyncError.shown)
        self.snapshot = snapshot
        self.isLoaded = isLoaded
    }

    var connected: Bool { snapshot.connected }
    var connecting: Bool { snapshot.connecting }
    var downloading: Bool { snapshot.downloading != nil }
    var uploading: Bool { snapshot.uploading }
    var uploadError: Any? { snapshot.uploadError }
    var downloadError: Any? { snapshot.downloadError }
    var anyError: Any? { snapshot.downloadError ?? snapshot.uploadError }
    var isSyncedElsewhere: Bool { snapshot.isSyncedElsewhere }

    var downloadProgress: (any SyncDownloadProgress)? {
        snapshot.downloading.map { DownloadProgress(priorities: $0) }
    }

    var lastSyncedAt: Date? {
        snapshot.priorities.first { $0.priority == PrioritySyncState.fullSync }.map { date($0.lastSyncedAt) }
    }

    var hasSynced: Bool? { isLoaded ? lastSyncedAt != nil : nil }

    var priorityStatusEntries: [PriorityStatusEntry] { snapshot.priorities.map(entry) }

    func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        let state = snapshot.priorities.first { $0.priority >= Int(priority.priorityCode) }
        return state.map(entry)
            ?? PriorityStatusEntry(priority: priority, lastSyncedAt: lastSyncedAt, hasSynced: hasSynced)
    }

    var syncStreams: [SyncStreamStatus]? { isLoaded ? snapshot.streams.map(status) : nil }

    func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? {
        let name = ExactText(stream.name)
        return snapshot.streams.lazy.filter { ExactText($0.name) == name }.map(status).first { candidate in
            switch (candidate.subscription.parameters, stream.parameters) {
            case (nil, nil): true
            case (let left?, let right?): left.isEquivalent(to: right)
            default: false
            }
        }
    }

    private func entry(_ state: PrioritySyncState) -> PriorityStatusEntry {
        PriorityStatusEntry(
            priority: BucketPriority(Int32(clamping: max(0, state.priority))),
            lastSyncedAt: date(state.lastSyncedAt), hasSynced: true)
    }

    private func status(_ stream: StreamSyncState) -> SyncStreamStatus {
        // The text was written as JSON by this client or its core; a row that is not has no readable
        // parameters.
        let parameters = stream.parameters.flatMap { text in try? JSON.parse(text) }?.objectMembers
        return SyncStreamStatus(
            progress: downloading ? OperationCount(stream.totalOperations, stream.downloadedOperations) : nil,
            subscription: SyncSubscriptionDescription(
                name: stream.name, parameters: parameters.map { JsonParam($0) }, active: stream.isActive,
                isDefault: stream.isDefault, hasExplicitSubscription: stream.hasExplicitSubscription,
                expiresAt: stream.expiresAt.map(seconds), lastSyncedAt: stream.lastSyncedAt.map(seconds)))
    }
}

/// The progress of a download, by priority.
struct DownloadProgress: SyncDownloadProgress {
    let priorities: [PriorityProgress]

    var totalOperations: Int32 { sum(through: .max).totalOperations }
    var downloadedOperations: Int32 { sum(through: .max).downloadedOperations }

    func untilPriority(priority: BucketPriority) -> any ProgressWithOperations {
        sum(through: Int(priority.priorityCode))
    }

    private func sum(through priority: Int) -> OperationCount {
        let counted = priorities.filter { $0.priority <= priority }
        return OperationCount(
            counted.reduce(0) { $0.addingSaturated($1.totalOperations) },
            counted.reduce(0) { $0.addingSaturated($1.downloadedOperations) })
    }
}

/// A number of operations and how many of them have arrived.
struct OperationCount: ProgressWithOperations {
    let totalOperations: Int32
    let downloadedOperations: Int32

    init(_ total: Int64, _ downloaded: Int64) {
        totalOperations = Int32(clamping: total)
        downloadedOperations = Int32(clamping: downloaded)
    }
}

private func seconds(_ microseconds: Int64) -> TimeInterval { Double(microseconds) / 1_000_000 }

private func date(_ microseconds: Int64) -> Date { Date(timeIntervalSince1970: seconds(microseconds)) }
