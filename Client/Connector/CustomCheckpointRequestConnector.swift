/// A connector whose own backend stores checkpoint requests, in place of the service's endpoint.
///
/// Used while the database is connected with ``CheckpointMode/requests(checkpointRequestRetryDelay:)``.
public protocol CustomCheckpointRequestConnector: PowerSyncBackendConnectorProtocol {
    /// Stores a checkpoint request for the user and client.
    ///
    /// Called again with the same id until a checkpoint shows it.
    ///
    /// What it throws comes below an operation that failed (``CheckpointRequestError``), and does something else each time:
    /// - For the request with which a stream begins: the stream ends with that as ``SyncStatusData/downloadError``, and is
    ///   opened again after the retry delay.
    /// - For one that follows an upload: it is shown as ``SyncStatusData/uploadError``, the stream stays, and another one is
    ///   made after the retry delay.
    /// - For one of `requestCheckpoint()`: that throws it at once.
    /// - For one that is repeated: the log has a warning, and it is repeated again.
    ///
    /// - Parameters:
    ///   - checkpointRequestId: the id.
    ///   - clientId: the id of this client.
    /// - Returns: the greatest id that the backend has stored for the user and client: this one, or a greater one. A
    ///   smaller one is refused, but for the first request of a stream, with which counting may begin anew at 1.
    /// - Throws: why it is not stored.
    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64
}
