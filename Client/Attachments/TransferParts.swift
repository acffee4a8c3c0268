import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What the transfers of a queue work with.
struct TransferParts: Sendable {
    let remote: any RemoteStorageAdapter
    let local: LocalFiles
    let service: any AttachmentServiceProtocol
    /// Decides about errors; nil to try again for ever.
    let errorHandler: (any SyncErrorHandler)?
    let logger: any LoggerProtocol
    let progress: AttachmentProgress
    let environment: SyncEnvironment

    /// The storage, if bytes go straight from and to files; nil if they go through memory.
    var transport: (any AttachmentTransportAdapter)? {
        local.files == nil ? nil : remote as? any AttachmentTransportAdapter
    }
}

/// The files of a queue on this device.
struct LocalFiles: Sendable {
    let storage: any LocalStorageAdapter
    /// The folders below that of the attachments in which files may lie.
    let subdirectories: [String]
    /// Returns the path of a file by its name.
    let path: @Sendable (String) async -> String

    /// Files before they have their own names; nil where the app's storage alone knows how to write them.
    var files: AttachmentFiles? { storage is FileManagerStorageAdapter ? AttachmentFiles() : nil }

    /// Returns where the file of a name is to be.
    ///
    /// - Parameter filename: the name, as rows have it.
    /// - Returns: the path.
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``.
    func checkedPath(of filename: String) async throws -> String {
        try AttachmentFiles.check(filename: filename, subdirectories: subdirectories)
        return await path(filename)
    }

    /// Whether there is a file that a row names, also one that a crash has left without its own name.
    func exists(_ path: String) async throws -> Bool {
        if let files, try files.settleNew(of: path) { return true }
        return try await storage.fileExists(filePath: path)
    }

    /// Removes the file of a row that goes, and what there is of its download; not one that another row has, too.
    ///
    /// A file may also be where it should be, and the row not know it: after a crash behind its download.
    ///
    /// - Parameters:
    ///   - attachment: the row.
    ///   - rows: the rows of the table.
    /// - Throws: what the database and the storage throw.
    func remove(_ attachment: Attachment, _ rows: AttachmentRows) async throws {
        let expected: String?
        do {
            expected = try await checkedPath(of: attachment.filename)
        } catch PowerSyncAttachmentError.invalidPath {
            // Of a name that is not allowed there is nothing.
            expected = nil
        }
        let isShared = try await rows.db.readLock { [sql = rows.sql] in
            try sql.isShared(attachment.filename, besides: attachment.id, on: $0)
        }
        if isShared { return }
        let known = attachment.hasPath ? attachment.localUri : nil
        for path in Set([known, expected].compactMap { $0 }) {
            if try await exists(path) { try await storage.deleteFile(filePath: path) }
        }
        guard let files, let expected else { return }
        do {
            _ = try StagedFile.removeUnheld(files.partPath(of: expected))
        } catch {
            throw PowerSyncAttachmentError.ioError(error)
        }
    }
}

extension AttachmentFiles {
    /// Whether somebody is at work on the part of a file, such as a transfer that was stopped and has not ended.
    ///
    /// - Parameter path: the path that the file shall have.
    /// - Returns: whether a download would be refused.
    func isPartHeld(of path: String) -> Bool {
        let part = partPath(of: path)
        guard LocalFile.exists(part) else { return false }
        do throws(SystemError) {
            try StagedFile(path: part, resuming: true).close()
            return false
        } catch {
            return error.errno == EWOULDBLOCK
        }
    }
}
