/// What ends a sync iteration or an upload round.
///
/// `description` holds no row values and no tokens.
package struct SyncError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure; an open set, compare with the constants.
    package struct Code: RawRepresentable, Sendable, Hashable {
        /// The name of the code.
        package let rawValue: String

        /// Makes a code of a name.
        package init(rawValue: String) { self.rawValue = rawValue }

        /// The service sent something that breaks the protocol.
        package static let protocolViolation = Code(rawValue: "protocol-violation")
        /// There is no iteration, or it is not ready for this.
        package static let invalidState = Code(rawValue: "invalid-state")
        /// An argument is of the wrong kind.
        package static let invalidArgument = Code(rawValue: "invalid-argument")
        /// The service answered with another status than 200; see `status`.
        package static let httpStatus = Code(rawValue: "http-status")
        /// The service answered with something that is no stream of sync lines or no answer.
        package static let unexpectedResponse = Code(rawValue: "unexpected-response")
        /// No byte came or went for so long that the connection counts as dead.
        package static let silentConnection = Code(rawValue: "silent-connection")
        /// The connector has no credentials.
        package static let noCredentials = Code(rawValue: "no-credentials")
        /// Data does not match its checksum again and again.
        package static let checksumMismatch = Code(rawValue: "checksum-mismatch")
        /// The upload queue did not move although uploading succeeded.
        package static let stalledUpload = Code(rawValue: "stalled-upload")
        /// The local database is damaged or lacks something.
        package static let localData = Code(rawValue: "local-data")
    }

    /// What kind of failure.
    package let code: Code
    /// One sentence for people.
    package let message: String
    /// The HTTP status that made it, if one did.
    package let status: Int?
    /// The error below it, if there is one.
    package let cause: (any Error)?

    /// Makes an error of its parts.
    package init(_ code: Code, _ message: String, status: Int? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.status = status
        self.cause = cause
    }

    /// The message, then that of the cause.
    package var description: String {
        guard let cause else { return message }
        return "\(message): \(cause)"
    }
}

extension Error {
    /// Whether a connection was given up because it was silent: one to the service, or one of a `BackendConnector`.
    ///
    /// One that did not come about in time, or whose answer did not end in time, was not.
    var isSilentConnection: Bool {
        if let error = self as? SyncError { return error.code == .silentConnection }
        guard case .operationFailed(_, let cause)? = self as? PowerSyncError else { return false }
        return (cause as? ErrorCause)?.isSilentConnection == true
    }
}

extension SyncError {
    /// A row that nobody could apply or take away (client-core 10, Q4).
    static let rowWithoutName = SyncError(
        .protocolViolation, "A PUT operation lacks its object_type or object_id")
}
