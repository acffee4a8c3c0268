import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Keeps attachments in files of this device.
///
/// A file is there as a whole or not at all: it is written in the folder `.powersync-new` beside its name, brought to
/// the disk, and then gets that name in place of what had it. Files and folders are for this user alone.
///
/// A symbolic link is never followed for writing, and for reading only to a name beside it; one that leads elsewhere is
/// ``PowerSyncAttachmentError/invalidPath(_:)``. Other failures than those that are said below are
/// ``PowerSyncAttachmentError/ioError(_:)``. What takes long runs on a thread of its own, and ends with
/// `CancellationError` when the task is cancelled; nothing gets another name then, also not later.
public actor FileManagerStorageAdapter: MovingStorageAdapter {
    private let fileManager: FileManager
    private let files = AttachmentFiles()
    private let work = FileWork()

    /// Makes an adapter.
    ///
    /// - Parameter fileManager: makes and removes folders; nil for that of the system.
    public init(fileManager: FileManager? = nil) { self.fileManager = fileManager ?? .default }

    // MARK: Files

    /// Writes a file in place of what has the name; folders that are missing are made.
    ///
    /// - Parameters:
    ///   - filePath: the path.
    ///   - data: the bytes of the file.
    /// - Returns: how many bytes the file has.
    /// - Throws: ``PowerSyncAttachmentError``.
    public func saveFile(filePath: String, data: Data) async throws -> Int64 {
        let size = Int64(data.count)
        try await write(filePath, bytes: size) { file, isWanted in
            var rest = data[...]
            while !rest.isEmpty {
                guard isWanted() else { throw CancellationError() }
                try file.write([UInt8](rest.prefix(LocalFile.pieceSize)))
                rest = rest.dropFirst(LocalFile.pieceSize)
            }
        }
        return size
    }

    /// Returns the bytes of a file.
    ///
    /// - Parameters:
    ///   - filePath: the path.
    ///   - mediaType: not used.
    /// - Returns: the bytes.
    /// - Throws: ``PowerSyncAttachmentError``, with ``PowerSyncAttachmentError/fileNotFound(_:)`` where there is no
    ///   such file.
    public func readFile(filePath: String, mediaType: String?) async throws -> Data {
        let file = try LocalFile(filePath)
        return try await work.run(bytes: file.size) { isWanted in
            var data = Data(capacity: Int(file.size))
            while true {
                guard isWanted() else { throw CancellationError() }
                let piece = try file.bytes(at: Int64(data.count), atMost: LocalFile.pieceSize)
                if piece.isEmpty { return data }
                data.append(contentsOf: piece)
            }
        }
    }

    /// Deletes a file; one that is not there is deleted.
    ///
    /// A folder is refused.
    ///
    /// - Parameter filePath: the path; a symbolic link goes itself.
    /// - Throws: ``PowerSyncAttachmentError``.
    public func deleteFile(filePath: String) async throws {
        try LocalFile.check(filePath)
        guard unlink(filePath) != 0, errno != ENOENT, errno != ENOTDIR else { return }
        throw LocalFile.failure("cannot remove", filePath, errno)
    }

    /// Whether a file, or a folder, is there that may be read.
    ///
    /// - Parameter filePath: the path.
    /// - Returns: whether it is there.
    /// - Throws: ``PowerSyncAttachmentError/invalidPath(_:)`` for what is no path.
    public func fileExists(filePath: String) async throws -> Bool {
        try LocalFile.check(filePath)
        return LocalFile.exists(filePath)
    }

    /// Copies a file; what was there before under the new name goes, and folders that are missing are made.
    ///
    /// - Parameters:
    ///   - sourcePath: the path of the file.
    ///   - targetPath: the path of the copy.
    /// - Throws: ``PowerSyncAttachmentError``, with ``PowerSyncAttachmentError/fileNotFound(_:)`` where there is no
    ///   such file.
    public func copyFile(sourcePath: String, targetPath: String) async throws {
        let source = try LocalFile(sourcePath)
        try await write(targetPath, bytes: source.size) { file, isWanted in
            while true {
                guard isWanted() else { throw CancellationError() }
                let piece = try source.bytes(at: file.size, atMost: LocalFile.pieceSize)
                if piece.isEmpty { return }
                try file.write(piece)
            }
        }
    }

    /// Moves a file; what was there before under the new name goes, and folders that are missing are made.
    ///
    /// Within a file system no byte is copied. A symbolic link is not moved.
    ///
    /// - Parameters:
    ///   - sourcePath: the path of the file.
    ///   - targetPath: the path that it shall have.
    /// - Throws: ``PowerSyncAttachmentError``, with ``PowerSyncAttachmentError/fileNotFound(_:)`` where there is no
    ///   such file.
    public func moveFile(sourcePath: String, targetPath: String) async throws {
        try LocalFile.check(targetPath)
        let source = try LocalFile(sourcePath)
        guard source.path == sourcePath else {
            throw PowerSyncAttachmentError.invalidPath("\(sourcePath), a symbolic link")
        }
        try makeFolder(FilePlace(targetPath).folder)
        // What takes long is done before, and may be given up.
        try await work.run(bytes: source.size) { _ in try source.sync() }
        try Task.checkCancellation()
        do throws(SystemError) {
            return try StagedFile.publish(sourcePath, as: targetPath, replacing: true)
        } catch {
            // Another file system, or a file that may not be written.
            guard error.errno == EXDEV || error.errno == EACCES else {
                throw PowerSyncAttachmentError.ioError(error)
            }
        }
        try await copyFile(sourcePath: sourcePath, targetPath: targetPath)
        try source.remove()
    }

    // MARK: Folders

    /// Makes a folder, and those above it that are missing; one that is there stays.
    ///
    /// - Parameter path: the path.
    /// - Throws: ``PowerSyncAttachmentError``.
    public func makeDir(path: String) async throws {
        try LocalFile.check(path)
        try makeFolder(path)
    }

    /// Removes a folder and everything in it; one that is not there is removed.
    ///
    /// - Parameter path: the path; a symbolic link goes itself.
    /// - Throws: ``PowerSyncAttachmentError``.
    public func rmDir(path: String) async throws {
        try LocalFile.check(path)
        let fileManager = fileManager
        // How much lies in it nobody knows.
        try await work.run(bytes: .max) { _ in
            var status = stat()
            guard lstat(path, &status) == 0 else { return }
            do {
                try fileManager.removeItem(atPath: path)
            } catch {
                // Somebody else may have been quicker.
                guard lstat(path, &status) == 0 else { return }
                throw PowerSyncAttachmentError.ioError(error)
            }
        }
    }

    // MARK: Steps

    private func makeFolder(_ path: String) throws {
        do {
            try fileManager.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw PowerSyncAttachmentError.ioError(error)
        }
    }

    /// A file that goes with this object, unless it has got its name.
    private final class Unnamed: Sendable {
        let file: StagedFile

        init(_ file: StagedFile) { self.file = file }

        deinit { file.discard() }
    }

    /// Gives a name to a file that a closure has written.
    private func write(
        _ path: String, bytes: Int64,
        _ body: @escaping @Sendable (_ file: StagedFile, _ isWanted: () -> Bool) throws -> Void
    ) async throws {
        let files = files
        let written = try await work.run(bytes: bytes) { isWanted in
            let written = Unnamed(try files.temporary(for: path))
            try body(written.file, isWanted)
            guard isWanted() else { throw CancellationError() }
            try written.file.syncBytes()
            return written
        }
        // Not on the thread, which goes on where somebody has given up.
        try Task.checkCancellation()
        do throws(SystemError) {
            try written.file.commit(to: path, replacing: true)
        } catch {
            throw PowerSyncAttachmentError.ioError(error)
        }
    }
}
