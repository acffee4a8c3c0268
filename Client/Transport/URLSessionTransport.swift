#if canImport(Darwin)
    import Foundation
    import PowerSyncHTTP
    import PowerSyncHTTPClient

    /// Carries requests to the service by a URLSession, with the proxies and certificates of the system or the app.
    ///
    /// The session decompresses answers. No compiler has seen this file: nobody had an Apple system.
    struct URLSessionTransport: SyncTransport {
        private let client: URLSessionClient

        init(_ session: URLSession) { client = URLSessionClient(session: session) }

        func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
            try await received(request)
        }

        func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
            let stream = try await received(request)
            defer { stream.cancel() }
            return try await HTTPClientTransport.answer(stream) { stream }
        }

        private func received(_ request: SyncHTTPRequest) async throws -> URLSessionStream {
            // Unless it is told, the session asks for what it can decompress.
            let sent = HTTPClientTransport.sent(
                request, accepting: request.acceptsCompression ? nil : "identity")
            return try await HTTPClientTransport.noticingSilence { try await client.open(sent) }
        }
    }

    /// Sends requests as `HTTPClient` does: redirects are not followed, and nothing is taken from a cache or put there.
    ///
    /// Two things a session cannot do (client-api 2.3): an answer has no limit but silence, and a connection that does
    /// not come about in time counts as silent, too.
    struct URLSessionClient: Sendable {
        let session: URLSession

        /// Sends a request and returns the answer with its body.
        ///
        /// - Parameters:
        ///   - request: the request; its total time is not bounded.
        ///   - bodyLimit: how many bytes the body may have.
        /// - Returns: the answer, whatever its status.
        /// - Throws: `HTTPClientError`, `CancellationError`.
        func send(_ request: HTTPClientRequest, bodyLimit: Int) async throws -> HTTPClientResponse {
            let stream = try await open(request)
            defer { stream.cancel() }
            var body: [UInt8] = []
            while let piece = try await stream.piece() {
                guard body.count + piece.count <= bodyLimit else {
                    throw HTTPClientError(.tooLarge, "The body has more than \(bodyLimit) bytes")
                }
                body += piece
            }
            var fields = HTTPFields()
            for header in stream.headers { fields.append(header.name, header.value) }
            return HTTPClientResponse(status: stream.status, fields: fields, body: body)
        }

        /// Sends a request and returns as soon as the head of the answer is there.
        ///
        /// - Parameter request: the request; its total time is not bounded.
        /// - Returns: the answer, whatever its status.
        /// - Throws: `HTTPClientError`, `CancellationError`.
        func open(_ request: HTTPClientRequest) async throws -> URLSessionStream {
            guard let url = URL(string: request.url), let scheme = url.scheme?.lowercased(),
                scheme == "http" || scheme == "https"
            else { throw HTTPClientError(.badURL, "The address is not one of http or https") }
            var sent = URLRequest(
                url: url, cachePolicy: .reloadIgnoringLocalCacheData,
                timeoutInterval: request.idleTimeout / .seconds(1))
            sent.httpMethod = request.method
            sent.httpBody = request.body.map { Data($0) }
            sent.httpShouldHandleCookies = false
            for (name, value) in request.fields { sent.addValue(value, forHTTPHeaderField: name) }
            let complete = sent
            return try await Self.naming {
                let (bytes, response) = try await session.bytes(for: complete, delegate: PlainExchange())
                guard let response = response as? HTTPURLResponse else {
                    bytes.task.cancel()
                    throw HTTPClientError(.cut, "The answer has no head")
                }
                return URLSessionStream(bytes, response)
            }
        }

        /// Names what a session throws as `HTTPClient` does.
        static func naming<T>(_ body: () async throws -> T) async throws -> T {
            do {
                return try await body()
            } catch let error as URLError {
                // A cancelled task gets no `CancellationError` from a session (client-api 0.2).
                if error.code == .cancelled, Task.isCancelled { throw CancellationError() }
                throw HTTPClientError(kind(error.code), error.localizedDescription)
            }
        }

        private static func kind(_ code: URLError.Code) -> HTTPClientError.Code {
            switch code {
            case .cannotFindHost, .dnsLookupFailed: .couldNotResolve
            case .cannotConnectToHost, .notConnectedToInternet, .dataNotAllowed, .internationalRoamingOff:
                .couldNotConnect
            case .timedOut: .silent
            case .networkConnectionLost, .badServerResponse, .cannotParseResponse: .cut
            case .clientCertificateRejected, .clientCertificateRequired: .identityRefused
            case .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasUnknownRoot,
                .serverCertificateHasBadDate, .serverCertificateNotYetValid,
                .appTransportSecurityRequiresSecureConnection:
                .tls
            case .badURL, .unsupportedURL: .badURL
            default: .other
            }
        }
    }

    /// An answer whose body is still arriving; dropping it closes the connection.
    ///
    /// The session keeps a buffer of its own, and holds the sender back while nobody reads.
    final class URLSessionStream: SyncResponseStream, @unchecked Sendable {
        // Safe because one task at a time reads (`next`, `piece`), and all else never changes.
        private var iterator: URLSession.AsyncBytes.AsyncIterator
        private let task: URLSessionDataTask
        let status: Int
        let headers: [SyncHTTPHeader]

        /// The most bytes of a piece.
        private static let pieceSize = 64 << 10

        init(_ bytes: URLSession.AsyncBytes, _ response: HTTPURLResponse) {
            iterator = bytes.makeAsyncIterator()
            task = bytes.task
            status = response.statusCode
            headers = response.allHeaderFields.compactMap { name, value in
                guard let name = name as? String, let value = value as? String else { return nil }
                return SyncHTTPHeader(name, value)
            }
        }

        deinit { task.cancel() }

        func next() async throws -> [UInt8]? {
            try await HTTPClientTransport.noticingSilence { try await piece() }
        }

        /// Returns the bytes to the end of a line, or 64 KiB of them; nil at the end of the body.
        ///
        /// - Throws: `HTTPClientError`, `CancellationError`.
        func piece() async throws -> [UInt8]? {
            try await URLSessionClient.naming {
                var piece: [UInt8] = []
                // Which bytes are there already is not told: to wait for more than a line would hold it back.
                while piece.count < Self.pieceSize, let byte = try await iterator.next() {
                    piece.append(byte)
                    if byte == UInt8(ascii: "\n") { break }
                }
                return piece.isEmpty ? nil : piece
            }
        }

        func cancel() { task.cancel() }
    }

    /// Has a session hand on an answer that leads elsewhere, as any other, and keep none: tokens are among them.
    private final class PlainExchange: NSObject, URLSessionDataDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? { nil }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask,
            willCacheResponse proposedResponse: CachedURLResponse
        ) async -> CachedURLResponse? { nil }
    }
#endif
