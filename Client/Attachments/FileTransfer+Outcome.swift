/// What comes of a transfer (SPEC.md, "Transfers").
extension FileTransfer {
    /// Writes what was done, unless the row is another one meanwhile; throws what giving a file its name throws.
    func finish(_ attachment: Attachment, _ done: Done) async throws {
        do {
            try await finished.write(FinishedTransfer(attachment: attachment, lane: lane, done: done))
        } catch let error as FinishedTransfers.Unpublished {
            throw error.cause
        } catch {
            // The row is as before: the same is done once more, and does no harm.
            report("Writing what became of a file failed", error, isFirst: true)
        }
        showEnd()
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
