/// What comes of a transfer (SPEC.md, "Transfers").
extension FileTransfer {
    /// What publishing a file failed with.
    private struct Unpublished: Error {
        let cause: any Error
    }

    /// Writes what was done, unless the row is another one meanwhile; throws what giving a file its name throws.
    func finish(_ attachment: Attachment, _ done: Done) async throws {
        do {
            // Shielded: it has to be written, or taken back, although the row is to be deleted meanwhile.
            try await Task { try await settle(attachment, done) }.value
        } catch let error as Unpublished {
            throw error.cause
        } catch {
            // The row is as before: the same is done once more, and does no harm.
            report("Writing what became of a file failed", error, isFirst: true)
        }
        showEnd()
    }

    /// Gives a file that was brought its name, and writes what was done, while nobody else changes rows: a row that does not
    /// want the file any more, or another one that has its name, finds it as it was.
    private func settle(_ attachment: Attachment, _ done: Done) async throws {
        try await parts.service.withContext { context in
            let rows = context.rows
            var bytes = done.bytes
            if let file = done.file {
                let row = try await rows.row(id)
                // What the next run finds of it, it need not fetch.
                if tasks.isOver { return }
                guard AttachmentRules.awaits(row, as: attachment.filename),
                    try await !rows.isShared(attachment.filename, besides: id),
                    try await !parts.local.isTaken(file.path, besides: id, rows)
                else { return file.drop() }
                do {
                    bytes = try await file.publish()
                } catch {
                    throw Unpublished(cause: error)
                }
            }
            let changed = try await rows.change(id) { [bytes] in
                tasks.isOver ? .unchanged : rule($0, attachment, done.file?.path, bytes)
            }
            if changed.change != .unchanged {
                parts.progress.ended(
                    id, lane, done: bytes, of: attachment.size ?? 0, isLast: try await rows.isEmpty(lane),
                    unless: { tasks.isOver })
            } else if let path = done.file?.path, !tasks.isOver {
                // Another process was quicker.
                let isWanted = AttachmentRules.wants(changed.row, fileAt: path)
                if !isWanted, try await !rows.isShared(attachment.filename, besides: id) {
                    try await parts.local.storage.deleteFile(filePath: path)
                }
            }
        }
    }

    /// Decides what becomes of the row of a file that was transferred.
    private func rule(
        _ row: Attachment, _ attachment: Attachment, _ path: String?, _ bytes: Int64
    ) -> AttachmentChange {
        switch (lane, path) {
        case (.upload, _): AttachmentRules.uploaded(row)
        case (.download, let path?):
            AttachmentRules.downloaded(row, as: attachment.filename, to: path, size: bytes)
        case (.download, nil): .unchanged
        case (.delete, _): AttachmentRules.removed(row)
        }
    }

    /// Shows that it is over, whatever came of it.
    private func showEnd() {
        parts.progress.ended(id, lane, done: nil, unless: { tasks.isOver })
    }

    /// Decides what a failure means, and does it.
    func failed(
        _ attachment: Attachment, _ error: any Error, _ start: Start
    ) async -> TransferPlan.Outcome {
        if isStopped {
            showEnd()
            return .over
        }
        let failure = AttachmentRules.failure(
            error, in: lane, isQueueEmpty: await isQueueEmpty(since: start),
            hasHandler: parts.errorHandler != nil)
        if failure == .done {
            do {
                try await finish(attachment, try await deleteHere(attachment))
                return .over
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
        defer { showEnd() }
        // Nobody has to decide about a row that waits for something else meanwhile.
        guard !isStopped, await stillWaits() else { return .over }
        if failure == .waits {
            report("\(lane.title) waits for the upload queue", error, isFirst: false)
            return .waits
        }
        let isFirst = parts.progress.failed(
            id, lane, String(describing: error), unless: { tasks.isOver })
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

    /// Whether the row waits for the lane still.
    private func stillWaits() async -> Bool {
        do {
            return try await parts.service.withContext { [id, lane] in
                try await $0.rows.row(id)?.state == lane.state
            }
        } catch {
            report("Reading a row of attachments failed", error, isFirst: true)
            return false
        }
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
