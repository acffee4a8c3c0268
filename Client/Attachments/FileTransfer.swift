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

    /// What is known when it begins.
    private struct Start: Sendable {
        let attachment: Attachment
        /// Whether something waits to be uploaded to the backend.
        let hasQueuedWrites: Bool
    }

    /// What was done.
    private struct Done: Sendable {
        /// How many bytes there were, as far as that is known.
        let bytes: Int64
        /// The path of a file that was written.
        var path: String?
    }

    private var lane: TransferLane { row.lane }
    private var id: String { row.id }

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
        parts.progress.began(attachment, lane)
        do {
            let done = try await transfer(attachment)
            return await finish(attachment, done)
        } catch {
            return await failed(attachment, error, start)
        }
    }

    // MARK: Steps

    /// Whether nobody wants it any more: the run is over, or the row is to be deleted.
    private var isStopped: Bool { tasks.isOver || Task.isCancelled }

    private func checkStop() throws {
        if isStopped { throw CancellationError() }
    }

    /// Reads the row; nil if it is in another state than when it was found.
    private func begin() async throws -> Start? {
        try await parts.service.withContext { [id, lane] context in
            let rows = context.rows
            guard let attachment = try await rows.row(id), attachment.state == lane.state else { return nil }
            return Start(
                attachment: attachment, hasQueuedWrites: try await rows.hasQueuedWrites())
        }
    }

    private func transfer(_ attachment: Attachment) async throws -> Done {
        switch lane {
        case .upload: try await upload(attachment)
        case .download: try await download(attachment)
        case .delete: try await delete(attachment)
        }
    }

    private func upload(_ attachment: Attachment) async throws -> Done {
        guard let path = attachment.localUri, attachment.hasPath else {
            throw PowerSyncAttachmentError.fileNotFound(attachment.filename)
        }
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

    private func download(_ attachment: Attachment) async throws -> Done {
        let path = try await parts.local.checkedPath(of: attachment.filename)
        guard let transport = parts.transport, let files = parts.local.files else {
            let data = try await parts.remote.downloadFile(attachment: attachment)
            // What comes too late leaves no file.
            try checkStop()
            let size = try await parts.local.storage.saveFile(filePath: path, data: data)
            return Done(bytes: size, path: path)
        }
        if files.isPartHeld(of: path) {
            throw AttachmentStorageError(.notUploaded, "An earlier download of the file has not ended yet")
        }
        try await transport.download(
            attachment: attachment.at(path), localUri: files.partPath(of: path), progress: progress)
        try checkStop()
        try files.publishPart(of: path)
        return Done(bytes: try LocalFile(path).size, path: path)
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
    private func deleteHere(_ attachment: Attachment) async throws -> Done {
        try checkStop()
        try await parts.local.remove(attachment, parts.service.withContext { $0.rows })
        return Done(bytes: attachment.size ?? 0)
    }

    private var progress: @Sendable (AttachmentBytes) -> Void {
        { [parts, tasks, id] bytes in
            if !tasks.isOver { parts.progress.moved(id, bytes) }
        }
    }

    // MARK: What comes of it

    /// Writes what was done, unless the row is another one meanwhile.
    private func finish(_ attachment: Attachment, _ done: Done) async -> TransferPlan.Outcome {
        // Shielded: it has to be written, or taken back, although the row is to be deleted meanwhile.
        let bytes = await Task { await settle(attachment, done) }.value
        parts.progress.ended(id, lane, done: bytes)
        return .over
    }

    /// Writes what was done; returns how many bytes that were, nil if the row is another one.
    private func settle(_ attachment: Attachment, _ done: Done) async -> Int64? {
        do {
            let changed = try await change(attachment) { [lane] row in
                switch (lane, done.path) {
                case (.upload, _): AttachmentRules.uploaded(row)
                case (.download, let path?):
                    AttachmentRules.downloaded(
                        row, as: attachment.filename, to: path, size: done.bytes)
                case (.download, nil): .unchanged
                case (.delete, _): AttachmentRules.removed(row)
                }
            }
            if changed.change != .unchanged { return done.bytes }
            if let path = done.path, !AttachmentRules.wants(changed.row, fileAt: path) {
                try await parts.local.storage.deleteFile(filePath: path)
            }
        } catch {
            // The row is as before: the same is done once more, and does no harm.
            report("Writing what became of a file failed", error, isFirst: true)
        }
        return nil
    }

    private func failed(
        _ attachment: Attachment, _ error: any Error, _ start: Start
    ) async -> TransferPlan.Outcome {
        if isStopped {
            parts.progress.ended(id, lane, done: nil)
            return .over
        }
        let failure = AttachmentRules.failure(
            error, in: lane, isQueueEmpty: await isQueueEmpty(since: start),
            hasHandler: parts.errorHandler != nil)
        if failure == .done {
            do {
                return await finish(attachment, try await deleteHere(attachment))
            } catch {
                return await left(attachment, error, .open)
            }
        }
        return await left(attachment, error, failure)
    }

    /// Deals with a failure that leaves something to do.
    private func left(
        _ attachment: Attachment, _ error: any Error, _ failure: TransferFailure
    ) async -> TransferPlan.Outcome {
        defer { parts.progress.ended(id, lane, done: nil) }
        if isStopped { return .over }
        if failure == .waits {
            report("\(lane.title) waits for the upload queue", error, isFirst: false)
            return .waits
        }
        let isFirst = parts.progress.failed(id, lane, String(describing: error))
        switch failure {
        case .waits, .done, .early: report("\(lane.title) is not possible yet", error, isFirst: false)
        case .fileIsGone:
            report("A file to be uploaded is not there", error, isFirst: true)
            await verify(attachment)
        case .open:
            report("\(lane.title) failed", error, isFirst: isFirst)
            await ask(attachment, error)
        }
        return .over
    }

    /// Lets the app decide whether it is tried again.
    private func ask(_ attachment: Attachment, _ error: any Error) async {
        guard let handler = parts.errorHandler else { return }
        let isTriedAgain =
            switch lane {
            case .upload: await handler.onUploadError(attachment: attachment, error: error)
            case .download: await handler.onDownloadError(attachment: attachment, error: error)
            case .delete: await handler.onDeleteError(attachment: attachment, error: error)
            }
        if isTriedAgain || isStopped { return }
        do {
            let changed = try await change(attachment) { [lane] in AttachmentRules.givenUp($0, lane.state) }
            if changed.change != .unchanged, lane == .upload, attachment.hasSynced != true {
                parts.logger.warning(
                    """
                    The error handler gave the upload of attachment \(id) up: its file is nowhere else, and \
                    goes with the cache.
                    """, tag: LogTag.attachmentSync)
            }
        } catch {
            report("Giving a file up failed", error, isFirst: true)
        }
    }

    /// Looks for the file of a row that said it is here.
    private func verify(_ attachment: Attachment) async {
        do {
            try await AttachmentVerification(service: parts.service, local: parts.local)
                .verify([attachment], unless: { tasks.isOver })
        } catch {
            report("Looking for a file failed", error, isFirst: true)
        }
    }

    /// Changes the row while nobody else does, unless the run is over.
    private func change(
        _ attachment: Attachment, _ rule: @escaping @Sendable (Attachment) -> AttachmentChange
    ) async throws -> ChangedRow {
        try await parts.service.withContext { [tasks] context in
            try await context.rows.change(attachment.id) { tasks.isOver ? .unchanged : rule($0) }
        }
    }

    /// Whether nothing waits to be uploaded to the backend, now and when the transfer began.
    private func isQueueEmpty(since start: Start) async -> Bool {
        if start.hasQueuedWrites { return false }
        do {
            return try await parts.service.withContext { try await !$0.rows.hasQueuedWrites() }
        } catch {
            report("Reading the upload queue failed", error, isFirst: true)
            return false
        }
    }

    /// Logs a failure: the first one of its kind for everybody, the others for whoever looks for a fault.
    private func report(_ text: String, _ error: any Error, isFirst: Bool) {
        // What ends with the run, the row or the database is no failure.
        if tasks.isOver || Task.isCancelled && error is CancellationError { return }
        if (error as? PowerSyncError)?.code == .closed { return }
        parts.logger.log(
            isFirst ? .warning : .debug, "\(text) (attachment \(id)): \(error)", tag: LogTag.attachmentSync)
    }
}

extension TransferLane {
    /// What is done, at the beginning of a sentence.
    var title: String {
        switch self {
        case .upload: "Uploading a file"
        case .download: "Downloading a file"
        case .delete: "Deleting a file"
        }
    }
}
