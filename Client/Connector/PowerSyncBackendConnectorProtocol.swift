/// What an app implements to connect a database with its backend.
///
/// ```swift
/// struct TodoConnector: PowerSyncBackendConnectorProtocol {
///     let send: @Sendable (CrudEntry) async throws -> Void
///
///     func fetchCredentials() async throws -> PowerSyncCredentials? {
///         // An app asks its backend for a token each time.
///         PowerSyncCredentials(endpoint: "https://sync.example.com", token: "ey…")
///     }
///
///     func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
///         guard let transaction = try await database.getNextCrudTransaction() else { return }
///         for entry in transaction.crud { try await send(entry) }
///         try await transaction.complete()
///     }
/// }
/// ```
public protocol PowerSyncBackendConnectorProtocol: Sendable {
    /// Returns fresh credentials; nil means that nobody is signed in.
    ///
    /// Called when a stream is opened for the first time, before the token ends, and after it was refused. An error
    /// shows in the status, as nil does, and the call is repeated after the retry delay.
    func fetchCredentials() async throws -> PowerSyncCredentials?

    /// Sends local changes to the backend.
    ///
    /// Called while the upload queue is not empty; one batch or transaction a call is enough. Complete what was sent,
    /// or the next call sees it again. An error shows in the status, and the call is repeated after
    /// ``ConnectOptions/retryDelay``; after one that tells of a silent connection of the SDK's own, at once the first
    /// time.
    ///
    /// It may call `connect`, `disconnect`, `disconnectAndClear` and `close`, for instance when the backend refuses the
    /// user: they return when everything but this call is over. When syncing ends, the call is cancelled; one that does
    /// not end within five seconds is not waited for, and what it completes later throws.
    func uploadData(database: any PowerSyncDatabaseProtocol) async throws
}

/// A connector to subclass, which does nothing by itself.
@available(*, deprecated, message: "Implement PowerSyncBackendConnectorProtocol")
open class PowerSyncBackendConnector: PowerSyncBackendConnectorProtocol, @unchecked Sendable {
    // Safe because this class has no state; a subclass answers for its own.

    /// Creates a connector.
    public init() {}

    /// Returns nil.
    open func fetchCredentials() async throws -> PowerSyncCredentials? { nil }

    /// Does nothing.
    open func uploadData(database: any PowerSyncDatabaseProtocol) async throws {}
}
