import PowerSyncSystem

/// The folder of the files of a queue.
struct AttachmentFolder: Sendable {
    /// Its path, without a slash at the end.
    let path: String
    let local: LocalFiles

    init(_ path: String, _ local: LocalFiles) {
        var path = path[...]
        while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") { path.removeLast() }
        self.path = String(path)
        self.local = local
    }

    /// The folder, and those below it in which files may lie.
    private var all: [String] { [path] + local.subdirectories.map { FilePlace.path(of: $0, in: path) } }

    /// Returns the path of a file in it.
    func path(of filename: String) -> String { FilePlace.path(of: filename, in: path) }

    /// Makes the folders.
    ///
    /// - Throws: what the storage throws; ``PowerSyncAttachmentError/invalidPath(_:)`` for a symbolic link in the place of
    ///   one below the first.
    func make() async throws {
        for folder in local.subdirectories {
            // As of a file in it.
            let name = FilePlace.path(of: "file", in: folder)
            try local.check(linksTo: self.path(of: name), of: name)
        }
        for folder in all { try await local.storage.makeDir(path: folder) }
    }

    /// Removes what crashes have left: new files without a row, and parts that are not downloaded any more.
    ///
    /// What cannot be removed stays, with a warning: it is in nobody's way.
    ///
    /// - Parameters:
    ///   - rows: the rows of the table.
    ///   - logger: receives warnings.
    /// - Throws: what the database throws.
    func sweep(_ rows: AttachmentRows, _ logger: any LoggerProtocol) async throws {
        guard let files = local.files else { return }
        let first = try await rows.db.readLock { [all, path, sql = rows.sql] connection -> (any Error)? in
            let failure = Lock<(any Error)?>(nil)
            // What cannot be asked about is kept.
            func isNamed(_ file: String, in states: [AttachmentState]?) -> Bool {
                do {
                    let names = (Self.filename(of: file, in: path), FilePlace(file).name)
                    return try sql.names(names, path: file, in: states, on: connection)
                } catch {
                    failure.withLock { $0 = error }
                    return true
                }
            }
            var first: (any Error)?
            do {
                try files.sweep(
                    // What has its own name, too, needs this one no longer.
                    folders: all, keepingNew: { isNamed($0, in: nil) && !LocalFile.exists($0) },
                    keepingParts: { isNamed($0, in: [.queuedDownload]) })
            } catch {
                first = error
            }
            if let error = failure.withLock({ $0 }) { throw error }
            return first
        }
        guard let first else { return }
        logger.warning(
            "Clearing up the folder of the attachments failed: \(first)", tag: LogTag.attachmentQueue)
    }

    // MARK: Clearing

    /// Removes all rows and all files.
    ///
    /// The folder is set aside in the transaction that removes the rows, so that what anybody saves behind that, also in
    /// another process, does not lie in it. To be called shielded: rows that are gone do not come again.
    ///
    /// - Parameters:
    ///   - rows: the rows of the table; nobody else of the queue has access to them.
    ///   - logger: receives warnings.
    ///   - removeRows: removes all rows, and returns what its argument returned, which it calls last in its transaction; where
    ///   it cannot, behind it.
    /// - Throws: what `removeRows` throws, and the files are where they were if the rows are; what the storage throws.
    func clear(
        _ rows: AttachmentRows, _ logger: any LoggerProtocol,
        removing removeRows: (_ setAside: @escaping @Sendable () -> String?) async throws -> String?
    ) async throws {
        // So that what is set aside below is all that is.
        try await settleCleared(rows, logger)
        let aside: String?
        do {
            aside = try await removeRows { [local, path] in local.files?.setAside(path) }
        } catch {
            do {
                try await settleCleared(rows, logger)
            } catch {
                logger.warning(
                    "Files that were to be cleared are set aside: \(error)", tag: LogTag.attachmentQueue)
            }
            throw error
        }
        // What could not be set aside is removed where it is.
        try await local.storage.rmDir(path: aside ?? path)
        local.files?.forgetPlace(ofCleared: path)
    }

    /// Ends what a clearing has left that did not come to its end: removes the files, or puts them back if the rows are there
    /// still.
    ///
    /// What cannot be removed stays, with a warning.
    ///
    /// - Parameters:
    ///   - rows: the rows of the table; nobody else of the queue has access to them.
    ///   - logger: receives warnings.
    /// - Throws: what the database throws.
    func settleCleared(_ rows: AttachmentRows, _ logger: any LoggerProtocol) async throws {
        guard let files = local.files else { return }
        do {
            guard let aside = try files.foldersSetAside(from: path).first else { return }
            // In a transaction: nobody is between setting a folder aside and removing its rows.
            try await rows.transaction { [path, sql = rows.sql] connection, _ in
                if try sql.hasPaths(on: connection) { files.putBack(aside, as: path) }
            }
            for aside in try files.foldersSetAside(from: path) { try await local.storage.rmDir(path: aside) }
            files.forgetPlace(ofCleared: path)
        } catch let error as PowerSyncAttachmentError {
            logger.warning(
                "Removing the files of attachments that were cleared failed: \(error)",
                tag: LogTag.attachmentQueue)
        }
    }

    /// The name of a file as its row has it, unless the app has places of its own for files.
    private static func filename(of file: String, in folder: String) -> String {
        let start = FilePlace.path(of: "", in: folder)
        guard file.utf8.starts(with: start.utf8) else { return file }
        return String(Substring(file.utf8.dropFirst(start.utf8.count)))
    }
}
