import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file of the store that is open for reading, and closed when this goes.
final class BlobFile: Sendable {
    private let descriptor: Int32
    /// Its bytes when it was opened.
    let size: Int64
    /// What no other file has that is there at the same time.
    let tag: String

    /// Opens a file; nil if nothing has the name.
    ///
    /// - Parameter path: The file; no symbolic link.
    /// - Throws: `SystemError` with `.file`, also for what is no file.
    init?(path: String) throws(SystemError) {
        // Without waiting for whoever writes to a pipe that stands in its place.
        let opened = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard opened >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw SystemError(.file, "cannot open \(path)", errno: errno)
        }
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(opened)
            throw SystemError(.file, "\(path) is no file")
        }
        descriptor = opened
        size = Int64(status.st_size)
        tag = String(UInt64(status.st_ino), radix: 16)
    }

    deinit { close(descriptor) }

    /// Reads bytes.
    ///
    /// - Parameters:
    ///   - offset: Where they begin.
    ///   - count: How many.
    /// - Returns: The bytes: fewer at the end, none behind it.
    /// - Throws: `SystemError` with `.file`.
    func read(at offset: Int64, count: Int) throws(SystemError) -> [UInt8] {
        try FileBytes.read(descriptor, called: "a file of the store", at: offset, count: count)
    }
}
