import Observation
import PowerSync

/// How syncing goes, in a few words for the user.
@Observable
@MainActor
final class SyncIndicator {
    private(set) var text = ""

    /// Shows each state, until the task is cancelled.
    func follow(_ status: SyncStatus) async {
        for await data in status.asFlow() {
            text = Self.text(for: data)
        }
    }

    private static func text(for status: SyncStatusData) -> String {
        if let error = status.anyError { return "Failed: \(error)" }
        if let progress = status.downloadProgress {
            let lists = progress.untilPriority(priority: BucketPriority(1))
            return """
                Downloading \(progress.downloadedOperations) of \(progress.totalOperations) \
                (\(Int(progress.fraction * 100)) %), lists \(Int(lists.fraction * 100)) %
                """
        }
        if status.uploading { return "Uploading" }
        if status.connecting { return "Connecting" }
        if !status.connected { return "Offline" }
        if status.lastSyncedAt != nil, status.hasSynced == true { return "Up to date" }
        return status.statusForPriority(BucketPriority(1)).hasSynced == true ? "Almost there" : "Connected"
    }
}
