import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Reads the body of a request out of its file as libcurl asks for it; lives on the loop's thread alone.
final class FileBodyReader {
    /// A request is sent again from its beginning as long as no more of its body was read.
    ///
    /// A connection that the server had closed already takes some of it before that shows. One that took more was in use, and
    /// whoever sends the request decides.
    static let mostLost: Int64 = 1 << 20

    /// Why the body cannot be read as it was announced.
    private(set) var failure: HTTPClientError?
    private let body: HTTPFileBody
    private let descriptor: Int32
    /// How many bytes were read since the beginning.
    private var position: Int64 = 0

    /// Opens the file.
    ///
    /// - Parameter body: The region.
    /// - Throws: `unreadableFile`, also for a file that is shorter than its region says.
    init(_ body: HTTPFileBody) throws(HTTPClientError) {
        self.body = body
        // A pipe would have us wait for whoever writes to it.
        let opened = open(body.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard opened >= 0 else { throw Self.unreadable(body, SystemError.text(of: errno)) }
        descriptor = opened
        var status = stat()
        guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Self.unreadable(body, "it is no file")
        }
        guard body.length <= Int64(status.st_size) - body.offset else { throw Self.tooShort(body) }
    }

    deinit { close(descriptor) }

    /// Whether so little was read that the request may be sent again.
    var isRewindable: Bool { position <= Self.mostLost }

    /// Goes back to the beginning.
    func rewind() { position = 0 }

    /// Reads the next bytes.
    ///
    /// - Parameter buffer: Where they go.
    /// - Returns: How many there are, 0 at the end; nil where they cannot be read, for which `failure` has the reason.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let most = Int(min(Int64(buffer.count), body.length - position))
        guard most > 0 else { return 0 }
        while true {
            let count = pread(descriptor, buffer.baseAddress, most, off_t(body.offset + position))
            if count > 0 {
                position += Int64(count)
                return count
            }
            if count < 0, errno == EINTR { continue }
            // At its end it has become shorter since it was opened.
            failure = count == 0 ? Self.tooShort(body) : Self.unreadable(body, SystemError.text(of: errno))
            return nil
        }
    }

    private static func tooShort(_ body: HTTPFileBody) -> HTTPClientError {
        unreadable(body, "it has not \(body.length) bytes from byte \(body.offset) on")
    }

    private static func unreadable(_ body: HTTPFileBody, _ reason: String) -> HTTPClientError {
        HTTPClientError(.unreadableFile, "\(body.path): \(reason)")
    }
}
