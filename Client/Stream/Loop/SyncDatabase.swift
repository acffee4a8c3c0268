import PowerSyncSQLite

/// The database as sync sees it.
package struct SyncDatabase: Sendable {
    private let pool: SQLitePool
    private let environment: SyncEnvironment

    /// Makes a view of a pool.
    ///
    /// - Parameters:
    ///   - pool: the connections; the core is installed on each.
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

    /// Runs `body`, which only reads, without waiting for the writer.
    ///
    /// It sees one state of the database, with everything that was committed before the call: whoever awaited a write
    /// reads it.
    ///
    /// - Returns: what `body` returned.
    /// - Throws: what `body` threw, `SQLiteError`; `CancellationError` only if `body` has not run.
    package func read<T: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> T) async throws -> T {
        let now = environment.now()
        return try await pool.read { connection in
            try connection.run("BEGIN")
            // There is nothing to commit.
            defer { connection.rollBack() }
            return try body(SyncStore(connection: connection, now: now))
        }
    }

    /// Feeds events to an iteration and stores all lines that wait then, in one lease of the writer.
    ///
    /// Data lines side by side share transactions, anything else has one of its own. What the effects tell is
    /// committed when this returns.
    ///
    /// - Returns: the iteration after it and what is left to do; events behind one that closes it are left out.
    /// - Throws: as ``SyncIteration/feed(_:on:now:)``. Lines before the one that failed are stored then, unless storing
    ///   is what failed; the iteration must be given up.
    func step(_ events: [SyncEvent], _ iteration: SyncIteration) async throws -> (
        iteration: SyncIteration, effects: [SyncEffect]
    ) {
        let now = environment.now()
        return try await pool.write { connection in
            var iteration = iteration
            var effects: [SyncEffect] = []
            do {
                for event in events {
                    effects += try iteration.feed(event, on: connection, now: now)
                    if !iteration.state.isActive { break }
                }
            } catch let error as SyncError {
                try iteration.flush(on: connection, now: now)
                throw error
            }
            try iteration.flush(on: connection, now: now)
            // Clearing softly and resyncing are refused as long as an iteration counts on what is stored.
            try CoreExtension.of(connection).isIterationActive = iteration.state.isActive
            return (iteration, effects)
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
