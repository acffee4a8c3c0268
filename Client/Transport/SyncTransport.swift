/// Carries requests to the service: libcurl on Linux, a script in tests.
///
/// A connection that neither accepts nor brings a byte for 30 seconds, while somebody reads, ends with `SyncError` and
/// the code `silentConnection`.
package protocol SyncTransport: Sendable {
    /// Sends a request and returns as soon as the head of the response is there.
    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream

    /// Sends a request and returns the whole response, as it was before it was compressed.
    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse
}

/// A response whose body is still arriving; dropping it closes the connection.
package protocol SyncResponseStream: Sendable {
    /// The status code.
    var status: Int { get }
    /// The header fields in order.
    var headers: [SyncHTTPHeader] { get }
    /// Returns the next bytes, as they were before they were compressed, nil at an orderly end; nothing is read from the
    /// network while nobody asks.
    func next() async throws -> [UInt8]?
    /// Closes the connection.
    func cancel()
}

/// One header field.
package struct SyncHTTPHeader: Sendable, Hashable {
    /// The name.
    package let name: String
    /// The value.
    package let value: String

    /// Makes a field.
    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request to the service.
package struct SyncHTTPRequest: Sendable, Hashable {
    /// The method.
    package var method: String
    /// The whole address.
    package var url: String
    /// The header fields in order.
    package var headers: [SyncHTTPHeader]
    /// The body, if there is one.
    package var body: [UInt8]?
    /// Whether the answer may come compressed; the transport asks for what it can decompress.
    package var acceptsCompression = true

    /// Makes a request of its parts.
    package init(method: String, url: String, headers: [SyncHTTPHeader], body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
    }
}

/// A whole response.
package struct SyncHTTPResponse: Sendable, Hashable {
    /// The status code.
    package var status: Int
    /// The header fields in order.
    package var headers: [SyncHTTPHeader]
    /// The body.
    package var body: [UInt8]

    /// Makes a response of its parts.
    package init(status: Int, headers: [SyncHTTPHeader] = [], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Where the service is and the token that it accepts.
package struct SyncCredentials: Sendable, Hashable {
    /// The base address; slashes at its end count for nothing.
    package var endpoint: String
    /// The token (JWT).
    package var token: String

    /// Makes credentials of their parts.
    package init(endpoint: String, token: String) {
        self.endpoint = endpoint
        self.token = token
    }

    /// Returns the address of a path of the service.
    func address(of path: String) -> String {
        var base = Substring(endpoint)
        while base.last == "/" { base.removeLast() }
        return "\(base)/\(path)"
    }
}
