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

/// A file of this device that is read, open as long as this object is there.
final class LocalFile: Sendable {
    /// How many bytes are read at a time.
    static let pieceSize = 64 << 10
    /// How many symbolic links are followed: those that lead to each other would never end.
    private static let longestChain = 8

    /// Where it is, no symbolic link.
    let path: String
    /// How many bytes it had when it was opened.
    let size: Int64
    /// What tells it from other files, and from what it was before a change.
    let identity: FileIdentity
    private let descriptor: Int32

    /// Opens a file.
    ///
    /// - Parameter path: the path; a symbolic link is followed to a name beside it alone.
    /// - Throws: `PowerSyncAttachmentError` with `fileNotFound`, `ioError`, or `invalidPath` for a link that leads
    ///   elsewhere, for a folder, and for what is no path.
    init(_ path: String) throws(PowerSyncAttachmentError) {
        let place = try Self.withoutLinks(path)
        // Without waiting for whoever writes into a pipe.
        let opened = open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
        guard opened >= 0 else { throw Self.failure("cannot open", path, errno) }
        var status = stat()
        let isKnown = fstat(opened, &status) == 0
        guard isKnown, status.st_mode & S_IFMT == S_IFREG else {
            let reason = errno
            close(opened)
            throw isKnown
                ? PowerSyncAttachmentError.invalidPath("\(path), which is no file")
                : Self.failure("cannot tell the size of", path, reason)
        }
        self.path = place
        size = Int64(status.st_size)
        identity = FileIdentity(status)
        descriptor = opened
    }

    deinit { close(descriptor) }

    /// Returns bytes of it.
    ///
    /// - Parameters:
    ///   - offset: where they begin.
    ///   - count: how many at most.
    /// - Returns: the bytes; none at the end.
    /// - Throws: `PowerSyncAttachmentError` with `ioError`.
    func bytes(at offset: Int64, atMost count: Int) throws(PowerSyncAttachmentError) -> [UInt8] {
        do throws(SystemError) {
            return try FileBytes.read(descriptor, called: path, at: offset, count: count)
        } catch {
            throw .ioError(error)
        }
    }

    /// Returns when its bytes are on the disk.
    ///
    /// - Throws: `PowerSyncAttachmentError` with `ioError`.
    func sync() throws(PowerSyncAttachmentError) {
        var status: Int32
        repeat { status = fsync(descriptor) } while status != 0 && errno == EINTR
        guard status == 0 else { throw Self.failure("cannot bring to the disk", path, errno) }
    }

    /// Removes it, unless its name leads to another file by now.
    ///
    /// - Throws: `PowerSyncAttachmentError` with `ioError`.
    func remove() throws(PowerSyncAttachmentError) {
        var (ours, named) = (stat(), stat())
        guard fstat(descriptor, &ours) == 0, lstat(path, &named) == 0, ours.st_dev == named.st_dev,
            ours.st_ino == named.st_ino
        else { return }
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw Self.failure("cannot remove", path, errno)
    }

    /// Returns how many bytes a file has; a symbolic link is not followed.
    ///
    /// - Parameter path: the path.
    /// - Returns: the number of bytes.
    /// - Throws: `PowerSyncAttachmentError` with `fileNotFound` or `ioError`.
    static func size(of path: String) throws(PowerSyncAttachmentError) -> Int64 {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw failure("cannot look at", path, errno) }
        return Int64(status.st_size)
    }

    /// Looks for a file, or a folder, that may be read.
    ///
    /// - Parameter path: the path; a symbolic link is followed to a name beside it alone.
    /// - Returns: what was found.
    static func presence(of path: String) -> FilePresence {
        // nil: what is no path, and a link that leads elsewhere, lead to nothing that may be read.
        guard let place = try? withoutLinks(path) else { return .missing }
        var status = stat()
        guard lstat(place, &status) == 0 else {
            let reason = errno
            if reason == ENOENT || reason == ENOTDIR { return .missing }
            return .unknown(SystemError(.file, "cannot look at \(path)", errno: reason))
        }
        let kind = status.st_mode & S_IFMT
        return kind == S_IFREG || kind == S_IFDIR ? .here : .missing
    }

    /// Whether there is a file, or a folder, that may be read; as ``presence(of:)``.
    static func exists(_ path: String) -> Bool {
        if case .here = presence(of: path) { true } else { false }
    }

    /// Refuses what is no path.
    static func check(_ path: String) throws(PowerSyncAttachmentError) {
        // What the system is given ends at a NUL.
        guard !path.isEmpty, !path.utf8.contains(0) else {
            throw .invalidPath("a path that is empty or has a NUL")
        }
    }

    /// Names an error of the system.
    static func failure(_ what: String, _ path: String, _ number: Int32) -> PowerSyncAttachmentError {
        number == ENOENT || number == ENOTDIR
            ? .fileNotFound(path) : .ioError(SystemError(.file, "\(what) \(path)", errno: number))
    }

    /// Follows symbolic links to names beside them.
    private static func withoutLinks(_ path: String) throws(PowerSyncAttachmentError) -> String {
        try check(path)
        var path = path
        for _ in 0..<longestChain {
            var status = stat()
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
            // nil: it has gone meanwhile, or cannot be read.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
            guard let target, FilePlace.fault(of: target.utf8) == nil else {
                throw .invalidPath("\(path), a symbolic link that leads out of its folder")
            }
            path = FilePlace.path(of: target, in: FilePlace(path).folder)
        }
        throw .invalidPath("\(path), one of too many symbolic links")
    }
}

/// What tells a file from others, and from what it was before a change.
struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let number: UInt64
    private let size: Int64
    private let seconds: Int64
    private let nanoseconds: Int64

    /// Looks at what has a path, a symbolic link itself; nil where that cannot be looked at.
    init?(of path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Takes it out of what the system knows of a file.
    init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        number = UInt64(status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Darwin)
            let changed = status.st_mtimespec
        #else
            let changed = status.st_mtim
        #endif
        seconds = Int64(changed.tv_sec)
        nanoseconds = Int64(changed.tv_nsec)
    }
}
