import PowerSyncSQLite

/// The database as sync sees it: its one writer.
package struct SyncDatabase: Sendable {
    private let pool: SQLitePool
    private let environment: SyncEnvironment

    /// Makes a view of a pool.
    ///
    /// - Parameters:
    ///   - pool: the connections; the core is installed on its writer.
    ///   - environment: the clock.
    package init(pool: SQLitePool, environment: SyncEnvironment) {
        self.pool = pool
        self.environment = environment
    }

    /// Runs `body` in a transaction of the writer.
    ///
    /// - Returns: what `body` returned, once its changes are committed.
    /// - Throws: what `body` threw, `SQLiteError`; `CancellationError` only if `body` has not run.
    package func write<T: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> T) async throws -> T {
        let now = environment.now()
        return try await pool.write { connection in
            try connection.transaction {
                try body(SyncStore(connection: connection, now: now))
            }
        }
    }
}
