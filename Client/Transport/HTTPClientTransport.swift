import PowerSyncHTTP
import PowerSyncHTTPClient

/// Carries requests to the service through libcurl, and decompresses the answers itself.
///
/// libcurl's own decoders would unpack all of what they have, 17 KB into 512 MB, whether anybody asks for it or not.
struct HTTPClientTransport: SyncTransport {
    /// How long a connection may be silent: the service says something every 20 seconds or so (client-api 3.8).
    static let idleTimeout = Duration.seconds(30)
    /// How many bytes the answer to `send` may have, decompressed; those of the service have less than a hundred.
    static let bodyLimit = 1 << 20

    private let client: HTTPClient

    /// Makes a way of its own, with connections and a thread.
    ///
    /// - Parameter options: proxies and certificates; nil for those of the system.
    /// - Throws: `HTTPClientError` for options that cannot be used, or where the system has no thread.
    init(_ options: TransportOptions? = nil) throws(HTTPClientError) {
        try self.init(client: HTTPClient(HTTPClientConfiguration(options)))
    }

    init(client: HTTPClient) {
        self.client = client
    }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        let stream = try await received(request)
        // Of a refusal nobody reads the body: how that is compressed must not hide the status.
        return stream.status == 200 ? try Self.decoded(stream) : stream
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        let stream = try await received(request)
        defer { stream.cancel() }
        var response = SyncHTTPResponse(status: stream.status, headers: stream.headers, body: [])
        do {
            response.body = try await Self.whole(Self.decoded(stream))
        } catch let error as SyncError where error.code == .unexpectedResponse && stream.status != 200 {
            // As above; the body of a refusal is for the log alone.
        }
        return response
    }

    private func received(_ request: SyncHTTPRequest) async throws -> HTTPClientResponseStream {
        let sent = Self.sent(
            request, accepting: request.acceptsCompression ? ContentCoding.accepted : nil)
        return try await Self.noticingSilence {
            HTTPClientResponseStream(stream: try await client.open(sent))
        }
    }

    /// Returns a request as it is sent.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - coding: the compression that is asked for; nil for no word of it.
    /// - Returns: the request with the client's times.
    static func sent(_ request: SyncHTTPRequest, accepting coding: String?) -> HTTPClientRequest {
        var fields = HTTPFields()
        for header in request.headers { fields.append(header.name, header.value) }
        if let coding { fields.append("Accept-Encoding", coding) }
        return HTTPClientRequest(
            method: request.method, url: request.url, fields: fields, body: request.body,
            idleTimeout: idleTimeout)
    }

    private static func decoded(_ stream: HTTPClientResponseStream) throws -> any SyncResponseStream {
        guard let format = try ContentCoding.format(stream.stream.fields) else { return stream }
        return DecodedStream(stream, format: format)
    }

    /// Reads a body to its end.
    static func whole(_ stream: any SyncResponseStream) async throws -> [UInt8] {
        var body: [UInt8] = []
        while let part = try await stream.next() {
            guard body.count + part.count <= bodyLimit else {
                throw SyncError(.unexpectedResponse, "The answer has more than \(bodyLimit) bytes")
            }
            body += part
        }
        return body
    }

    /// Tells a silent connection apart, after which the next attempt is made at once (client-api 2.3).
    static func noticingSilence<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch let error as HTTPClientError where error.code == .silent {
            throw SyncError(.silentConnection, "The service said nothing for \(idleTimeout)")
        }
    }
}

private struct HTTPClientResponseStream: SyncResponseStream {
    let stream: HTTPClientStream

    var status: Int { stream.status }
    var headers: [SyncHTTPHeader] { stream.fields.map { SyncHTTPHeader($0.name, $0.value) } }

    func next() async throws -> [UInt8]? {
        try await HTTPClientTransport.noticingSilence { try await stream.next() }
    }

    func cancel() { stream.cancel() }
}
