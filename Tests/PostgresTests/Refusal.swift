import PowerSyncPostgres

/// Returns the code of the error that a call throws; nil if it throws none of Postgres.
func refusal(_ call: () async throws -> Void) async -> PostgresError.Code? {
    do {
        try await call()
        return nil
    } catch {
        return (error as? PostgresError)?.code
    }
}
