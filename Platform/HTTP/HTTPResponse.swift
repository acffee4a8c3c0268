/// An answer; the server adds date, connection, content-length and transfer-encoding itself.
package struct HTTPResponse: Sendable {
    /// The status code, 200 to 599.
    package var status: Int
    /// The header fields.
    package var fields: HTTPFields
    /// The body.
    package var body: HTTPResponseBody
    /// What lives until the answer has been sent or its connection has ended; its end gives back what the answer takes.
    package var lease: (any AnyObject & Sendable)?

    /// Creates an answer.
    package init(status: Int, fields: HTTPFields = [:], body: HTTPResponseBody = .empty) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}

/// The body of an answer.
package enum HTTPResponseBody: Sendable {
    /// No body.
    case empty
    /// A body whose length is known.
    case bytes([UInt8])
    /// A body that is written piece by piece.
    ///
    /// The head leaves together with the first piece. An error before the first write becomes a 500; a later one
    /// cuts the connection, so that the client sees that the body is incomplete. The task is cancelled when the
    /// peer is gone and when the server stops.
    case stream(@Sendable (any HTTPBodyWriter) async throws -> Void)
    /// A body of so many bytes that is written piece by piece, such as a file.
    ///
    /// The head announces the length in place of chunks; an answer to HEAD and one with status 304 have that head, and nothing
    /// is written for them. Fewer bytes or more cut the connection, as an error does. A server that stops lets it come to its
    /// end.
    case sized(Int64, @Sendable (any HTTPBodyWriter) async throws -> Void)

    /// What writes a body that is written piece by piece; nil for one that is there.
    package var write: (@Sendable (any HTTPBodyWriter) async throws -> Void)? {
        switch self {
        case .empty, .bytes: nil
        case .stream(let write), .sized(_, let write): write
        }
    }
}

/// Where a streamed body is written to.
package protocol HTTPBodyWriter: Sendable {
    /// Sends one chunk, or a piece of the one begun, and returns when the system has taken it, which may be long after if the peer reads slowly.
    ///
    /// - Parameter bytes: The bytes; an empty array sends nothing but the head, if that is still to be sent.
    /// - Throws: When the peer is gone or does not read, and `CancellationError` when the task is cancelled.
    func write(_ bytes: [UInt8]) async throws

    /// Begins a chunk whose bytes come with several writes; without this each write is a chunk of its own.
    ///
    /// Sends nothing by itself. A write that goes beyond the end of the chunk is refused, and so is the end of the
    /// body before it: the connection is cut then.
    ///
    /// - Parameter count: The bytes of the chunk; 0 begins none.
    /// - Throws: When the body has ended or the chunk before lacks bytes.
    func beginChunk(of count: Int) throws

    /// Sends what a `write` of each element would, all of it as one piece if the system takes it so; returns as that does.
    ///
    /// - Parameter chunks: Chunks, or pieces of the one begun, each of several arrays that are sent from where they are.
    /// - Throws: As `write`; a misuse of one of them keeps all of them from being sent.
    func write(chunks: [[[UInt8]]]) async throws

    /// Ends the connection as if the peer had left, in the midst of whatever is being sent, which throws then.
    ///
    /// Nothing can be written behind it. What the system has taken already may still arrive.
    func cut()
}

/// For writers to which nothing is sent that could be cut, and which have no use for many arrays at once.
extension HTTPBodyWriter {
    /// Joins the arrays of each element and writes one after the other.
    package func write(chunks: [[[UInt8]]]) async throws {
        for chunk in chunks { try await write(Array(chunk.joined())) }
    }

    /// Does nothing: no write of such a writer waits for a peer.
    package func cut() {}
}

/// The body of a request, read only when asked for: as a whole, or piece by piece.
package protocol HTTPRequestBody: Sendable {
    /// The length that was announced, 0 for no body; nil for one that comes in chunks, whose length nobody knows.
    var length: Int64? { get }

    /// Returns the next piece, as soon as something is there; for bodies that are used up as they come. One task at a time.
    ///
    /// While nobody asks nothing is read, so the client waits; that time is none that the body takes. The server holds no more
    /// of it than one piece.
    ///
    /// - Parameter limit: The most bytes of the piece; at least one.
    /// - Returns: The bytes, cut anywhere; nil at the end.
    /// - Throws: `bodyTimeout`, `overloaded`, `malformed` or `cut`; `alreadyRead` after one of them, and for a body that was
    ///   asked for as a whole.
    func next(limit: Int) async throws(HTTPError) -> [UInt8]?

    /// Returns the whole body, decoded from its chunks; empty when there is none. Ask once.
    ///
    /// - Parameter limit: The most bytes to take.
    /// - Returns: The bytes.
    /// - Throws: `bodyTooLarge`, `bodyTimeout`, `overloaded`, `malformed` or `cut`.
    func collect(limit: Int) async throws(HTTPError) -> [UInt8]

    /// Returns the whole body, as above, and waits no longer for room than it is told.
    ///
    /// - Parameters:
    ///   - limit: The most bytes to take.
    ///   - patience: How long the body may be held back; afterwards what is left of this time. In the time in which
    ///     bytes come it does not become less.
    /// - Returns: The bytes.
    /// - Throws: `bodyTooLarge`, `bodyTimeout`, `overloaded`, `malformed` or `cut`.
    func collect(limit: Int, patience: inout Duration) async throws(HTTPError) -> [UInt8]
}

extension HTTPRequestBody {
    /// Nothing is known of the length.
    package var length: Int64? { nil }

    /// Refuses: who has no such pieces cannot know which of them were handed over.
    ///
    /// - Parameter limit: The most bytes of the piece.
    /// - Returns: Nothing.
    /// - Throws: `notImplemented`.
    package func next(limit: Int) async throws(HTTPError) -> [UInt8]? {
        throw HTTPError(.notImplemented, "this body is there as a whole alone")
    }

    /// Returns the whole body of a request that is there already and waits for nothing.
    ///
    /// - Parameters:
    ///   - limit: The most bytes to take.
    ///   - patience: Stays as it is.
    /// - Returns: The bytes.
    /// - Throws: As `collect(limit:)`.
    package func collect(limit: Int, patience: inout Duration) async throws(HTTPError) -> [UInt8] {
        try await collect(limit: limit)
    }
}

/// Answers one request; it runs in a task of its own that is cancelled some time after the peer is gone.
package typealias HTTPHandler = @Sendable (HTTPRequest, any HTTPRequestBody) async -> HTTPResponse

/// Reason phrases of status codes.
package enum HTTPStatus {
    /// Returns the phrase of RFC 9110 15 and RFC 6585, or an empty text for other codes.
    package static func reason(_ status: Int) -> String { reasons[status] ?? "" }

    private static let reasons: [Int: String] = [
        100: "Continue", 101: "Switching Protocols", 200: "OK", 201: "Created", 202: "Accepted",
        203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content", 206: "Partial Content",
        300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other",
        304: "Not Modified",
        307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized",
        402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
        406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict",
        410: "Gone", 411: "Length Required", 412: "Precondition Failed", 413: "Content Too Large",
        414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
        417: "Expectation Failed", 421: "Misdirected Request", 422: "Unprocessable Content", 423: "Locked",
        426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
        431: "Request Header Fields Too Large", 500: "Internal Server Error", 501: "Not Implemented",
        502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
        505: "HTTP Version Not Supported",
        507: "Insufficient Storage",
    ]
}
