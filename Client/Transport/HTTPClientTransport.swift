import PowerSyncHTTP
import PowerSyncHTTPClient

/// Carries requests to the service through libcurl.
struct HTTPClientTransport: SyncTransport {
    /// How long a connection may be silent: the service says something every 20 seconds or so (client-api 3.8).
    static let idleTimeout = Duration.seconds(30)

    private let client: HTTPClient

    init() throws(HTTPClientError) {
        try self.init(client: HTTPClient())
    }

    init(client: HTTPClient) {
        self.client = client
    }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        try await Self.noticingSilence {
            HTTPClientResponseStream(stream: try await client.open(Self.request(request)))
        }
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        let response = try await Self.noticingSilence { try await client.send(Self.request(request)) }
        return SyncHTTPResponse(
            status: response.status, headers: response.fields.map { SyncHTTPHeader($0.name, $0.value) },
            body: response.body)
    }

    private static func request(_ request: SyncHTTPRequest) -> HTTPClientRequest {
        var fields = HTTPFields()
        for header in request.headers { fields.append(header.name, header.value) }
        var sent = HTTPClientRequest(
            method: request.method, url: request.url, fields: fields, body: request.body,
            idleTimeout: idleTimeout)
        sent.acceptsGzip = true
        return sent
    }

    fileprivate static func noticingSilence<T>(_ body: () async throws -> T) async throws -> T {
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
