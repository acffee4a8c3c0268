import PowerSyncHTTPClient
import PowerSyncSystem

/// What the app is told of an error below a transfer: the one place where that is decided.
extension AttachmentStorageError {
    /// Runs a body and turns what it throws into what the app is told.
    static func wrapping<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            throw shown(error)
        }
    }

    /// Returns the error as the app gets it.
    ///
    /// Errors of a session of the app, `CancellationError` and the other public types stay as they are.
    static func shown(_ error: any Error) -> any Error {
        switch error {
        case let error as PowerSyncError: return AttachmentStorageError(backend: error)
        case let error as HTTPClientError: return AttachmentStorageError(storage: error)
        case let error as SystemError: return AttachmentStorageError(.disk, error.description)
        case PowerSyncAttachmentError.ioError(let cause):
            return AttachmentStorageError(.disk, String(describing: cause))
        case let error as SyncError where error.code == .noCredentials:
            return AttachmentStorageError(.missingCredentials, "Nobody is signed in")
        default: return error
        }
    }

    /// Makes the error of a request to the backend that got no answer.
    private init(backend error: PowerSyncError) {
        let code: Code =
            switch error.code {
            case .unknownHost, .connectionRefused, .connectionInsecure, .clientCertificateRefused,
                .proxyRefused, .connectionSilent, .connectionCut, .network:
                .network
            case .missingCredentials: .missingCredentials
            case .serviceUnavailable, .protocolViolation: .storage
            case .fileAccess: .disk
            default: .refused
            }
        self.init(code, error.description, status: error.httpStatus)
    }

    /// Makes the error of a request to the storage that got no answer.
    private init(storage error: HTTPClientError) {
        switch error.code {
        case .unreadableFile: self.init(.disk, "A file cannot be read: \(error.message)")
        case .badConfiguration:
            self.init(.refused, "The transport options cannot be used: \(error.message)")
        case .badURL, .badRequest:
            self.init(.storage, "The backend signed a request that cannot be sent: \(error.message)")
        default: self.init(.network, "Talking to the storage failed: \(error.message)")
        }
    }
}
