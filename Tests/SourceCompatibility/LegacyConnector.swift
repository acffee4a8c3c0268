import PowerSync

/// A connector as older apps have it: a subclass, which uploads what is queued in batches of texts.
final class LegacyConnector: PowerSyncBackendConnector, @unchecked Sendable {
    // Safe because what is stored never changes.
    private let backend: TodoBackend

    /// How such an app connects.
    static let options = ConnectOptions(crudThrottle: 0.05, retryDelay: 1, newClientImplementation: true)

    init(backend: TodoBackend) {
        self.backend = backend
        super.init()
    }

    override func fetchCredentials() async throws -> PowerSyncCredentials? {
        guard let user = try await backend.signedInUser() else {
            return try await super.fetchCredentials()
        }
        return PowerSyncCredentials(endpoint: user.endpoint, token: user.token, userId: nil)
    }

    override func uploadData(database: PowerSyncDatabaseProtocol) async throws {
        guard let batch = try await database.getCrudBatch(limit: 50) else { return }
        let changes = batch.crud.map { entry in
            Change(
                op: entry.op, table: entry.table, id: entry.id,
                data: entry.opData?.mapValues { text in text.map { JsonValue.string($0) } ?? .null })
        }
        try await backend.apply(changes)
        try await batch.complete()
    }
}
