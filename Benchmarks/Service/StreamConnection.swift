import PowerSyncCompression
import PowerSyncSystem
import PowerSyncWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The connection of one stream; it belongs to the thread of its reader.
///
/// Every line is parsed, as a client must, and no more is done with it.
final class StreamConnection {
    /// What a connection can do next.
    enum Step {
        /// Nothing until its descriptor is ready.
        case wait
        /// More at once.
        case goOn
        /// Nothing more.
        case end
    }

    /// The largest line.
    private static let lineLimit = 64 << 20
    /// The longest head of an answer.
    private static let headLimit = 16 << 10

    /// What it reads.
    let stream: ReadStream
    /// Its socket.
    let descriptor: Int32
    private var unsent: ArraySlice<UInt8>
    /// What has come of the head of the answer; nil once that is read.
    private var head: [UInt8]? = []
    private var body = ChunkedBody()
    private var decompressor: Decompressor?
    private var lines = LineSplitter(limit: StreamConnection.lineLimit)

    /// Begins to connect.
    ///
    /// - Parameter stream: what is to be read.
    /// - Throws: `SystemError`, `CryptoError`.
    init(_ stream: ReadStream) throws {
        self.stream = stream
        unsent = try stream.request.bytes()[...]
        stream.begin()
        descriptor = try TCPSocket.connect(port: stream.request.port)
    }

    deinit { close(descriptor) }

    /// Sends what is left of the request, and reads once.
    ///
    /// - Parameter buffer: where bytes are read to.
    /// - Returns: what can be done next; what has ended has told its stream why.
    func advance(_ buffer: inout [UInt8]) -> Step {
        while !unsent.isEmpty {
            let count = unsent.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                unsent = unsent.dropFirst(count)
                continue
            }
            // A socket that is still connecting is not ready, or says that it is not connected.
            if errno == EAGAIN || errno == ENOTCONN { return .wait }
            if errno != EINTR { return end(SystemError.text(of: errno)) }
        }
        let count = read(descriptor, &buffer, buffer.count)
        if count == 0 { return end("the connection was closed") }
        if count < 0 {
            switch errno {
            case EAGAIN: return .wait
            case EINTR: return .goOn
            default: return end(SystemError.text(of: errno))
            }
        }
        let moment = ContinuousClock.now
        do {
            try take(buffer[..<count], at: moment)
            return body.isOver ? end("the stream has ended") : .goOn
        } catch {
            return end("\(error)")
        }
    }

    private func end(_ reason: String) -> Step {
        stream.fail(reason)
        return .end
    }

    private func take(_ bytes: ArraySlice<UInt8>, at moment: ContinuousClock.Instant) throws {
        var rest = bytes
        if let known = head {
            let all = known + bytes
            guard let end = Self.end(ofHead: all) else {
                guard all.count < Self.headLimit else { throw BenchmarkError("the head has no end") }
                head = all
                return
            }
            try begin(String(decoding: all[..<end], as: UTF8.self))
            head = nil
            rest = all[end...]
        }
        var content: [UInt8] = []
        try body.take(rest, into: &content)
        guard let decompressor else { return try split(content, at: moment) }
        decompressor.append(content)
        while let piece = try decompressor.next() { try split(piece, at: moment) }
    }

    private func split(_ content: [UInt8], at moment: ContinuousClock.Instant) throws {
        lines.append(content)
        while let line = try lines.next() { stream.take(try SyncLine(parsing: line), at: moment) }
    }

    /// Returns where the body begins; nil as long as the head is not whole.
    private static func end(ofHead bytes: [UInt8]) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard bytes.count >= mark.count else { return nil }
        return (mark.count...bytes.count).first { bytes[($0 - mark.count)..<$0].elementsEqual(mark) }
    }

    /// Reads the head of the answer.
    private func begin(_ head: String) throws(BenchmarkError) {
        let lines = head.split(separator: "\r\n").map { $0.lowercased() }
        let status = lines.first?.split(separator: " ").dropFirst().first ?? ""
        guard status == "200" else { throw BenchmarkError("the answer has the status \(status)") }
        guard lines.contains("transfer-encoding: chunked") else {
            throw BenchmarkError("the answer is not in chunks")
        }
        if lines.contains("content-encoding: gzip") { decompressor = Decompressor(.gzip) }
        if lines.contains("content-encoding: zstd") { decompressor = Decompressor(.zstd) }
        guard !stream.request.acceptsGzip || decompressor != nil else {
            throw BenchmarkError("the answer is not compressed")
        }
    }
}
