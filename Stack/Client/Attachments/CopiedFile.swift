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
    ///   - isUnwanted: asked before each piece; true ends it.
    /// - Throws: `ClientError` with the code `fileAccess` for a file that cannot be read, `SystemError` for one that cannot
    ///   be written, `CancellationError`.
    static func append(_ source: String, to target: StagedFile, unless isUnwanted: () -> Bool) throws {
        // Without waiting for somebody who writes, if it is a pipe.
        let descriptor = open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
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
    ///   - source: the file.
    ///   - isUnwanted: asked before each piece; true ends it.
    /// - Throws: as `append(_:to:unless:)`.
    static func replace(_ target: String, with source: String, unless isUnwanted: () -> Bool) throws {
        let folder = target.prefix(through: target.lastIndex(of: "/") ?? target.startIndex)
        let staged = try StagedFile(
            path: "\(folder).powersync-\(UUID().uuidString.lowercased())", resuming: false)
        do {
            try append(source, to: staged, unless: isUnwanted)
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
