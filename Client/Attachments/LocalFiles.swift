import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The files of a queue on this device.
struct LocalFiles: Sendable {
    let storage: any LocalStorageAdapter
    /// The folders below that of the attachments in which files may lie.
    let subdirectories: [String]
    /// Returns the path of a file by its name.
    let path: @Sendable (String) async -> String

    private let work = FileWork()

    /// Makes it of its parts.
    init(
        storage: any LocalStorageAdapter, subdirectories: [String],
        path: @escaping @Sendable (String) async -> String
    ) {
        self.storage = storage
        self.subdirectories = subdirectories
        self.path = path
    }

    /// Files before they have their own names; nil where the app's storage alone knows how to write them.
    var files: AttachmentFiles? { storage is FileManagerStorageAdapter ? AttachmentFiles() : nil }

    // MARK: Paths

    /// Returns where the file of a name is to be.
    ///
    /// - Parameter filename: the name, as rows have it.
    /// - Returns: the path.
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``.
    func checkedPath(of filename: String) async throws(PowerSyncAttachmentError) -> String {
        try AttachmentFiles.check(filename: filename, subdirectories: subdirectories)
        let path = await path(filename)
        try check(linksTo: path, of: filename)
        return path
    }

    /// Refuses a path on which a folder that stands in the filename is a symbolic link: it would lead out of the folder of
    /// the attachments.
    ///
    /// - Parameters:
    ///   - path: the path of the file; one that the app has chosen is the app's.
    ///   - filename: the name, as rows have it.
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)``.
    func check(linksTo path: String, of filename: String) throws(PowerSyncAttachmentError) {
        guard files != nil, path.utf8.suffix(filename.utf8.count).elementsEqual(filename.utf8) else { return }
        var folder = FilePlace(path).folder
        for byte in filename.utf8 where byte == UInt8(ascii: "/") {
            var status = stat()
            // Behind a link a slash stands for what that leads to.
            while folder.utf8.count > 1, folder.utf8.last == UInt8(ascii: "/") { folder.removeLast() }
            if lstat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFLNK {
                throw .invalidPath("\(folder), a symbolic link")
            }
            folder = FilePlace(folder).folder
        }
    }

    // MARK: What is there

    /// Looks for a file that a row names, also for one that a crash has left without its own name.
    ///
    /// - Parameter path: its path.
    /// - Returns: what was found; missing is what surely is not there.
    func presence(of path: String) async -> FilePresence {
        guard let files else {
            do {
                return try await storage.fileExists(filePath: path) ? .here : .missing
            } catch {
                return .unknown(error)
            }
        }
        let found = LocalFile.presence(of: path)
        guard case .missing = found else { return found }
        let new = files.newPath(of: path)
        switch LocalFile.presence(of: new) {
        // Whoever saves it may have given it its name between the two looks.
        case .missing: return LocalFile.presence(of: path)
        case .unknown(let error): return .unknown(error)
        case .here: break
        }
        do {
            let isHere = try await work.run(bytes: try LocalFile.size(of: new)) { isWanted in
                try files.settleNew(of: path, while: isWanted)
            }
            return isHere ? .here : .missing
        } catch {
            return .unknown(error)
        }
    }

    /// Whether there is a file that a row names; see ``presence(of:)``.
    ///
    /// - Parameter path: its path.
    /// - Returns: whether it is there.
    /// - Throws: why nobody can tell.
    func exists(_ path: String) async throws -> Bool {
        switch await presence(of: path) {
        case .here: return true
        case .missing: return false
        case .unknown(let error): throw error
        }
    }

    /// Whether a path leads to the file of another row: many file systems take names for one that differ in the case of
    /// letters, for example.
    ///
    /// - Parameters:
    ///   - path: where the file of a row should be that does not say where it is.
    ///   - id: the id of that row.
    ///   - rows: the rows of the table.
    /// - Returns: whether it does, or would once that file has its name.
    /// - Throws: what the database throws.
    func isTaken(_ path: String, besides id: String, _ rows: AttachmentRows) async throws -> Bool {
        guard let files else { return false }
        let found = Set([path, files.newPath(of: path)].compactMap { FileIdentity(of: $0) })
        guard !found.isEmpty else { return false }
        return try await rows.hasPath(besides: id) { other in
            [other, files.newPath(of: other)].contains { place in
                FileIdentity(of: place).map { found.contains($0) } ?? false
            }
        }
    }

    // MARK: What goes

    /// Removes the file of a row that goes, and what there is of its download; not one that another row needs, too.
    ///
    /// A file may also be where it should be, and the row not know it: after a crash behind its download.
    ///
    /// - Parameters:
    ///   - attachment: the row.
    ///   - rows: the rows of the table.
    ///   - gone: the ids of rows that go with it.
    /// - Throws: what the database and the storage throw.
    func remove(_ attachment: Attachment, _ rows: AttachmentRows, with gone: [String] = []) async throws {
        let expected: String?
        do throws(PowerSyncAttachmentError) {
            expected = try await checkedPath(of: attachment.filename)
        } catch {
            // Of a name that is not allowed there is nothing.
            expected = nil
        }
        if try await rows.needsFile(attachment.filename, besides: attachment.id, and: gone) { return }
        if let expected {
            var isOurs = attachment.localUri == expected
            if !isOurs { isOurs = try await !isTaken(expected, besides: attachment.id, rows) }
            if isOurs, try await exists(expected) { try await storage.deleteFile(filePath: expected) }
        }
        if let known = attachment.localUri, attachment.hasPath, known != expected {
            try await removeStale(known, of: attachment.filename)
        }
        guard let files, let expected else { return }
        do throws(SystemError) {
            _ = try StagedFile.removeUnheld(files.partPath(of: expected))
        } catch {
            throw PowerSyncAttachmentError.ioError(error)
        }
    }

    /// Removes a file where a row says that it is, and where it should not be.
    private func removeStale(_ path: String, of filename: String) async throws {
        do throws(PowerSyncAttachmentError) {
            try check(linksTo: path, of: filename)
        } catch {
            // It leads elsewhere.
            return
        }
        // What cannot be looked at is out of reach, as the folder of an app that was moved.
        guard case .here = await presence(of: path) else { return }
        try await storage.deleteFile(filePath: path)
    }
}
