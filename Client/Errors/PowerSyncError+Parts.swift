import PowerSyncHTTPClient
import PowerSyncSQLite
import PowerSyncWire

/// What the app is told of an error of a part: the one place where that is decided.
extension PowerSyncError {
    /// Makes an error of the SDK itself.
    ///
    /// - Parameters:
    ///   - code: its kind.
    ///   - message: what went wrong, in plain words; nil for what the code means.
    ///   - detail: what the part that failed said; no row, token or key.
    ///   - httpStatus: the status that the service answered with.
    init(_ code: Code, _ message: String? = nil, detail: String? = nil, httpStatus: Int? = nil) {
        self = .operationFailed(
            message: message ?? code.meaning,
            underlyingError: ErrorCause(code: code, detail: detail, httpStatus: httpStatus))
    }

    /// Makes the error of an answer of a backend that is no success (backend 1.7).
    ///
    /// - Parameters:
    ///   - status: the status of the answer.
    ///   - code: its kind; nil for that of the status.
    ///   - message: what went wrong, in plain words; nil for what the code means.
    ///   - detail: which request it was.
    init(backendStatus status: Int, code: Code? = nil, _ message: String? = nil, detail: String) {
        let code = code ?? Code(httpStatus: status)
        self.init(code, message ?? code.meaning(of: .backend), detail: detail, httpStatus: status)
    }

    /// Makes the error of a request to a backend that got no answer.
    init(backend error: HTTPClientError) {
        if error.code == .badURL {
            self.init(.invalidArgument, "The URL of the backend cannot be used", detail: error.message)
        } else {
            self.init(error, from: .backend)
        }
    }

    /// Makes the error of a request that got no answer.
    private init(_ error: HTTPClientError, from peer: Peer) {
        let code = Code(error.code)
        switch error.code {
        case .untrustedAuthority:
            self.init(
                code, code.meaning(of: peer),
                detail: "\(error.message) (certificateAuthorities of TransportOptions says whom to trust)")
        case .unreadableFile:
            self.init(code, "A file of the transport options cannot be read", detail: error.message)
        case .badConfiguration:
            self.init(code, "The transport options cannot be used", detail: error.message)
        default:
            self = .operationFailed(
                message: code.meaning(of: peer),
                underlyingError: ErrorCause(
                    code: code, detail: error.message, httpStatus: nil,
                    isSilentConnection: error.code == .silent))
        }
    }

    /// What every call after `close` throws.
    static let closed = PowerSyncError(.closed, "Attempted to use closed PowerSync database")

    /// Returns the error as the app gets it.
    ///
    /// The types of the SDK's parts, which no app can name, become `PowerSyncError`. The app's own errors,
    /// `CancellationError` and the other public types stay as they are.
    static func shown(_ error: any Error) -> any Error {
        switch error {
        case let error as SQLiteError: return PowerSyncError(error)
        case let error as SyncError: return PowerSyncError(error)
        case let error as HTTPClientError:
            return PowerSyncError(error, from: .service)
        case let error as WireError:
            // Lines of the service and answers are wrapped where they are read: what is left was stored.
            return PowerSyncError(.localData, detail: error.message)
        default: return error
        }
    }

    /// Runs a body and turns what it throws into what the app is told.
    static func wrapping<T>(_ body: () throws -> T) throws -> T {
        do {
            return try body()
        } catch {
            throw shown(error)
        }
    }

    /// Wraps an error of SQLite.
    init(_ error: SQLiteError) {
        let withoutKey = error.sql.flatMap(ShownText.sqlWithoutKey)
        self = .sqliteError(
            extendedResultCode: error.extendedCode, offset: error.offset,
            // It may quote the statement, and so the key, or a row.
            message: withoutKey == nil && !error.mayQuoteValues ? error.message : nil,
            errorString: error.errorString,
            sql: withoutKey ?? error.sql)
    }

    private init(_ error: SyncError) {
        let code = Code(error)
        switch code {
        case .missingCredentials, .uploadStalled:
            // These texts are the contract's (client-api 3.5, 7 I).
            self.init(code, error.message)
        case .checksumMismatch:
            // Its text names buckets, and those hold parameters of streams.
            self.init(code)
        default: self.init(code, detail: error.description, httpStatus: error.status)
        }
    }
}

extension PowerSyncError.Code {
    /// The code of a result code of SQLite, primary or extended.
    init(sqlite number: Int32) {
        switch SQLiteError.Code(rawValue: number) {
        case .busy, .locked: self = .databaseBusy
        case .full: self = .databaseFull
        case .corrupt: self = .databaseCorrupt
        case .notADatabase: self = .notADatabase
        case .cannotOpen: self = .fileAccess
        case .readOnly: self = .readOnly
        case .io: self = .diskFailed
        case .constraint, .mismatch: self = .constraintViolation
        case .error, .range: self = .invalidStatement
        case .misuse: self = .invalidState
        default: self = .database
        }
    }

    /// The code of a status other than 200.
    init(httpStatus status: Int) {
        switch status {
        case 401: self = .unauthorized
        case 403: self = .forbidden
        case 404: self = .notFound
        // No server's but a proxy's (RFC 9110, 15.5.8).
        case 407: self = .proxyRefused
        case 408, 429, 500...: self = .serviceUnavailable
        default: self = .requestRefused
        }
    }

    fileprivate init(_ error: SyncError) {
        switch error.code {
        case .httpStatus: self.init(httpStatus: error.status ?? 0)
        // Between its request and its end a stream is in no wrong state by itself: a line came too early.
        case .protocolViolation, .unexpectedResponse, .invalidState: self = .protocolViolation
        case .silentConnection: self = .connectionSilent
        case .noCredentials: self = .missingCredentials
        case .checksumMismatch: self = .checksumMismatch
        case .stalledUpload: self = .uploadStalled
        case .localData: self = .localData
        case .invalidArgument: self = .invalidArgument
        default: self = .other
        }
    }

    fileprivate init(_ code: HTTPClientError.Code) {
        switch code {
        case .couldNotResolve: self = .unknownHost
        case .couldNotConnect: self = .connectionRefused
        case .tls, .untrustedAuthority: self = .connectionInsecure
        case .identityRefused: self = .clientCertificateRefused
        case .proxyRefused: self = .proxyRefused
        case .unreadableFile: self = .fileAccess
        case .badConfiguration: self = .invalidArgument
        case .timedOut, .silent: self = .connectionSilent
        case .cut: self = .connectionCut
        case .badURL, .badRequest: self = .invalidCredentials
        case .tooLarge: self = .protocolViolation
        default: self = .network
        }
    }
}
