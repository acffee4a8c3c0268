import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the official SDK for Swift lacks.
extension AttachmentQueue {
    /// Saves a file under an id of the app's choice, and what the app writes with it, in one transaction.
    ///
    /// - Parameters:
    ///   - data: the bytes of the file.
    ///   - mediaType: its media type.
    ///   - fileExtension: what its name ends with behind a point.
    ///   - metaData: what the app wants to keep with it.
    ///   - id: its id, which no attachment has had; nil for a new one.
    ///   - updateHook: writes what the app wants to, such as the id into the row that refers to it.
    /// - Returns: the attachment.
    /// - Throws: ``PowerSyncAttachmentError``, what the database and the hook throw; nothing is saved then.
    @discardableResult
    public nonisolated func saveFile(
        data: Data, mediaType: String, fileExtension: String?, metaData: String?, id: String? = nil,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        let names = try await newNames(
            id, mediaType: mediaType, fileExtension: fileExtension, metaData: metaData)
        return try await writer.save(names, data, updateHook)
    }

    /// Takes a file in that is there already, without reading it, and saves what the app writes with it in one
    /// transaction.
    ///
    /// The file stays where it is until that transaction is committed and on the disk; after a crash right behind it may be
    /// there, too. From another file system, or one without links, it is copied.
    ///
    /// Of a database on a pool of the app's own, or of another making, it is not known when a transaction is on the disk: a
    /// power failure behind the return may undo it then, and the file is in the folder of the attachments, without a row.
    ///
    /// ```swift
    /// func attach(_ recording: String, with queue: AttachmentQueue) async throws {
    ///     try await queue.saveFileFromUri(
    ///         localUri: recording, mediaType: "audio/mp4", fileExtension: "m4a"
    ///     ) { transaction, audio in
    ///         try transaction.execute(
    ///             sql: "INSERT INTO notes (id, audio_id) VALUES (uuid(), ?)", parameters: [audio.id])
    ///     }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - localUri: the path of the file, which is moved from there.
    ///   - mediaType: its media type.
    ///   - fileExtension: what its name ends with behind a point.
    ///   - metaData: what the app wants to keep with it.
    ///   - id: its id, which no attachment has had; nil for a new one.
    ///   - updateHook: writes what the app wants to, such as the id into the row that refers to it.
    /// - Returns: the attachment.
    /// - Throws: ``PowerSyncAttachmentError``, what the database and the hook throw; the file is where it was then.
    ///   ``PowerSyncAttachmentError/generalError(_:)`` if ``localStorage`` is no ``MovingStorageAdapter``.
    @discardableResult
    public nonisolated func saveFileFromUri(
        localUri: String, mediaType: String, fileExtension: String?, metaData: String? = nil,
        id: String? = nil,
        updateHook: @Sendable @escaping (any ConnectionContext, Attachment) throws -> Void
    ) async throws -> Attachment {
        let names = try await newNames(
            id, mediaType: mediaType, fileExtension: fileExtension, metaData: metaData)
        return try await writer.move(names, from: localUri, updateHook)
    }

    /// Tries all files that wait to be transferred, and returns when each was tried.
    ///
    /// It waits for a transfer that hangs, but for no files that come meanwhile. Returns also when syncing is stopped, and
    /// at once where another process transfers the files. Works without ``startSync()``, too.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, what the database throws, `CancellationError`.
    public nonisolated func syncStorage() async throws {
        try await syncingService.syncOnce()
    }

    /// Runs a callback while nobody else of the queue changes rows; files go up and down meanwhile.
    ///
    /// A call inside the callback runs at once, but for what waits for others of the queue: ``syncStorage()`` and
    /// ``AttachmentQueue/waitForInit()`` would never return there.
    ///
    /// - Parameter callback: reads and changes rows.
    /// - Returns: what the callback returns.
    /// - Throws: what the callback throws; `CancellationError` before it has begun.
    public nonisolated func withAttachmentContext<R: Sendable>(
        callback: @Sendable @escaping (AttachmentContext) async throws -> R
    ) async throws -> R {
        try await attachmentsService.withContext(callback: callback)
    }

    /// Stops syncing and transferring, and removes all data and the folder of the files: when somebody signs out, for example.
    ///
    /// It is `disconnectAndClear` of the database, local-only tables included, and what removes the files with the rows. Files
    /// of other queues of the database stay without rows: call their ``AttachmentQueue/clearQueue()`` behind it.
    ///
    /// Once it has begun it goes on to its end, also where the task is cancelled; what a crash leaves of it goes with the next
    /// queue. Of a database of another making the files go behind the data, and stay if the process is killed between.
    ///
    /// ```swift
    /// func signOut(_ queue: AttachmentQueue) async throws {
    ///     try await queue.disconnectAndClear()
    ///     // Nothing of the user is here any more: the next one may connect.
    /// }
    /// ```
    ///
    /// - Parameter soft: whether downloaded data is kept aside, so that the same user can resume without downloading it again.
    /// - Throws: what `disconnectAndClear` of the database throws, for example while another process syncs the same file: rows
    ///   and files are all there then. What ``localStorage`` throws: then the data is gone.
    public nonisolated func disconnectAndClear(soft: Bool = false) async throws {
        try await stopSyncing()
        try await attachmentsService.withContext { [db, folder, logger] context in
            // Shielded: no rows may go without their files.
            try await Task {
                try await folder.clear(context.rows, logger) { setAside in
                    guard let database = db as? LocalDatabase else {
                        try await db.disconnectAndClear(clearLocal: true, soft: soft)
                        return setAside()
                    }
                    let aside = Lock<String?>(nil)
                    try await database.disconnectAndClear(clearLocal: true, soft: soft) {
                        let path = setAside()
                        aside.withLock { $0 = path }
                    }
                    return aside.withLock { $0 }
                }
            }.value
        }
    }

    /// Returns an id that no attachment has.
    public nonisolated func generateAttachmentId() async throws -> String {
        try await attachmentsService.withContext { try await $0.rows.newID() }
    }

    /// How far the queue is with its files.
    ///
    /// What waits is counted from ``startSync()`` on.
    public nonisolated var status: AttachmentSyncStatus { progress.status }

    /// Returns how far the queue is with its files, and that again after each change, at most ten times a second.
    ///
    /// Who is slow gets the newest alone. It ends when the queue is closed.
    public nonisolated func statusUpdates() -> AsyncStream<AttachmentSyncStatus> { progress.updates() }
}
