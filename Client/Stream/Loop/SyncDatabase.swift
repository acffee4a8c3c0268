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

    /// Feeds events to an iteration in one transaction.
    ///
    /// - Returns: the iteration after it and what is left to do.
    /// - Throws: as ``write(_:)`` and `SyncTransaction`; nothing is stored then.
    func step(_ events: [SyncEvent], from state: SyncState) async throws -> (
        state: SyncState, effects: [SyncEffect]
    ) {
        let now = environment.now()
        return try await pool.write { connection in
            let result = try connection.transaction {
                try SyncTransaction.run(events, from: state, on: SyncStore(connection: connection, now: now))
            }
            // Clearing softly and resyncing are refused as long as an iteration counts on what is stored.
            try CoreExtension.of(connection).isIterationActive = result.state.isActive
            return result
        }
    }

    /// Says that no iteration counts on what is stored any more.
    func endIteration() async {
        do {
            try await pool.write { try CoreExtension.of($0).isIterationActive = false }
        } catch {
            // A pool that is closed has no iteration either.
        }
    }
}
