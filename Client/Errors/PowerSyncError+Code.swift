extension PowerSyncError {
    /// The kind of a failure, for an app to act on.
    ///
    /// The set is open: later versions may know more kinds, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code of a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        // MARK: Answers of the service, and of the backend of a `BackendConnector`

        /// The service or the backend does not accept the token (status 401); the next attempt fetches a new one.
        ///
        /// From a ``BackendConnector`` with a session: the backend does not accept what the session says.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The service or the backend knows the user and refuses access (status 403).
        public static let forbidden = Code(rawValue: "forbidden")
        /// The service or the backend does not know the address (status 404): it is another one, or too old.
        public static let notFound = Code(rawValue: "notFound")
        /// The service or the backend refuses the request, with another status; see ``PowerSyncError/httpStatus``.
        public static let requestRefused = Code(rawValue: "requestRefused")
        /// The service or the backend cannot answer now (status 408, 429, or 500 and above), or asks for a transaction
        /// later.
        public static let serviceUnavailable = Code(rawValue: "serviceUnavailable")
        /// The service or the backend sent what this client does not understand.
        public static let protocolViolation = Code(rawValue: "protocolViolation")
        /// Downloaded data does not match its checksums again and again.
        public static let checksumMismatch = Code(rawValue: "checksumMismatch")

        // MARK: The connection

        /// The name of the host of the service or the backend, or of a proxy, is unknown.
        public static let unknownHost = Code(rawValue: "unknownHost")
        /// Nobody accepts connections at the endpoint or the proxy, or no way leads there; the text says where.
        public static let connectionRefused = Code(rawValue: "connectionRefused")
        /// The connection could not be secured (TLS): a certificate is not trusted, for example.
        public static let connectionInsecure = Code(rawValue: "connectionInsecure")
        /// The service or the backend does not accept ``TransportOptions/clientCertificate``, or asks for one where there
        /// is none.
        public static let clientCertificateRefused = Code(rawValue: "clientCertificateRefused")
        /// A proxy does not let requests through: it wants another name and password (status 407), or refuses the host.
        public static let proxyRefused = Code(rawValue: "proxyRefused")
        /// Nothing came from the service or the backend for too long, or no connection came about in time, or an answer of
        /// the backend did not come to its end.
        public static let connectionSilent = Code(rawValue: "connectionSilent")
        /// The connection broke before the answer was complete.
        public static let connectionCut = Code(rawValue: "connectionCut")
        /// Talking to the service or the backend failed in another way.
        public static let network = Code(rawValue: "network")

        // MARK: The connector

        /// The connector returned no credentials: nobody is signed in.
        public static let missingCredentials = Code(rawValue: "missingCredentials")
        /// The endpoint is no address of http or https, or the token cannot be sent.
        public static let invalidCredentials = Code(rawValue: "invalidCredentials")
        /// `uploadData` returned without completing what is first in the upload queue.
        public static let uploadStalled = Code(rawValue: "uploadStalled")
        /// One transaction alone is larger than the backend of a ``BackendConnector`` takes (status 413): it stays first
        /// in the queue until the backend takes more.
        public static let uploadTooLarge = Code(rawValue: "uploadTooLarge")
        /// The backend of a ``BackendConnector`` will never take a transaction and leaves it to the app what becomes of
        /// it: it stays first in the queue until the app decides.
        public static let uploadUndecided = Code(rawValue: "uploadUndecided")

        // MARK: The local database

        /// Another connection or process holds the database.
        public static let databaseBusy = Code(rawValue: "databaseBusy")
        /// The disk is full, or the database as large as it may be.
        public static let databaseFull = Code(rawValue: "databaseFull")
        /// The file of the database is damaged.
        public static let databaseCorrupt = Code(rawValue: "databaseCorrupt")
        /// The file is no database, or encrypted with another key.
        public static let notADatabase = Code(rawValue: "notADatabase")
        /// A file of the database cannot be opened or removed, or one of ``TransportOptions`` not be read.
        public static let fileAccess = Code(rawValue: "fileAccess")
        /// A write was tried where only reading is allowed.
        public static let readOnly = Code(rawValue: "readOnly")
        /// Reading or writing the file failed.
        public static let diskFailed = Code(rawValue: "diskFailed")
        /// A constraint of a table does not hold, or a value has the wrong type.
        public static let constraintViolation = Code(rawValue: "constraintViolation")
        /// The SQL text is wrong, or names something that is not there.
        public static let invalidStatement = Code(rawValue: "invalidStatement")
        /// SQLite failed in another way; see `extendedResultCode`.
        public static let database = Code(rawValue: "database")
        /// An entry of the upload queue cannot be read.
        public static let unreadableQueueEntry = Code(rawValue: "unreadableQueueEntry")
        /// What the SDK keeps for itself in the database is damaged.
        public static let localData = Code(rawValue: "localData")

        // MARK: Calls

        /// The database is closed.
        public static let closed = Code(rawValue: "closed")
        /// The call does not fit the state of the database or of the connection.
        public static let invalidState = Code(rawValue: "invalidState")
        /// An argument is of the wrong kind.
        public static let invalidArgument = Code(rawValue: "invalidArgument")
        /// The time that the app gave is over.
        public static let timedOut = Code(rawValue: "timedOut")
        /// A query returned no row where one was expected.
        public static let missingRow = Code(rawValue: "missingRow")
        /// The error tells nothing of its kind.
        public static let other = Code(rawValue: "other")
    }

    /// The kind of the failure.
    ///
    /// An error that an app made itself has the code of the `PowerSyncError` below it, else ``Code/other``.
    public var code: Code {
        switch self {
        case .sqliteError(let number, _, _, _, _): Code(sqlite: number)
        case .operationFailed(_, let underlying):
            (underlying as? ErrorCause)?.code ?? (underlying as? PowerSyncError)?.code ?? .other
        }
    }

    /// The status of the service's answer, if one made the error.
    public var httpStatus: Int? {
        guard case .operationFailed(_, let underlying) = self else { return nil }
        return (underlying as? ErrorCause)?.httpStatus ?? (underlying as? PowerSyncError)?.httpStatus
    }
}
