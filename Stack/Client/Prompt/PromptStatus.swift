import PowerSync

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a prompt knows of syncing at one moment, and how it says so.
package struct PromptStatus: Sendable, Equatable {
    /// Whether the person wants to be connected.
    package var isWanted = false
    /// Whether a stream is open.
    package var isConnected = false
    /// Whether another process syncs the file.
    package var isSyncedElsewhere = false
    /// How many operations of a download have arrived, and how many there are; nil while nothing is downloaded.
    package var progress: Progress?
    /// Whether all data was ever complete; nil before that is known.
    package var hasSynced: Bool?
    /// When all data was last complete.
    package var lastSyncedAt: Date?
    /// What keeps data from coming.
    package var downloadError: String?
    /// What keeps changes from being uploaded.
    package var uploadError: String?
    /// How many changes wait to be uploaded.
    package var queued = 0
    /// The files that wait to be transferred or deleted, or are under way; nil if there are none.
    package var files: Files?
    /// Why files could not be transferred, by their ids.
    package var fileErrors: [String: String] = [:]
    /// Whether a statement has begun on an earlier line.
    package var isContinuing = false

    /// How far a download is.
    package struct Progress: Sendable, Equatable {
        /// How many operations have arrived.
        package var downloaded: Int
        /// How many there are.
        package var total: Int

        /// Makes a progress of its parts.
        package init(downloaded: Int, total: Int) {
            self.downloaded = downloaded
            self.total = total
        }

        /// The part that has arrived, in hundredths.
        var percent: Int { total > 0 ? min(100, downloaded * 100 / total) : 0 }
    }

    /// How far files are.
    package struct Files: Sendable, Equatable {
        /// How many are not done.
        package var count: Int
        /// The part of the known bytes that has been transferred, in hundredths.
        package var percent: Int

        /// Makes a state of its parts.
        package init(count: Int, percent: Int) {
            self.count = count
            self.percent = percent
        }
    }

    /// How many failed files are told of by themselves at a time.
    private static let toldErrors = 3
    /// How many errors of files are remembered.
    private static let keptErrors = 1000
    /// From so many columns on the prompt has room for a time.
    private static let roomyWidth = 60

    /// Knows nothing yet.
    package init() {}

    /// Takes a state of syncing over.
    mutating func take(_ status: any SyncStatusData) {
        isConnected = status.connected
        isSyncedElsewhere = status.isSyncedElsewhere
        progress = status.downloadProgress.map {
            Progress(downloaded: Int($0.downloadedOperations), total: Int($0.totalOperations))
        }
        hasSynced = status.hasSynced
        lastSyncedAt = status.lastSyncedAt
        downloadError = status.downloadError.map { PromptFailure.text(of: $0) }
        uploadError = status.uploadError.map { PromptFailure.text(of: $0) }
    }

    /// Takes a state of the transfer of files over.
    ///
    /// An error of a file stays until nothing is to be done any more, so that it is told once although it comes with each
    /// attempt.
    mutating func take(_ status: AttachmentSyncStatus) {
        files = Files(status)
        let errors = status.errors.mapValues { DisplayText.of($0) }
        fileErrors.merge(errors) { $1 }
        if files == nil || fileErrors.count > Self.keptErrors { fileErrors = errors }
    }

    /// In a word, how it stands with the service.
    package var connection: String {
        if isConnected { return "connected" }
        if isSyncedElsewhere { return "waiting" }
        return isWanted ? "connecting" : "offline"
    }

    /// Returns the prompt.
    ///
    /// - Parameters:
    ///   - width: the columns of the terminal.
    ///   - clock: spells a time of day.
    /// - Returns: the prompt.
    package func prompt(width: Int, clock: (Date) -> String) -> String {
        if isContinuing { return "...> " }
        var parts = [connection]
        if queued > 0 { parts.append("\(queued) to upload") }
        if let files {
            parts.append("\(files.count == 1 ? "1 file" : "\(files.count) files") \(files.percent) %")
        }
        if let progress {
            parts.append("\(progress.percent) %")
        } else if let lastSyncedAt, width >= Self.roomyWidth {
            parts.append("synced \(clock(lastSyncedAt))")
        }
        return parts.joined(separator: ", ") + "> "
    }

    /// Returns what has happened since an earlier moment, one line each.
    ///
    /// - Parameters:
    ///   - old: that moment.
    ///   - retry: the wait after an error, in seconds.
    /// - Returns: the lines.
    package func news(since old: PromptStatus, retry: Double) -> [String] {
        var news: [String] = []
        let again = "trying again in \(retry) s"
        if isSyncedElsewhere, !old.isSyncedElsewhere {
            news.append("another process syncs this file; this one takes over when that ends")
        }
        if isConnected, !old.isConnected { news.append("connected") }
        if !isConnected, isWanted {
            if old.isConnected {
                news.append("service lost: \(downloadError ?? "the stream has ended"); \(again)")
            } else if let downloadError, Self.isNew(downloadError, since: old.downloadError) {
                news.append("not connected: \(downloadError); \(again)")
            }
        } else if isConnected, let downloadError, Self.isNew(downloadError, since: old.downloadError) {
            news.append("download failed: \(downloadError); \(again)")
        }
        if let uploadError, Self.isNew(uploadError, since: old.uploadError) {
            news.append("upload failed: \(uploadError); \(again)")
        }
        if hasSynced == true, old.hasSynced == false { news.append("first sync complete") }
        return news + fileNews(since: old)
    }

    /// What has become of files since an earlier moment.
    private func fileNews(since old: PromptStatus) -> [String] {
        let failed = fileErrors.filter { old.fileErrors[$0.key] != $0.value }.sorted { $0.key < $1.key }
        var news = failed.prefix(Self.toldErrors).map { "file \(DisplayText.of($0.key)): \($0.value)" }
        if failed.count > Self.toldErrors {
            news.append("\(failed.count - Self.toldErrors) more files failed; .attachments lists them")
        }
        if old.files != nil, files == nil, fileErrors.isEmpty { news.append("all files are in step") }
        return news
    }

    /// Whether an error is another one than before: each attempt has its own times and ports.
    private static func isNew(_ error: String, since old: String?) -> Bool {
        error.filter { !$0.isNumber } != old?.filter { !$0.isNumber }
    }
}
