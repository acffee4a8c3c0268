/// What a queue does beside transferring files, from `startSync` to `stopSyncing`.
struct AttachmentJobs: Sendable {
    let db: any PowerSyncDatabaseProtocol
    let watched: WatchedAttachments
    /// Returns the files that rows of the app refer to, after each change.
    let watch: @Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>
    let syncing: SyncingService
    let environment: SyncEnvironment
    let logger: any LoggerProtocol
    /// The tasks of the run; what comes after it counts for nothing.
    let tasks: AttachmentTasks

    /// Begins what there is to do.
    func begin() {
        tasks.begin { await followItems() }
        tasks.begin { await followConnection() }
    }

    /// Brings the table in step with what rows of the app refer to.
    private func followItems() async {
        await PersistentWatch(
            name: "the attachments of the app", environment: environment, logger: logger,
            tag: LogTag.attachmentQueue
        ).follow {
            try watch()
        } take: { (items: [WatchedAttachmentItem]) in
            if tasks.isOver { return false }
            try await watched.process(items)
            return true
        }
    }

    /// Tries all files when the database is connected again.
    private func followConnection() async {
        var wasConnected = true
        for await status in db.currentStatus.asFlow() {
            if tasks.isOver { return }
            if status.connected, !wasConnected {
                do {
                    try await syncing.triggerSync()
                } catch {
                    // Closed.
                    return
                }
            }
            wasConnected = status.connected
        }
    }
}
