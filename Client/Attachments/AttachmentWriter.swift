import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Saves and deletes files together with what the app writes (SPEC.md, "Files").
struct AttachmentWriter: Sendable {
    /// What the app writes in the transaction.
    typealias Hook = @Sendable (any ConnectionContext, Attachment) throws -> Void

    let service: any AttachmentServiceProtocol
    let local: LocalFiles
    let logger: any LoggerProtocol

    /// What a new file is called.
    struct Names: Sendable {
        let id: String
        let filename: String
        let mediaType: String
        let metaData: String?
    }

    /// How a file that was written gets its own name, or goes.
    private struct Written: Sendable {
        /// How many bytes there are; nil where nobody but the storage knows.
        let size: Int64?
        let finish: @Sendable () async throws -> Void
        let undo: @Sendable () async throws -> Void
    }

    /// Saves a file and its row.
    ///
    /// - Parameters:
    ///   - names: what it is called.
    ///   - data: the bytes.
    ///   - hook: what the app writes.
    /// - Returns: the row.
    /// - Throws: ``PowerSyncAttachmentError``, what the database, the storage and the hook throw; there is neither a
    ///   file nor a row then.
    func save(_ names: Names, _ data: Data, _ hook: @escaping Hook) async throws -> Attachment {
        try await add(names, hook) { path in
            guard let files = local.files else {
                let size = try await local.storage.saveFile(filePath: path, data: data)
                return Written(size: size) {
                } undo: {
                    try await local.storage.deleteFile(filePath: path)
                }
            }
            let staged = try files.stage(path)
            do throws(SystemError) {
                var rest = data[...]
                while !rest.isEmpty {
                    try staged.write([UInt8](rest.prefix(LocalFile.pieceSize)))
                    rest = rest.dropFirst(LocalFile.pieceSize)
                }
                try staged.sync()
            } catch {
                staged.discard()
                throw PowerSyncAttachmentError.ioError(error)
            }
            return Written(size: staged.size) {
                try staged.commit(to: path, replacing: false)
            } undo: {
                staged.discard()
            }
        }
    }

    /// Moves a file to the others and saves its row.
    ///
    /// - Parameters:
    ///   - names: what it is called.
    ///   - source: where it is.
    ///   - hook: what the app writes.
    /// - Returns: the row.
    /// - Throws: as ``save(_:_:_:)``; the file is where it was then.
    func move(_ names: Names, from source: String, _ hook: @escaping Hook) async throws -> Attachment {
        guard let storage = local.storage as? any MovingStorageAdapter else {
            throw PowerSyncAttachmentError.generalError(
                "The local storage cannot move files: it has no moveFile (MovingStorageAdapter).")
        }
        return try await add(names, hook) { path in
            guard try await storage.fileExists(filePath: source) else {
                throw PowerSyncAttachmentError.fileNotFound(source)
            }
            guard let files = local.files else {
                try await storage.moveFile(sourcePath: source, targetPath: path)
                return Written(size: nil) {
                } undo: {
                    try await storage.moveFile(sourcePath: path, targetPath: source)
                }
            }
            let new = files.newPath(of: path)
            // Who clears up takes a new file without a row for one that a crash has left, unless somebody holds it.
            let hold = [FileLock(path: source, like: source), FileLock(path: new, like: source)]
            hold[0].takeIfPossible()
            try await storage.moveFile(sourcePath: source, targetPath: new)
            // On another file system it is a copy.
            hold[1].takeIfPossible()
            let size = try LocalFile(new).size
            return Written(size: size) {
                _ = try files.settleNew(of: path)
                for lock in hold { lock.release() }
            } undo: {
                defer { for lock in hold { lock.release() } }
                do {
                    try await storage.moveFile(sourcePath: new, targetPath: source)
                } catch {
                    // It is the app's: where it is now it would be taken for something that a crash has left.
                    try await storage.moveFile(sourcePath: new, targetPath: path)
                    throw error
                }
            }
        }
    }

    /// Has a file deleted.
    ///
    /// - Parameters:
    ///   - id: the id of the attachment.
    ///   - hook: what the app writes.
    /// - Returns: the row as it is then.
    /// - Throws: ``PowerSyncAttachmentError/notFound(_:)``, what the database and the hook throw.
    func delete(_ id: String, _ hook: @escaping Hook) async throws -> Attachment {
        try await service.withContext { try await $0.rows.delete(id, hook) }
    }

    /// Adds a row once its file is written, and gives the file its name once there is a row.
    private func add(
        _ names: Names, _ hook: @escaping Hook, _ write: (_ path: String) async throws -> Written
    ) async throws -> Attachment {
        let path = try await local.checkedPath(of: names.filename)
        if local.files != nil, try await local.storage.fileExists(filePath: path) {
            throw PowerSyncAttachmentError.generalError(
                "There is a file named \(names.filename) already, and it never changes.")
        }
        let written = try await write(path)
        let row = Attachment(
            id: names.id, filename: names.filename, state: .queuedUpload, hasSynced: false, localUri: path,
            mediaType: names.mediaType, size: written.size, metaData: names.metaData)
        do {
            return try await service.withContext { [logger] context in
                let saved = try await context.rows.add(row, hook)
                do {
                    try await written.finish()
                } catch {
                    // It is saved: whoever needs the file first gives it its name.
                    logger.warning(
                        "A file that was saved has not got its name yet: \(error)",
                        tag: LogTag.attachmentQueue)
                }
                return saved
            }
        } catch {
            // Shielded: it has to be done although the task is cancelled.
            await Task { await undo(written) }.value
            throw error
        }
    }

    private func undo(_ written: Written) async {
        do {
            try await written.undo()
        } catch {
            logger.warning(
                "Taking a file back that was not saved failed: \(error)", tag: LogTag.attachmentQueue)
        }
    }
}

extension FileLock {
    /// Takes the lock of a file that is there, if the system lets us.
    fileprivate func takeIfPossible() {
        // A file that may not be written cannot be locked; it is moved all the same.
        _ = try? take()
    }
}
