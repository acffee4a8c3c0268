#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What goes wrong with checkpoint requests.
public protocol CheckpointError: Error, LocalizedError {}

/// Why a checkpoint cannot be requested.
public enum CheckpointRequestError: CheckpointError {
    /// The service knows no checkpoint requests: it is older than 1.24.
    case instanceNotSupported
    /// The database is not connected.
    case notConnecting
    /// The database is connected in ``CheckpointMode/legacy``.
    case checkpointRequestsNotEnabled
    /// Something else failed; `underlyingError` is the cause.
    case operationFailed(message: String? = nil, underlyingError: (any Error)? = nil)

    /// The error in one line.
    public var errorDescription: String? {
        switch self {
        case .instanceNotSupported: "The service knows no checkpoint requests; it must be 1.24 or newer."
        case .notConnecting: "A checkpoint can be requested only while the database is connected."
        case .checkpointRequestsNotEnabled: notEnabled
        case .operationFailed(let message, let underlying):
            PowerSyncError.operationFailed(message: message, underlyingError: underlying).errorDescription
        }
    }
}

/// Why the wait for a checkpoint has ended without it.
public enum CheckpointWaitError: CheckpointError {
    /// The time that was given is over.
    case timeout
    /// The database was disconnected; after connecting again the same request can be waited for.
    case disconnected
    /// Syncing has shown an error, whose text this is; it goes on, and the same request can be waited for again.
    case errorDetected(message: String)
    /// The database is connected in ``CheckpointMode/legacy``.
    case checkpointRequestsNotEnabled

    /// The error in one line.
    public var errorDescription: String? {
        switch self {
        case .timeout: "The checkpoint was not applied in time."
        case .disconnected: "The database was disconnected before the checkpoint was applied."
        case .errorDetected(let message): "Syncing has failed before the checkpoint was applied: \(message)"
        case .checkpointRequestsNotEnabled: notEnabled
        }
    }

    /// The text of an error that syncing shows.
    static func text(of error: any Error) -> String {
        PowerSyncError.operationFailed(underlyingError: PowerSyncError.shown(error)).errorDescription ?? ""
    }
}

private let notEnabled =
    "Checkpoint requests are not enabled: connect with the option checkpointMode: .requests()."
