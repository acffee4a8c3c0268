import PowerSyncWire

/// What one step of a recording does, with what the real service did then (Tests/Fixtures/service/README.md).
package enum ServiceStep: Sendable {
    /// A client opens a stream.
    case open(RecordedOpening)
    /// Statements run on the source, in one transaction.
    case tx([String])
    /// Everything was waited for; what came, a client.
    case settle([String: RecordedLines])
    /// The client closes its stream.
    case close(String)
    /// The service ends a stream by itself.
    case waitEnd(RecordedEnd)
    /// One request with its answer.
    case http(RecordedRequest, RecordedAnswer)
    /// Nothing happens for a while.
    case pause(Duration)
    /// The service is stopped.
    case stop
    /// The service is started again on its storage, with another sync config if one is given.
    case restart(syncConfig: String?)
    /// The storage is compacted.
    case compact

    /// The word that names the step in a recording.
    package var kind: String {
        switch self {
        case .open: "open"
        case .tx: "tx"
        case .settle: "settle"
        case .close: "close"
        case .waitEnd: "wait_end"
        case .http: "http"
        case .pause: "pause"
        case .stop: "stop"
        case .restart: "restart"
        case .compact: "compact"
        }
    }
}

/// A stream that a client opens.
package struct RecordedOpening: Sendable {
    /// The name of the client.
    package var client: String
    /// The user, and what else the token says.
    package var user: String
    /// Claims beside the usual ones; those that begin with two underscores spoil the token.
    package var claims: JSON
    /// The field `Accept`.
    package var accept: String
    /// More fields.
    package var headers: [(name: String, value: String)]
    /// The body.
    package var sent: JSON
    /// The client whose positions are taken over.
    package var positionsOf: String?
    /// What is added to each of them.
    package var positionsAdd: Int64
}

/// What a client got between two steps.
package struct RecordedLines: Sendable {
    /// The head of the answer, if it came in that time.
    package var response: RecordedAnswer?
    /// The lines in order.
    package var lines: [JSON]
    /// The types in those of them that came as BSON.
    package var types = BSONTypes()

    /// Makes them of their parts.
    package init(response: RecordedAnswer? = nil, lines: [JSON]) {
        self.response = response
        self.lines = lines
    }
}

/// How the service ended a stream by itself.
package struct RecordedEnd: Sendable {
    /// The client.
    package var client: String
    /// How long the recorder was ready to wait.
    package var seconds: Int64
    /// After how many seconds it ended.
    package var afterSeconds: Double
    /// How it ended.
    package var ended: StreamEnd
    /// What each client got until then.
    package var lines: [String: RecordedLines]
}

/// How a stream ended.
package enum StreamEnd: String, Sendable {
    /// The answer is complete.
    case clean = "end"
    /// The connection broke.
    case cut
    /// The answer was no stream, or none came.
    case error
}

/// One request beside the streams.
package struct RecordedRequest: Sendable {
    /// The method.
    package var method: String
    /// The path with its query.
    package var path: String
    /// The user of the token that is made.
    package var user: String
    /// Its claims.
    package var claims: JSON
    /// The token itself; nil to make one, empty for none.
    package var token: String?
    /// Fields beside `Authorization`.
    package var headers: [(name: String, value: String)]
    /// The bytes of the body; nil for none.
    package var body: [UInt8]?

    /// Makes a request of its parts.
    package init(
        method: String, path: String, user: String, claims: JSON, token: String? = nil,
        headers: [(name: String, value: String)] = [], body: [UInt8]? = nil
    ) {
        self.method = method
        self.path = path
        self.user = user
        self.claims = claims
        self.token = token
        self.headers = headers
        self.body = body
    }
}
