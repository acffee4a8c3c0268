import PowerSync
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
#elseif canImport(Darwin)
    import Darwin
#endif

/// Copies of files that the user has named, or gets; the calls block.
enum CopiedFile {
    /// How many bytes are copied at a time.
    private static let pieceSize = 1 << 20

    /// Appends the content of a file to another one that is being written.
    ///
    /// - Parameters:
    ///   - source: the file.
    ///   - target: what is being written.
    ///   - isFollowed: whether a symbolic link in its place is followed.
    ///   - isUnwanted: asked before each piece; true ends it.
    /// - Throws: `ClientError` with the code `fileAccess` for a file that cannot be read, `SystemError` for one that cannot
    ///   be written, `CancellationError`.
    static func append(
        _ source: String, to target: StagedFile, followingLinks isFollowed: Bool = true,
        unless isUnwanted: () -> Bool
    ) throws {
        // Without waiting for somebody who writes, if it is a pipe.
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | (isFollowed ? 0 : O_NOFOLLOW)
        let descriptor = open(source, flags)
        guard descriptor >= 0 else { throw unreadable(source) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw ClientError("\(source) is no regular file", code: .fileAccess)
        }
        var buffer = [UInt8](repeating: 0, count: pieceSize)
        while true {
            if isUnwanted() { throw CancellationError() }
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw unreadable(source) }
            if count == 0 { return }
            try target.write(Array(buffer[..<count]))
        }
    }

    /// Copies a file over another one, or where there is none; nobody sees half of it.
    ///
    /// - Parameters:
    ///   - target: the absolute path of the copy.
    ///   - source: the file; a symbolic link in its place is none of ours, and refused.
    ///   - isUnwanted: asked before each piece; true ends it.
    /// - Throws: as `append(_:to:followingLinks:unless:)`.
    static func replace(_ target: String, with source: String, unless isUnwanted: () -> Bool) throws {
        let folder = target.prefix(through: target.lastIndex(of: "/") ?? target.startIndex)
        let staged = try StagedFile(
            path: "\(folder).powersync-\(UUID().uuidString.lowercased())", resuming: false)
        do {
            try append(source, to: staged, followingLinks: false, unless: isUnwanted)
            try staged.commit(to: target, replacing: true)
        } catch {
            staged.discard()
            throw error
        }
    }

    /// The error of the call that has just failed.
    private static func unreadable(_ path: String) -> ClientError {
        ClientError("cannot read \(path): \(SystemError.text(of: errno))", code: .fileAccess)
    }
}
