import PowerSyncHTTP

/// Sends HTTP/1.1 requests through libcurl; connections are kept and used again.
///
/// Redirects are not followed. Proxies named in the environment are used, except for this machine itself, unless the
/// configuration names one. A body that was compressed is handed on compressed. All transfers share one thread of the
/// client.
package final class HTTPClient: Sendable {
    private let loop: CurlLoop

    /// Creates a client and its thread.
    ///
    /// - Parameter configuration: the ways to servers, and certificates.
    /// - Throws: `HTTPClientError` with `badConfiguration` or `unreadableFile`, or where the system has no thread.
    package convenience init(
        _ configuration: HTTPClientConfiguration = HTTPClientConfiguration()
    ) throws(HTTPClientError) {
        try configuration.check()
        try self.init(driving: CurlLoop(configuration: configuration))
    }

    /// Creates a client around a loop that is not running yet.
    init(driving loop: CurlLoop) throws(HTTPClientError) {
        self.loop = loop
        try loop.start()
    }

    deinit {
        // Whoever drops it may be a task, whose thread must not block until libcurl has closed its connections.
        loop.stop(waiting: false)
    }

    /// Sends a request and returns the answer with its body.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - bodyLimit: how many bytes the body may have.
    /// - Returns: the answer, whatever its status.
    /// - Throws: `HTTPClientError`, or `CancellationError` when the task is cancelled.
    package func send(_ request: HTTPClientRequest, bodyLimit: Int = 16 << 20) async throws
        -> HTTPClientResponse
    {
        let stream = try await open(request)
        defer { stream.cancel() }
        var body: [UInt8] = []
        while let part = try await stream.next() {
            guard body.count + part.count <= bodyLimit else {
                throw HTTPClientError(.tooLarge, "The body has more than \(bodyLimit) bytes")
            }
            body.append(contentsOf: part)
        }
        return HTTPClientResponse(status: stream.status, fields: stream.fields, body: body)
    }

    /// Sends a request and returns as soon as the head of the answer is there.
    ///
    /// - Parameter request: the request.
    /// - Returns: the answer, whose body is read from it.
    /// - Throws: `HTTPClientError`, or `CancellationError` when the task is cancelled.
    package func open(_ request: HTTPClientRequest) async throws -> HTTPClientStream {
        precondition(request.body == nil || request.file == nil, "a body is in memory or in a file")
        try Task.checkCancellation()
        let transfer = Transfer(request, loop: loop)
        loop.submit(.add(transfer))
        let head = try await transfer.head()
        return HTTPClientStream(transfer: transfer, head: head, client: self)
    }

    /// Ends all transfers with `closed` and blocks until the client's thread has ended.
    ///
    /// For programs that end then. A client that is dropped ends its thread without anybody waiting for it.
    package func close() {
        loop.stop()
    }
}

/// An answer whose body is read piece by piece.
package final class HTTPClientStream: Sendable {
    /// The status.
    package let status: Int
    /// The header fields.
    package let fields: HTTPFields

    let transfer: Transfer
    /// Keeps the thread running while the answer is read.
    private let client: HTTPClient

    init(transfer: Transfer, head: HTTPHead, client: HTTPClient) {
        self.transfer = transfer
        self.client = client
        status = head.status
        fields = head.fields
    }

    deinit {
        transfer.cancel()
    }

    /// Returns what has arrived since the last call, waiting for it.
    ///
    /// One task at a time may wait. While nobody asks, little more than 64 KiB are taken from the connection.
    ///
    /// - Returns: bytes, cut anywhere; nil at the end of a complete body.
    /// - Throws: `HTTPClientError`, with the code `cut` for a body that breaks off; `CancellationError` when the task is
    ///   cancelled or the stream was.
    package func next() async throws -> [UInt8]? {
        try await transfer.next()
    }

    /// Ends the exchange; the connection is closed unless the body was complete.
    package func cancel() {
        transfer.cancel()
    }
}
