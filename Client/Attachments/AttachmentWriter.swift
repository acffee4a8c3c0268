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
    private let work = FileWork()

    /// Makes it of its parts.
    init(service: any AttachmentServiceProtocol, local: LocalFiles, logger: any LoggerProtocol) {
        self.service = service
        self.local = local
        self.logger = logger
    }

    /// What a new file is called.
    struct Names: Sendable {
        let id: String
        let filename: String
        let mediaType: String
        let metaData: String?
    }

    /// A file that is here and has not got its own name.
    struct Written: Sendable {
        /// How many bytes there are; nil where nobody but the storage knows.
        var size: Int64?
        /// Whether it is still here: somebody may have cleared everything meanwhile.
        var isThere: @Sendable () -> Bool = { true }
        /// Gives it its own name, once it has a row.
        var finish: @Sendable () throws -> Void = {}
        /// Takes it back.
        let undo: @Sendable () async throws -> Void
    }

    // MARK: Saving

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
            let size = Int64(data.count)
            guard let files = local.files else {
                let storage = local.storage
                let saved = try await storage.saveFile(filePath: path, data: data)
                return Written(size: saved, undo: { try await storage.deleteFile(filePath: path) })
            }
            let staged = try await claim(names, path, files) { try files.stage(path) }
            return try await whole(staged, size) { isWanted in
                var rest = data[...]
                while !rest.isEmpty {
                    guard isWanted() else { throw CancellationError() }
                    try staged.write([UInt8](rest.prefix(LocalFile.pieceSize)))
                    rest = rest.dropFirst(LocalFile.pieceSize)
                }
            } finish: {
                try staged.commit(to: path, replacing: false)
            }
        }
    }

    /// Moves a file to the others and saves its row.
    ///
    /// It keeps its name until there is a row: whatever ends before leaves it where it is, and a crash right behind may leave
    /// it there, too.
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
            if let files = local.files { return try await take(source, names, path, files) }
            guard try await storage.fileExists(filePath: source) else {
                throw PowerSyncAttachmentError.fileNotFound(source)
            }
            // Shielded: whoever is cancelled would not know where it is.
            try await Task { try await storage.moveFile(sourcePath: source, targetPath: path) }.value
            return Written(undo: { try await storage.moveFile(sourcePath: path, targetPath: source) })
        }
    }

    /// Takes a file in by one more name, or copies it where that cannot be.
    private func take(
        _ source: String, _ names: Names, _ path: String, _ files: AttachmentFiles
    ) async throws -> Written {
        let file = try LocalFile(source)
        guard file.path == source else {
            throw PowerSyncAttachmentError.invalidPath("\(source), a symbolic link")
        }
        let (staged, isCopy) = try await claim(names, path, files) { () throws -> (StagedFile, Bool) in
            if let linked = try files.link(source, as: path) { return (linked, false) }
            return try (files.stage(path), true)
        }
        let logger = logger
        return try await whole(staged, file.size) { isWanted in
            while isCopy {
                guard isWanted() else { throw CancellationError() }
                let piece = try file.bytes(at: staged.size, atMost: LocalFile.pieceSize)
                if piece.isEmpty { break }
                try staged.write(piece)
            }
        } finish: {
            // First: whoever finds a file without its own name sees by its other one that the app may still write to it.
            do throws(PowerSyncAttachmentError) {
                try file.remove()
            } catch {
                logger.warning(
                    "A file that was saved is also where it was, and cannot be removed there: \(error)",
                    tag: LogTag.attachmentQueue)
            }
            try staged.commit(to: path, replacing: false)
        }
    }

    // MARK: Steps

    /// Begins a new file; what a crash has left in its place goes first, unless it has a row.
    private func claim<File>(
        _ names: Names, _ path: String, _ files: AttachmentFiles, _ begin: () throws -> File
    ) async throws -> File {
        // Each turn but the second needs somebody who saves under the same name at that moment.
        for _ in 0..<4 {
            do {
                return try begin()
            } catch {
                guard AttachmentFiles.saysTaken(error) else { throw error }
            }
            guard let left = try files.left(of: path) else { continue }
            defer { left.close() }
            // Looked at once nobody else has it: whoever had it has committed its row before.
            try await checkFree(names)
            if try await local.isTaken(path, besides: names.id, service.withContext(callback: { $0.rows })) {
                throw PowerSyncAttachmentError.generalError(
                    "The file of another attachment has the name \(names.filename) here.")
            }
            left.discard()
        }
        throw PowerSyncAttachmentError.generalError(
            "Somebody saves a file named \(names.filename) again and again.")
    }

    /// Writes a file as a whole, and brings it to the disk.
    private func whole(
        _ staged: StagedFile, _ size: Int64,
        _ write: @escaping @Sendable (_ isWanted: () -> Bool) throws -> Void,
        finish: @escaping @Sendable () throws -> Void
    ) async throws -> Written {
        let work = work
        // On a thread, too: that which writes may be waiting for the disk still.
        let undo: @Sendable () async throws -> Void = {
            try await work.run(bytes: size) { _ in staged.discard() }
        }
        do {
            try await work.run(bytes: size) { isWanted in
                try write(isWanted)
                guard isWanted() else { throw CancellationError() }
                try staged.sync()
            }
            return Written(
                size: staged.size, isThere: { staged.isThere }, finish: finish, undo: undo)
        } catch {
            await shielded(undo)
            throw error
        }
    }

    // MARK: Deleting

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
}
