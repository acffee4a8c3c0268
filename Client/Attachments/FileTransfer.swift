#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One transfer of one file, and what comes of it (SPEC.md, "Transfers").
struct FileTransfer: Sendable {
    let row: TransferRow
    let parts: TransferParts
    /// The run that has begun it: nothing is changed once that is over.
    let tasks: AttachmentTasks
    /// Writes what was done.
    let finished: FinishedTransfers

    /// What is known when it begins.
    struct Start: Sendable {
        let attachment: Attachment
        /// Whether something waits to be uploaded to the backend.
        let hasQueuedWrites: Bool
        /// Whether another row has the filename, too.
        let isShared: Bool
    }

    /// A file that was brought, and has yet to get its name.
    struct Brought: Sendable {
        /// Where it is to be.
        let path: String
        /// The name under which it lies whole until then; nil where the app's storage alone knows how to write it.
        var temporary: String?
        /// Gives it its name, in place of what has that; returns how many bytes there are.
        ///
        /// One that has lain under another name has this one on the disk only once the names were brought there.
        let publish: @Sendable () async throws -> Int64
        /// Drops it.
        var drop: @Sendable () -> Void = {}
    }

    /// What was done.
    struct Done: Sendable {
        /// How many bytes there were, as far as that is known.
        var bytes: Int64
        var file: Brought?
    }

    var lane: TransferLane { row.lane }
    var id: String { row.id }

    /// Transfers the file.
    ///
    /// - Returns: how it ended, for the plan.
    func perform() async -> TransferPlan.Outcome {
        let start: Start?
        do {
            start = try await begin()
        } catch {
            report("Reading a row of attachments failed", error, isFirst: true)
            return .over
        }
        // Another one was quicker, or the run is over.
        guard let start, !isStopped else { return .over }
        let attachment = start.attachment
        parts.progress.began(attachment, lane, unless: { tasks.isOver })
        do {
            let done = try await transfer(start)
            try await finish(attachment, done)
            return .over
        } catch {
            return await failed(attachment, error, start)
        }
    }

    // MARK: Steps

    /// Whether nobody wants it any more: the run is over, or the row is to be deleted.
    var isStopped: Bool { tasks.isOver || Task.isCancelled }

    /// Throws where nobody wants it any more.
    func checkStop() throws {
        if isStopped { throw CancellationError() }
    }

    /// Reads the row; nil if it is in another state than when it was found.
    private func begin() async throws -> Start? {
        try await parts.service.withContext { [id, lane] context in
            try await context.rows.start(of: id, in: lane)
        }
    }

    private func transfer(_ start: Start) async throws -> Done {
        switch lane {
        case .upload: return try await upload(start.attachment)
        case .download:
            // It would take the place of that row's file, which may be the only copy.
            if start.isShared {
                throw PowerSyncAttachmentError.invalidPath(
                    "the filename of an attachment, which another one has, too")
            }
            return try await download(start.attachment)
        case .delete: return try await delete(start.attachment)
        }
    }

    private func upload(_ attachment: Attachment) async throws -> Done {
        guard let path = attachment.localUri, attachment.hasPath else {
            throw PowerSyncAttachmentError.fileNotFound(attachment.filename)
        }
        try parts.local.check(linksTo: path, of: attachment.filename)
        guard try await parts.local.exists(path) else { throw PowerSyncAttachmentError.fileNotFound(path) }
        if let transport = parts.transport {
            try await transport.upload(attachment: attachment, localUri: path, progress: progress)
            return Done(bytes: attachment.size ?? 0)
        }
        let data = try await parts.local.storage.readFile(filePath: path, mediaType: attachment.mediaType)
        try checkStop()
        try await parts.remote.uploadFile(fileData: data, attachment: attachment)
        return Done(bytes: Int64(data.count))
    }

    private func delete(_ attachment: Attachment) async throws -> Done {
        if let transport = parts.transport {
            try await transport.delete(attachment: attachment)
        } else {
            try await parts.remote.deleteFile(attachment: attachment)
        }
        return try await deleteHere(attachment)
    }

    /// Deletes the file on this device, once there is none in the storage.
    func deleteHere(_ attachment: Attachment) async throws -> Done {
        try checkStop()
        try await parts.local.remove(attachment, parts.service.withContext { $0.rows })
        return Done(bytes: attachment.size ?? 0)
    }

    /// Is told how far it is.
    var progress: @Sendable (AttachmentBytes) -> Void {
        { [parts, tasks, id] bytes in parts.progress.moved(id, bytes, unless: { tasks.isOver }) }
    }

    /// Logs a failure: the first one of its kind for everybody, the others for whoever looks for a fault.
    func report(_ text: String, _ error: any Error, isFirst: Bool) {
        // What ends with the run, the row or the database is no failure.
        if tasks.isOver || Task.isCancelled && error is CancellationError { return }
        if (error as? PowerSyncError)?.code == .closed { return }
        parts.logger.log(
            isFirst ? .warning : .debug, "\(text) (attachment \(id)): \(error)", tag: LogTag.attachmentSync)
    }
}
