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

/// Files of attachments before they have their own names (Client/Attachments/SPEC.md, Files).
///
/// Beside `FOLDER/NAME` lie `FOLDER/.powersync-new/NAME`, which is being saved, and `FOLDER/.powersync-part/NAME`,
/// which is being downloaded. Paths are told and taken as those that the files have in the end. All calls block for as
/// long as the disk does.
struct AttachmentFiles: Sendable {
    static let new = FilePlace.ours + "new"
    private static let part = FilePlace.ours + "part"

    /// Makes it; it knows no folder by itself.
    init() {}

    // MARK: Names of ours

    /// Begins to write a file under a name that is nobody's, and that is no file's of a row.
    ///
    /// - Parameter path: the path that it shall have.
    /// - Returns: the file, empty.
    /// - Throws: as `stage`.
    func temporary(for path: String) throws -> StagedFile {
        let name = FilePlace.ours + String(UInt64.random(in: 0 ... .max), radix: 16)
        // In a folder of ours it is cleared up, too.
        let folder = FilePlace(Self.isOurs(folderOf: path) ? path : newPath(of: path)).folder
        return try Self.staged(FilePlace.path(of: name, in: folder), beside: path)
    }

    // MARK: Downloads

    /// Returns where a file is while it is downloaded.
    func partPath(of path: String) -> String { Self.path(of: path, in: Self.part) }

    /// Opens a file that was downloaded as a whole, to be given its own name.
    ///
    /// - Parameter path: the path that it shall have.
    /// - Returns: the file; nobody else writes or removes it as long as it is open.
    /// - Throws: `PowerSyncAttachmentError`.
    func part(of path: String) throws -> StagedFile {
        let part = try checkedPartPath(of: path)
        return try Self.naming { () throws(SystemError) -> StagedFile in try StagedFile(existing: part) }
    }

    /// Begins a file that is downloaded, whatever is there of it.
    ///
    /// - Parameter path: the path that it shall have.
    /// - Returns: the file, empty.
    /// - Throws: `PowerSyncAttachmentError`, also while somebody else downloads it.
    func newPart(of path: String) throws -> StagedFile {
        let part = try checkedPartPath(of: path)
        return try Self.naming { () throws(SystemError) -> StagedFile in
            try StagedFile(path: part, resuming: false)
        }
    }

    /// Whether somebody is at work on the part of a file, such as a transfer that was stopped and has not ended.
    ///
    /// - Parameter path: the path that the file shall have.
    /// - Returns: whether a download would be refused.
    func isPartHeld(of path: String) -> Bool {
        do throws(SystemError) {
            try StagedFile(existing: partPath(of: path)).close()
            return false
        } catch {
            return error.errno == EWOULDBLOCK
        }
    }

    private func checkedPartPath(of path: String) throws(PowerSyncAttachmentError) -> String {
        try LocalFile.check(path)
        let part = partPath(of: path)
        try Self.check(folderOf: part)
        return part
    }

    // MARK: Clearing up

    /// Removes what crashes have left: new files and parts that nobody has open and that no row wants.
    ///
    /// It is asked about a file while nobody else can have it open: whoever had it open has committed its row before. What
    /// cannot be removed keeps nothing else from going.
    ///
    /// - Parameters:
    ///   - folders: the folder of the attachments, and those below it that have attachments.
    ///   - keepingNew: whether a row wants the new file that shall have a path.
    ///   - keepingParts: whether a row wants the part of the file that shall have a path.
    /// - Throws: `PowerSyncAttachmentError`, the first one.
    func sweep(
        folders: [String], keepingNew: (String) -> Bool, keepingParts: (String) -> Bool
    ) throws {
        var first: PowerSyncAttachmentError?
        for folder in folders {
            Self.clear(Self.new, in: folder, keeping: keepingNew, &first)
            Self.clear(Self.part, in: folder, keeping: keepingParts, &first)
        }
        if let first { throw first }
    }

    /// Removes what lies in one folder of ours and is not kept.
    private static func clear(
        _ kind: String, in folder: String, keeping isKept: (String) -> Bool,
        _ first: inout PowerSyncAttachmentError?
    ) {
        let place = FilePlace.path(of: kind, in: folder)
        do throws(PowerSyncAttachmentError) {
            for name in try names(in: place) {
                do throws(SystemError) {
                    _ = try StagedFile.removeUnheld(FilePlace.path(of: name, in: place)) {
                        isKept(FilePlace.path(of: name, in: folder))
                    }
                } catch {
                    first = first ?? PowerSyncAttachmentError.ioError(error)
                }
            }
        } catch {
            first = first ?? error
        }
    }

    /// The names in a folder of ours; none where there is no such folder.
    static func names(in folder: String) throws(PowerSyncAttachmentError) -> [String] {
        guard try isFolder(folder) else { return [] }
        do {
            return try FileManager.default.contentsOfDirectory(atPath: folder)
        } catch {
            throw .ioError(error)
        }
    }

    // MARK: Steps

    static func path(of path: String, in kind: String) -> String {
        let place = FilePlace(path)
        return FilePlace.path(of: place.name, in: FilePlace.path(of: kind, in: place.folder))
    }

    private static func staged(_ path: String, beside final: String) throws -> StagedFile {
        try LocalFile.check(final)
        try check(folderOf: path)
        return try naming { () throws(SystemError) -> StagedFile in
            try StagedFile(path: path, resuming: false)
        }
    }

    /// Refuses a path in a folder of ours that is none, but a symbolic link, for example; other folders are the app's.
    static func check(folderOf path: String) throws(PowerSyncAttachmentError) {
        if isOurs(folderOf: path) { _ = try isFolder(FilePlace(path).folder) }
    }

    /// Whether a path lies in a folder of ours.
    private static func isOurs(folderOf path: String) -> Bool {
        FilePlace(FilePlace(path).folder).name.utf8.starts(with: FilePlace.ours.utf8)
    }

    /// Whether a folder of ours is there; a symbolic link in its place is not followed.
    private static func isFolder(_ path: String) throws(PowerSyncAttachmentError) -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else { return false }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw .invalidPath("\(path), which is no folder")
        }
        return true
    }

    /// Names an error of the system.
    static func naming<T>(_ body: () throws(SystemError) -> T) throws(PowerSyncAttachmentError) -> T {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .ioError(error)
        }
    }
}
