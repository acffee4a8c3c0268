import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One database as the app holds it; instances of the same file share a ``DatabaseGroup``, whose loop opens, connects,
/// clears and closes.
final class LocalDatabase: PowerSyncDatabaseProtocol {
    let logger: any LoggerProtocol
    let group: DatabaseGroup
    let member: DatabaseInstance
    /// The number under which the group knows this instance.
    let number: Int
    let environment: SyncEnvironment
    /// Makes the way to the service for one connection: what it has open ends with it.
    ///
    /// Nil for that over the network.
    let makeTransport: (@Sendable () throws -> any SyncTransport)?
    private let location: Result<DatabaseLocation, PowerSyncError>
    let initialStatements: [String]
    private let currentSchema: Lock<any SchemaProtocol>

    init(
        schema: any SchemaProtocol, location: Result<DatabaseLocation, PowerSyncError>,
        logger: any LoggerProtocol, initialStatements: [String], groups: DatabaseGroups,
        appPool: (any SQLiteConnectionPoolProtocol)? = nil, environment: SyncEnvironment = .system(),
        makeTransport: (@Sendable () throws -> any SyncTransport)? = nil
    ) {
        self.location = location
        self.logger = logger
        self.initialStatements = initialStatements
        self.environment = environment
        self.makeTransport = makeTransport
        currentSchema = Lock<any SchemaProtocol>(schema)
        let group: DatabaseGroup
        switch location {
        case .success(let location): group = groups.group(at: location)
        // Of no use to anybody: every call throws.
        case .failure: group = DatabaseGroup(location: .memory)
        }
        let member = DatabaseInstance(of: group, appPool: appPool)
        let (number, hasOthers) = group.join(member)
        self.group = group
        self.member = member
        self.number = number
        if hasOthers {
            logger.warning(
                """
                Multiple PowerSync instances for the same database have been detected.
                They share connections and syncing; the schema that is applied last counts for all.
                Please keep one instance and close it before making another.
                """, tag: LogTag.groups)
        }
    }

    deinit {
        member.changes.finish()
        member.status.close()
        group.drop(number)
    }

    // MARK: State

    /// Tells the watches of this instance what has changed.
    var changes: TableChanges { member.changes }

    var isClosed: Bool { member.isClosed }

    var schema: any SchemaProtocol { currentSchema.withLock { $0 } }

    var currentStatus: any SyncStatus { LiveSyncStatus(feed: member.status) }

    func waitForStatus(
        timeout: TimeInterval?, until condition: @escaping @Sendable (any SyncStatusData) -> Bool
    ) async throws {
        // Before the time begins: opening has one of its own.
        _ = try await pool()
        let status = member.status
        try await limited(
            to: timeout, sleep: environment.sleep, unless: { condition(status.current) }
        ) { try await status.wait(until: condition) }
    }

    // MARK: Opening and closing

    /// Returns the connections, opening the database at the first call.
    func pool() async throws -> any ConnectionPool {
        if isClosed { throw PowerSyncError.closed }
        return try await openedPool()
    }

    private func openedPool() async throws -> any ConnectionPool {
        if let pool = member.pool { return pool }
        try await group.submit(.open, of: self)
        guard let pool = member.pool else { throw PowerSyncError.closed }
        return pool
    }

    /// Lends the connections for what closing this instance waits for, such as a callback of the app.
    func use<T>(_ body: (any ConnectionPool) async throws -> T) async throws -> T {
        guard member.beginUse() else { throw PowerSyncError.closed }
        defer { member.endUse() }
        return try await wrapping { try await body(openedPool()) }
    }

    /// What opens the connections as this instance wants them.
    func opener() throws -> DatabaseOpener {
        DatabaseOpener(
            location: try location.get(), initialStatements: initialStatements, logger: logger,
            environment: environment)
    }

    /// Makes open connections ready for this instance.
    func prepare(_ pool: any ConnectionPool) async throws {
        // Whether connections of the app's own wait for the locks of others is not known.
        let isNew =
            member.appPool == nil
            ? try await apply(schema, to: pool)
            : try await opener().retrying { try await apply(schema, to: pool) }
        // Other instances may watch what was another table before.
        if isNew { group.changed([TableChanges.schema]) }
        try await refreshStatus(pool)
        member.open(pool)
    }

    /// Creates or updates tables and views on all connections; the state of the schema is not touched.
    ///
    /// - Parameters:
    ///   - schema: the schema.
    ///   - pool: the connections.
    /// - Returns: whether the database was changed by it.
    /// - Throws: `PowerSyncError`.
    @discardableResult
    func apply(_ schema: any SchemaProtocol, to pool: any ConnectionPool) async throws -> Bool {
        do {
            try schema.validate()
        } catch {
            // Official clients accept such schemas as far as SQLite does.
            logger.warning("The schema breaks a rule: \(error)", tag: LogTag.database)
        }
        for table in schema.rawTables where table.clear == nil {
            logger.warning(
                "The raw table \(table.name) has no statement to clear it: its rows stay in `disconnectAndClear`",
                tag: LogTag.database)
        }
        let json = try Schema(tables: schema.tables, rawTables: schema.rawTables).json().text
        let (isNew, failures) = try await wrapping {
            try await pool.all { writer, readers in
                let version = "PRAGMA schema_version"
                let before = try writer.one(version) { $0.int64(0) }
                let after = try writer.transaction {
                    try writer.run("SELECT powersync_init()")
                    try CoreMigrations.markKeys(writer)
                    try writer.run("SELECT powersync_replace_schema(?1)", [.text(json)])
                    return try writer.one(version) { $0.int64(0) }
                }
                // Each reader has to notice that its idea of the schema is old, at the latest when it runs a query.
                var failures: [any Error] = []
                for reader in readers {
                    do {
                        try reader.execute("PRAGMA table_info('sqlite_master')")
                    } catch {
                        failures.append(error)
                    }
                }
                return (after != before, failures)
            }
        }
        for failure in failures {
            logger.warning("A reader could not look at the new schema: \(failure)", tag: LogTag.database)
        }
        return isNew
    }

    /// Notes a schema that has been applied.
    func replaceSchema(_ schema: any SchemaProtocol) {
        currentSchema.withLock { $0 = schema }
        group.changed([TableChanges.schema])
    }

    func close() async throws {
        try await close(deleteDatabase: false)
    }

    func close(deleteDatabase: Bool) async throws {
        try await group.submit(.close(deletingFiles: deleteDatabase), of: self)
    }

    /// Removes the files of the database, once this process has closed them.
    func removeFiles() throws {
        try DatabaseRemoval.removeFiles(at: location.get(), initialStatements: initialStatements)
    }

    // MARK: Queries

    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try await use { pool in
            // Counted, so that sync stores little at once while the app writes.
            try await pool.write(isCounted: true) { ConnectionLease.lend($0, to: callback) }
                .get(loggingTo: logger)
        }
    }

    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        try await use { pool in
            try await pool.read { ConnectionLease.lend($0, to: callback) }.get(loggingTo: logger)
        }
    }

    func writeLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await use { pool in
            try await lock(within: timeout) {
                try await pool.writeIfFree(isCounted: true) { ConnectionLease.lend($0, to: callback) }
            } waiting: { begin in
                try await pool.write(isCounted: true) { connection in
                    try begin()
                    return ConnectionLease.lend(connection, to: callback)
                }
            }
        }
    }

    func readLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R {
        try await use { pool in
            try await lock(within: timeout) {
                try await pool.readIfFree { ConnectionLease.lend($0, to: callback) }
            } waiting: { begin in
                try await pool.read { connection in
                    try begin()
                    return ConnectionLease.lend(connection, to: callback)
                }
            }
        }
    }

    /// Lends a connection of open ones, unless they are in use for too long.
    ///
    /// - Parameters:
    ///   - timeout: the time in seconds.
    ///   - ifFree: lends one at once; returns nil if they are in use.
    ///   - waiting: waits for one, and calls its argument when it has it.
    /// - Returns: what the callback of the app returns.
    /// - Throws: as ``writeLock(timeout:callback:)``.
    private func lock<R>(
        within timeout: TimeInterval, ifFree: () async throws -> Transferred<R>?,
        waiting:
            @escaping @Sendable (_ begin: @escaping @Sendable () throws -> Void) async throws ->
            Transferred<R>
    ) async throws -> R {
        let limit = LimitedLock(timeout, sleep: environment.sleep)
        if timeout > 0 { return try await limit.run(waiting).get(loggingTo: logger) }
        guard let outcome = try await ifFree() else { throw limit.late }
        return try outcome.get(loggingTo: logger)
    }

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        if isClosed { throw PowerSyncError.closed }
        return WatchedQuery(options, of: self).results()
    }

    /// Turns what the SDK's parts throw into what the app is told.
    func wrapping<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch is SQLiteError where isClosed {
            throw PowerSyncError.closed
        } catch {
            throw PowerSyncError.shown(error)
        }
    }
}
