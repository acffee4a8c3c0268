import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Files that are being saved (Client/Attachments/SPEC.md, Files).
extension AttachmentFiles {
    /// Returns where a file is while it is saved.
    func newPath(of path: String) -> String { Self.path(of: path, in: Self.new) }

    /// Begins to save a file, which nobody sees before `StagedFile.commit`.
    ///
    /// - Parameter path: the path that it shall have.
    /// - Returns: the file, empty; nobody else writes or removes it as long as it is open.
    /// - Throws: `PowerSyncAttachmentError` with `ioError`, also where a file of that path is being saved, or was left by a
    ///   crash (`saysTaken`); `invalidPath`.
    func stage(_ path: String) throws -> StagedFile {
        let new = try checkedNewPath(of: path)
        return try Self.naming { () throws(SystemError) -> StagedFile in try StagedFile(new: new) }
    }

    /// Begins to take a file in that is there, which keeps its name and gets one more.
    ///
    /// - Parameters:
    ///   - source: the file; no symbolic link.
    ///   - path: the path that it shall have.
    /// - Returns: the file, as `stage` returns one; nil where it cannot have another name, and has to be copied.
    /// - Throws: as `stage`; `PowerSyncAttachmentError` with `fileNotFound`.
    func link(_ source: String, as path: String) throws -> StagedFile? {
        let new = try checkedNewPath(of: path)
        // Whoever may not take its name away would leave a file that the app may write to.
        guard access(FilePlace(source).folder, W_OK) == 0 else { return nil }
        do throws(SystemError) {
            return try StagedFile(linking: source, as: new)
        } catch {
            switch error.errno {
            // Another file system, or one without links; a file that may not be written, or that somebody has locked.
            case EXDEV, EPERM, EACCES, EMLINK, ENOTSUP, ENOSYS, EWOULDBLOCK: return nil
            case ENOENT: throw PowerSyncAttachmentError.fileNotFound(source)
            default: throw PowerSyncAttachmentError.ioError(error)
            }
        }
    }

    /// Whether an error says that there is a new file of that path already.
    static func saysTaken(_ error: any Error) -> Bool {
        guard case PowerSyncAttachmentError.ioError(let cause) = error else { return false }
        return (cause as? SystemError)?.errno == EEXIST
    }

    /// Whether an error says that somebody is at work on the file.
    static func saysHeld(_ error: any Error) -> Bool {
        guard case PowerSyncAttachmentError.ioError(let cause) = error else { return false }
        return (cause as? SystemError)?.errno == EWOULDBLOCK
    }

    /// Whether an error says that the file is gone, or its folder.
    static func saysGone(_ error: any Error) -> Bool { (error as? SystemError)?.errno == ENOENT }

    /// Opens a new file that was left by a crash, as it is.
    ///
    /// - Parameter path: the path that it should have.
    /// - Returns: the file, which nobody else has; nil where there is none any more.
    /// - Throws: `PowerSyncAttachmentError` with `ioError`, also while somebody saves it.
    func left(of path: String) throws -> StagedFile? {
        do throws(SystemError) {
            return try StagedFile(existing: newPath(of: path))
        } catch {
            if error.errno == ENOENT { return nil }
            throw PowerSyncAttachmentError.ioError(error)
        }
    }

    /// Gives a saved file its own name that a crash has left without.
    ///
    /// To be called for files with a row alone: that was committed when the file was whole. Whoever saves it may be at
    /// work still, and finds it done. Where a crash has left the name, too, by which the app knew the file, it is copied:
    /// nobody else may have its bytes.
    ///
    /// - Parameters:
    ///   - path: the path that it shall have.
    ///   - isWanted: whether to go on with a copy; one that is not wanted any more leaves everything as it was.
    /// - Returns: whether there is a file now.
    /// - Throws: `PowerSyncAttachmentError`, also while whoever saves it has not taken the other name away (`saysHeld`);
    ///   `CancellationError` where it is not wanted.
    func settleNew(of path: String, while isWanted: () -> Bool = { true }) throws -> Bool {
        let new = try checkedNewPath(of: path)
        try separate(new, from: path, isWanted)
        try Self.naming { () throws(SystemError) -> Void in
            do throws(SystemError) {
                try StagedFile.publish(new, as: path, replacing: false)
            } catch {
                switch error.errno {
                // What has the name is what counts.
                case EEXIST: _ = try StagedFile.removeUnheld(new)
                // Nothing is left to be done.
                case ENOENT, ENOTDIR: break
                default: throw error
                }
            }
        }
        return LocalFile.exists(path)
    }

    // MARK: Steps

    private func checkedNewPath(of path: String) throws(PowerSyncAttachmentError) -> String {
        try LocalFile.check(path)
        let new = newPath(of: path)
        try Self.check(folderOf: new)
        return new
    }

    /// Puts a copy in the place of a new file that has another name, unless that is its own.
    private func separate(_ new: String, from path: String, _ isWanted: () -> Bool) throws {
        var status = stat()
        guard lstat(new, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink > 1,
            !LocalFile.exists(path)
        else { return }
        let file: StagedFile
        do throws(SystemError) {
            file = try StagedFile(existing: new)
        } catch {
            if error.errno == ENOENT { return }
            // Also of whoever saves it: that may end before it has taken the other name away.
            throw PowerSyncAttachmentError.ioError(error)
        }
        defer { file.close() }
        let copy = try temporary(for: new)
        do {
            while copy.size < file.size {
                guard isWanted() else { throw CancellationError() }
                let piece = try file.read(at: copy.size, count: LocalFile.pieceSize)
                guard !piece.isEmpty else { throw SystemError(.file, "\(new) became shorter") }
                try copy.write(piece)
            }
            guard isWanted() else { throw CancellationError() }
            try copy.commit(to: new, replacing: true)
        } catch let error as SystemError {
            copy.discard()
            throw PowerSyncAttachmentError.ioError(error)
        } catch {
            copy.discard()
            throw error
        }
    }
}
