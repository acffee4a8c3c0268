/// A connector whose own backend stores checkpoint requests, in place of the service's endpoint.
///
/// Used while the database is connected with ``CheckpointMode/requests(checkpointRequestRetryDelay:)``.
public protocol CustomCheckpointRequestConnector: PowerSyncBackendConnectorProtocol {
    /// Stores a checkpoint request for the user and client.
    ///
    /// Called again with the same id until a checkpoint shows it.
    ///
    /// - Parameters:
    ///   - checkpointRequestId: the id.
    ///   - clientId: the id of this client.
    /// - Returns: the greatest id that the backend has stored for the user and client: this one, or a greater one. A
    ///   smaller one is refused, but for the first request of a stream, with which counting may begin anew at 1.
    /// - Throws: why it is not stored. That ends the connection, which is made again after the retry delay; shown is an
    ///   operation that failed, with this error below it.
    func postCheckpointRequest(_ checkpointRequestId: Int64, clientId: String) async throws -> Int64
}
