import PowerSync

/// Uploads one transaction after the other, each as a whole.
final class TodoConnector: PowerSyncBackendConnectorProtocol {
    private let backend: TodoBackend

    init(backend: TodoBackend) {
        self.backend = backend
    }

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        guard let user = try await backend.signedInUser() else { return nil }
        return PowerSyncCredentials(endpoint: user.endpoint, token: user.token)
    }

    func uploadData(database: PowerSyncDatabaseProtocol) async throws {
        guard let transaction = try await database.getNextCrudTransaction() else { return }
        var changes: [Change] = []
        for entry in transaction.crud {
            switch entry.op {
            case .put, .patch:
                changes.append(
                    Change(op: entry.op, table: entry.table, id: entry.id, data: entry.opDataTyped ?? [:]))
            case .delete:
                changes.append(Change(op: .delete, table: entry.table, id: entry.id, data: nil))
            }
        }
        do {
            try await backend.apply(changes)
        } catch TodoError.refused {
            // It will never be taken: left in the queue it would hold up everything behind it.
        }
        try await transaction.complete()
    }
}
