import PowerSyncHTTP
import PowerSyncHTTPClient

/// Carries requests to the service through libcurl, and decompresses the answers itself.
///
/// libcurl's own decoders would unpack all of what they have, 17 KB into 512 MB, whether anybody asks for it or not.
struct HTTPClientTransport: SyncTransport {
    /// How long a connection may be silent: the service says something every 20 seconds or so (client-api 3.8).
    static let idleTimeout = Duration.seconds(30)
    /// How long the answer to `send` may take once the request has gone out, however little of it comes at a time.
    static let answerTimeout = Duration.seconds(60)
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
        let stream = try await received(request, within: Self.answerTimeout)
        defer { stream.cancel() }
        return try await Self.answer(stream) { try Self.decoded(stream) }
    }

    private func received(
        _ request: SyncHTTPRequest, within limit: Duration? = nil
    ) async throws -> HTTPClientResponseStream {
        let sent = Self.sent(
            request, accepting: request.acceptsCompression ? ContentCoding.accepted : nil, within: limit)
        return try await Self.noticingSilence {
            HTTPClientResponseStream(stream: try await client.open(sent))
        }
    }

    /// Returns a request as it is sent.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - coding: the compression that is asked for; nil for no word of it.
    ///   - limit: how long the answer may take; nil for no limit but silence.
    /// - Returns: the request with the client's times.
    static func sent(
        _ request: SyncHTTPRequest, accepting coding: String?, within limit: Duration? = nil
    ) -> HTTPClientRequest {
        var fields = HTTPFields()
        for header in request.headers { fields.append(header.name, header.value) }
        if let coding { fields.append("Accept-Encoding", coding) }
        return HTTPClientRequest(
            method: request.method, url: request.url, fields: fields, body: request.body,
            idleTimeout: idleTimeout, answerTimeout: limit)
    }

    private static func decoded(_ stream: HTTPClientResponseStream) throws -> any SyncResponseStream {
        guard let format = try ContentCoding.format(stream.stream.fields) else { return stream }
        return DecodedStream(stream, format: format)
    }

    /// Reads an answer.
    ///
    /// Of a refusal the body is for the log alone: what comes first of it has to do, and whatever is wrong with it must
    /// not hide the status.
    ///
    /// - Parameters:
    ///   - stream: the answer as it arrives.
    ///   - decoded: the same without its compression.
    /// - Returns: the answer.
    /// - Throws: `SyncError` and what the stream throws; of a refusal `CancellationError` alone.
    static func answer(
        _ stream: any SyncResponseStream, decoded: () throws -> any SyncResponseStream
    ) async throws -> SyncHTTPResponse {
        var response = SyncHTTPResponse(status: stream.status, headers: stream.headers, body: [])
        guard stream.status != 200 else {
            response.body = try await whole(decoded())
            return response
        }
        do {
            response.body = try await decoded().next() ?? []
        } catch let error where !(error is CancellationError) {
            // As said: the status is there.
        }
        return response
    }

    /// Reads a body to its end.
    private static func whole(_ stream: any SyncResponseStream) async throws -> [UInt8] {
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
