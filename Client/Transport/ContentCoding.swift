import PowerSyncCompression
import PowerSyncHTTP
import PowerSyncSystem

/// How bodies of answers are compressed (RFC 9110, 8.4; RFC 9659).
enum ContentCoding {
    /// What is asked for; the service prefers zstd (service 1.5).
    static let accepted = "zstd, gzip"

    /// Reads the `Content-Encoding` of an answer.
    ///
    /// - Parameter fields: the header fields of the answer.
    /// - Returns: how the body is compressed; nil if it is not.
    /// - Throws: `SyncError` for a coding that was not asked for, and for several on top of each other.
    static func format(_ fields: HTTPFields) throws(SyncError) -> CompressionFormat? {
        let codings = fields.tokens("Content-Encoding").filter { $0 != "identity" }
        guard let coding = codings.first else { return nil }
        // What RFC 9110, 8.4.1.3, says of x-gzip.
        let format = coding == "x-gzip" ? .gzip : CompressionFormat(rawValue: coding)
        guard codings.count == 1, let format else {
            throw SyncError(
                .unexpectedResponse,
                "The answer is compressed as \(codings.joined(separator: ", ")), which was not asked for")
        }
        return format
    }
}

/// A response whose body is decompressed as it is asked for, at most 64 KiB at a time.
///
/// Of the response below nothing is taken until all is asked for that its last piece holds: what unpacks into far more
/// waits as it came, and the sender behind it.
final class DecodedStream: SyncResponseStream {
    private let stream: any SyncResponseStream
    private let decompressor: Lock<Decompressor>

    /// Decompresses the body of a response.
    ///
    /// - Parameters:
    ///   - stream: the response; read by nobody else.
    ///   - format: how its body is compressed.
    init(_ stream: any SyncResponseStream, format: CompressionFormat) {
        self.stream = stream
        decompressor = Lock(Decompressor(format))
    }

    var status: Int { stream.status }
    var headers: [SyncHTTPHeader] { stream.headers }

    /// Returns the next bytes of the body as it was before it was compressed.
    ///
    /// - Throws: `SyncError` for a body that is not what its head says, or that ends too early; what the response throws.
    func next() async throws -> [UInt8]? {
        while true {
            let piece = try decoded { (decompressor) throws(DecompressionError) in try decompressor.next() }
            if let piece { return piece }
            guard let bytes = try await stream.next() else {
                try decoded { (decompressor) throws(DecompressionError) in try decompressor.finish() }
                return nil
            }
            decompressor.withLock { $0.append(bytes) }
        }
    }

    func cancel() { stream.cancel() }

    private func decoded<T>(
        _ body: (Decompressor) throws(DecompressionError) -> T
    ) throws(SyncError) -> T {
        do throws(DecompressionError) {
            return try decompressor.withLock { (decompressor) throws(DecompressionError) in
                try body(decompressor)
            }
        } catch {
            let message =
                error == .unfinished
                ? "The compressed answer ends too early" : "The answer cannot be decompressed"
            throw SyncError(.unexpectedResponse, message)
        }
    }
}
