import PowerSyncSystem

/// Adding the row of a new file: there is a row with its file in the end, or neither (SPEC.md, "Files").
extension AttachmentWriter {
    /// Adds a row once its file is here, and gives the file its name once there is a row.
    ///
    /// - Parameters:
    ///   - names: what the file is called.
    ///   - hook: what the app writes.
    ///   - write: brings the file here, under another name than its own where that is possible.
    /// - Returns: the row.
    /// - Throws: as ``save(_:_:_:)``.
    func add(
        _ names: Names, _ hook: @escaping Hook,
        _ write: @escaping @Sendable (_ path: String) async throws -> Written
    ) async throws -> Attachment {
        if local.files != nil { return try await addFile(names, hook, write) }
        // Such a storage writes under the file's own name: nobody else of the queue may do so before the row is there.
        return try await service.withContext { _ in try await addFile(names, hook, write) }
    }

    private func addFile(
        _ names: Names, _ hook: @escaping Hook, _ write: (_ path: String) async throws -> Written
    ) async throws -> Attachment {
        let path = try await local.checkedPath(of: names.filename)
        // Before anything is written: there may be a file of that row.
        try await checkFree(names)
        if local.files != nil, try await local.storage.fileExists(filePath: path) {
            throw PowerSyncAttachmentError.generalError(
                "There is a file named \(names.filename) already, and it never changes.")
        }
        let written = try await write(path)
        let row = Attachment(
            id: names.id, filename: names.filename, state: .queuedUpload, hasSynced: false, localUri: path,
            mediaType: names.mediaType, size: written.size, metaData: names.metaData)
        // What the transaction was about to commit.
        let added = Lock<Attachment?>(nil)
        do {
            return try await service.withContext { context in
                guard written.isThere() else { throw PowerSyncAttachmentError.fileNotFound(path) }
                let saved = try await context.rows.add(row) { connection, attachment in
                    try hook(connection, attachment)
                    added.withLock { $0 = attachment }
                }
                try await finish(saved, written, context)
                return saved
            }
        } catch {
            let last = added.withLock { $0 }
            // Shielded: it has to be done although the task is cancelled.
            let settling = Task { await settle(last, written) }
            guard let saved = await settling.value else { throw error }
            return saved
        }
    }

    /// Refuses an id, or a filename, that a row has.
    func checkFree(_ names: Names) async throws {
        try await service.withContext { try await $0.rows.checkFree(names.id, names.filename) }
    }

    /// Gives a file its own name that has a row.
    ///
    /// Where another process has cleared everything meanwhile there is no row in the end either, and it throws
    /// ``PowerSyncAttachmentError/fileNotFound(_:)``.
    private func finish(_ saved: Attachment, _ written: Written, _ context: AttachmentContext) async throws {
        do {
            // Or a power failure could take the row, and with it all that knows of the file.
            try context.rows.sync()
            try written.finish()
        } catch {
            guard AttachmentFiles.saysGone(error) else {
                // It is saved: whoever needs the file first gives it its name.
                return logger.warning(
                    "A file that was saved has not got its name yet: \(error)", tag: LogTag.attachmentQueue)
            }
            try await context.rows.change(saved.id) { row in
                row.timestamp == saved.timestamp ? .removed : .unchanged
            }
            throw PowerSyncAttachmentError.fileNotFound(saved.localUri ?? saved.filename)
        }
    }

    /// Does what is to be done where saving a row threw: takes the file back, unless the row is there all the same.
    ///
    /// - Parameters:
    ///   - added: the row as it was to be committed; nil if it did not come to that.
    ///   - written: the file.
    /// - Returns: the row if it is there.
    private func settle(_ added: Attachment?, _ written: Written) async -> Attachment? {
        do {
            let saved = try await service.withContext { context -> Attachment? in
                guard let added, let row = try await context.rows.row(added.id),
                    row.timestamp == added.timestamp
                else { return nil }
                try await finish(added, written, context)
                return added
            }
            if let saved { return saved }
        } catch {
            // The file stays: it may have a row. Without one it goes when the queue is started.
            logger.warning(
                "What became of a file that was to be saved is not known: \(error)",
                tag: LogTag.attachmentQueue)
            return nil
        }
        await shielded(written.undo)
        return nil
    }

    /// Takes a file back, also where the task is cancelled.
    func shielded(_ undo: @escaping @Sendable () async throws -> Void) async {
        let logger = logger
        await Task {
            do {
                try await undo()
            } catch {
                logger.warning(
                    "Taking a file back that was not saved failed: \(error)", tag: LogTag.attachmentQueue)
            }
        }.value
    }
}
