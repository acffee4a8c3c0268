import PowerSyncSQLite

/// The database as sync sees it.
package struct SyncDatabase: Sendable {
    private let pool: any ConnectionPool
    private let environment: SyncEnvironment
    /// Whether an iteration goes on, for whoever looks from a connection.
    private let mark = IterationMark()

    /// Makes a view of a pool.
    ///
    /// - Parameters:
    ///   - pool: the connections; the core is installed on each.
    ///   - environment: the clock.
    package init(pool: any ConnectionPool, environment: SyncEnvironment) {
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
        return try await pool.read { try Self.run(body, on: $0, now: now) }
    }

    /// Runs `body` as ``read(_:)`` if something that reads is free.
    ///
    /// - Returns: what `body` returned; nil if all that reads is in use.
    /// - Throws: as ``read(_:)``.
    func readIfFree<T: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> T) async throws -> T? {
        let now = environment.now()
        let value: T? = try await pool.readIfFree { try Self.run(body, on: $0, now: now) }
        return value
    }

    private static func run<T>(
        _ body: (SyncStore) throws -> T, on connection: SQLiteConnection, now: Int64
    ) throws -> T {
        // A pool of the app's own may read in a transaction, which shows one state as well.
        let isLentInTransaction = connection.isInTransaction
        if !isLentInTransaction { try connection.run("BEGIN") }
        // There is nothing to commit.
        defer { if !isLentInTransaction { connection.rollBack() } }
        return try body(SyncStore(connection: connection, now: now))
    }

    /// Lets the write-ahead log begin anew if it is long; others may write meanwhile.
    ///
    /// - Throws: `SQLiteError`, `CancellationError`.
    func shortenLog() async throws { try await pool.shortenLog() }

    /// Cuts the write-ahead log if it is long; others may write meanwhile, but for the cut itself.
    ///
    /// - Throws: `SQLiteError`, `CancellationError`.
    func cutLog() async throws { try await pool.cutLog() }

    /// How often the app has asked for the writer.
    var appWrites: Int { pool.countedWrites }

    /// Feeds an event to an iteration, in one transaction, which is committed when this returns.
    ///
    /// - Returns: the iteration after it, what is left to do, and how long others were kept from writing.
    /// - Throws: as ``SyncTransaction/run(_:from:on:)``; nothing is stored then, and the iteration must be given up.
    func step(_ event: SyncEvent, _ iteration: SyncState, tuning: StorageTuning) async throws -> (
        iteration: SyncState, effects: [SyncEffect], hold: Duration
    ) {
        let environment = environment
        let mark = mark
        let now = environment.now()
        return try await pool.write { connection in
            let start = environment.uptime()
            let result = try connection.transaction {
                try SyncTransaction.run(
                    event, from: iteration, on: SyncStore(connection: connection, now: now, tuning: tuning))
            }
            // Clearing softly and resyncing are refused as long as an iteration counts on what is stored.
            try CoreExtension.of(connection).memory.iteration = mark
            mark.isActive = result.state.isActive
            return (result.state, result.effects, environment.uptime() - start)
        }
    }

    /// Says that no iteration counts on what is stored any more.
    func endIteration() { mark.isActive = false }
}
