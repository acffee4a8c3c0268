import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncServiceEngine
import PowerSyncWire

/// What a log line says of a stream's client (service 10.4): who it is, never what it asked for or got.
struct StreamClient: Sendable {
    /// The most Unicode scalars of each value: they are the client's, and one character can be made of any number.
    private static let limit = 200

    /// The values of a log line.
    let logged: [LogKey: String]

    init(request: HTTPRequest, body: SyncStreamRequest, userID: String) {
        var values: [LogKey: String] = ["user_id": userID]
        values["client_id"] = body.clientID
        // A browser does not let its page set the other one (service 1.1).
        values["user_agent"] = request.fields["x-user-agent"] ?? request.fields["user-agent"]
        values["app_metadata"] = body.appMetadata.map { JSON.object($0).text }
        logged = values.mapValues { String($0.unicodeScalars.prefix(Self.limit)) }
    }
}

/// Why a stream has ended (service 10.4).
enum StreamEnd: String {
    case client = "client closing stream"
    case shutdown = "process shutdown"
    case service = "service closing stream"
    case failure = "stream error"

    /// Makes the reason of an error.
    ///
    /// - Parameters:
    ///   - error: What the stream ended with.
    ///   - isStopping: Whether the service ends.
    ///   - isReplaced: Whether clients are served from another stream, or from none, by now.
    init(_ error: any Error, isStopping: Bool, isReplaced: Bool) {
        switch error {
        case _ where isStopping: self = .shutdown
        case _ where isReplaced: self = .service
        case is CancellationError: self = .client
        case is LinesWereCut: self = .service
        case let error as HTTPServerError where error.code == .peerGone: self = .client
        case let error as HTTPServerError where error.code == .writeTimeout: self = .service
        default: self = .failure
        }
    }
}
