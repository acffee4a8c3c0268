#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What stands below an error that the SDK makes: its code, and what the part that failed said.
///
/// It holds texts and not the error of that part, which may know rows that nobody is to see.
struct ErrorCause: LocalizedError, CustomStringConvertible, Sendable {
    let code: PowerSyncError.Code
    /// What the message of the error above does not say.
    let detail: String?
    /// The status that the service answered with.
    let httpStatus: Int?
    /// Whether a connection was given up because it was silent.
    var isSilentConnection = false

    var errorDescription: String? { description }
    var description: String { detail ?? code.meaning }
}

extension PowerSyncError {
    /// Whom the client talks to, as its errors call them.
    enum Peer: String { case service, backend }
}

extension PowerSyncError.Code {
    /// What it means for the app, in plain words.
    var meaning: String { meaning(of: .service) }

    /// What it means for the app, in plain words.
    ///
    /// - Parameter peer: whom the client talked to.
    /// - Returns: one sentence without its full stop.
    func meaning(of peer: PowerSyncError.Peer) -> String {
        let peer = peer.rawValue
        return switch self {
        case .unauthorized: "The \(peer) does not accept the token"
        case .forbidden: "The \(peer) refuses access"
        case .notFound: "The \(peer) does not know the address"
        case .requestRefused: "The \(peer) refuses the request"
        case .serviceUnavailable: "The \(peer) cannot answer now"
        case .protocolViolation: "The \(peer) sent what this client does not understand"
        case .checksumMismatch: "The downloaded data does not match its checksums"
        case .unknownHost: "The name of the \(peer)'s host is unknown"
        case .connectionRefused: "The \(peer) cannot be reached"
        case .connectionInsecure: "The connection to the \(peer) cannot be secured"
        case .clientCertificateRefused:
            "The \(peer) does not accept the client's certificate, or that there is none"
        case .proxyRefused: "The proxy does not let requests to the \(peer) through"
        case .connectionSilent: "The \(peer) says nothing"
        case .connectionCut: "The connection to the \(peer) broke"
        case .network: "Talking to the \(peer) failed"
        case .missingCredentials: "The connector has no credentials"
        case .invalidCredentials: "The credentials cannot be used"
        case .uploadStalled: "The upload queue does not move"
        case .uploadTooLarge: "A transaction of the upload queue is larger than the backend takes"
        case .uploadUndecided: "The app must decide what becomes of a transaction of the upload queue"
        case .fileAccess: "A file of the database cannot be opened or removed"
        case .unreadableQueueEntry: "An entry of the upload queue cannot be read"
        case .localData: "The data of the SDK in the database is damaged"
        case .closed: "The database is closed"
        case .invalidState: "The call does not fit the state of the database"
        case .invalidArgument: "An argument is of the wrong kind"
        case .timedOut: "The time is over"
        case .missingRow: "The query returned no row"
        default: "The operation failed"
        }
    }
}
