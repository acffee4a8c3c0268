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
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            var got: Int
            repeat {
                got = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            } while got < 0 && errno == EINTR
            if got < 0 { failure = errno }
            filled = max(got, 0)
        }
        guard failure == 0 else { throw Self.failure("cannot read", path, failure) }
        return bytes
    }

    /// Whether there is a file, or a folder, that may be read.
    ///
    /// - Parameter path: the path; a symbolic link is followed to a name beside it alone.
    /// - Returns: whether something is there.
    static func exists(_ path: String) -> Bool {
        var status = stat()
        // nil: a link that leads elsewhere leads to nothing that may be read.
        guard let place = try? withoutLinks(path), lstat(place, &status) == 0 else { return false }
        let kind = status.st_mode & S_IFMT
        return kind == S_IFREG || kind == S_IFDIR
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
