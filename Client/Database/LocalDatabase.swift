import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// One database as the app holds it; instances of the same file share a ``DatabaseGroup``.
final class LocalDatabase: PowerSyncDatabaseProtocol {
    let logger: any LoggerProtocol
    let group: DatabaseGroup
    let environment: SyncEnvironment
    /// Makes the way to the service for one connection: what it has open ends with it.
    let makeTransport: @Sendable () throws -> any SyncTransport
    private let location: Result<DatabaseLocation, PowerSyncError>
    private let initialStatements: [String]
    private let member: DatabaseMember
    private let opening = SingleFlight<SQLitePool>()
    private let state: Lock<State>

    private struct State {
        var schema: any SchemaProtocol
        var closing: Task<Void, Never>?
    }

    init(
        schema: any SchemaProtocol, location: Result<DatabaseLocation, PowerSyncError>,
        logger: any LoggerProtocol, initialStatements: [String], groups: DatabaseGroups,
        environment: SyncEnvironment = .system(),
        makeTransport: @escaping @Sendable () throws -> any SyncTransport = { try HTTPClientTransport() }
    ) {
        self.location = location
        self.logger = logger
        self.initialStatements = initialStatements
        self.environment = environment
        self.makeTransport = makeTransport
        state = Lock(State(schema: schema))
        switch location {
        case .success(let location): group = groups.group(at: location)
        // Of no use to anybody: every call throws.
        case .failure: group = DatabaseGroup(location: .memory)
        }
        member = DatabaseMember(status: group.status)
        if group.join(member) {
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
        group.leave(member)
    }

    // MARK: State

    /// Tells the watches of this instance what has changed.
    var changes: TableChanges { member.changes }

    var isClosed: Bool { state.withLock { $0.closing != nil } }

    var schema: any SchemaProtocol { state.withLock { $0.schema } }

    var currentStatus: any SyncStatus { LiveSyncStatus(feed: member.status) }

    /// The identity under which this instance connects.
    var identity: ObjectIdentifier { ObjectIdentifier(member) }

    /// Waits until a condition on the status holds.
    func waitForStatus(_ condition: @escaping @Sendable (SyncStatusValue) -> Bool) async throws {
        _ = try await pool()
        try await member.status.wait(until: condition)
    }

    // MARK: Opening and closing

    /// Returns the connections, opening the database at the first call.
    func pool() async throws -> SQLitePool {
        if isClosed { throw PowerSyncError.closed }
        return try await wrapping { try await opening.value { try await self.open() } }
    }

    private func open() async throws -> SQLitePool {
        let opener = DatabaseOpener(
            location: try location.get(), initialStatements: initialStatements, logger: logger,
            retry: environment.opening)
        let pool = try await group.pool(opener)
        try await apply(schema, to: pool)
        try await refreshStatus(pool, resetting: false)
        return pool
    }

    /// Creates or updates tables and views on all connections; the state of the schema is not touched.
    func apply(_ schema: any SchemaProtocol, to pool: SQLitePool) async throws {
        do {
            try schema.validate()
        } catch {
            // Official clients accept such schemas as far as SQLite does.
            logger.warning("The schema breaks a rule: \(error)", tag: LogTag.database)
        }
        let json = try Schema(tables: schema.tables, rawTables: schema.rawTables).json().text
        try await wrapping {
            try await pool.all { writer, readers in
                try writer.transaction {
                    try writer.run("SELECT powersync_init()")
                    try CoreMigrations.markKeys(writer)
                    try writer.run("SELECT powersync_replace_schema(?1)", [.text(json)])
                }
                // Each reader has to notice that its idea of the schema is old.
                for reader in readers { try reader.execute("PRAGMA table_info('sqlite_master')") }
            }
        }
    }

    /// Notes a schema that has been applied.
    func replaceSchema(_ schema: any SchemaProtocol) {
        state.withLock { $0.schema = schema }
        group.changed([TableChanges.schema])
    }

    func close() async throws {
        try await close(deleteDatabase: false)
    }

    func close(deleteDatabase: Bool) async throws {
        if deleteDatabase, group.hasOthers(than: member) {
            throw PowerSyncError(
                .invalidState, "Cannot delete a database that another instance has open")
        }
        let closing = state.withLock { state in
            let closing = state.closing ?? Task { await self.finish() }
            state.closing = closing
            return closing
        }
        await closing.value
        guard deleteDatabase else { return }
        for file in try location.get().files where FileManager.default.fileExists(atPath: file) {
            do {
                try FileManager.default.removeItem(atPath: file)
            } catch {
                throw PowerSyncError(
                    .fileAccess, "Could not remove \(file)", detail: error.localizedDescription)
            }
        }
    }

    private func finish() async {
        await group.sync.disconnect(ownedBy: identity)
        await opening.settle()
        member.changes.finish()
        member.status.close()
        if let pool = group.leave(member) {
            await pool.close()
        } else if let pool = opening.current {
            // Others go on with these connections: callbacks of this instance are over once all were free.
            try? await pool.all { _, _ in }
        }
    }

    // MARK: Queries

    func writeLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        let pool = try await pool()
        return try await wrapping {
            // Counted, so that sync stores little at once while the app writes.
            try await pool.write(isCounted: true) { ConnectionLease.lend($0, to: callback) }
                .get(loggingTo: logger)
        }
    }

    func readLock<R>(callback: @Sendable @escaping (any ConnectionContext) throws -> R) async throws -> R {
        let pool = try await pool()
        return try await wrapping {
            try await pool.read { ConnectionLease.lend($0, to: callback) }.get(loggingTo: logger)
        }
    }

    func watch<RowType>(options: WatchOptions<RowType>) throws -> AsyncThrowingStream<[RowType], any Error> {
        WatchedQuery(options, of: self).results()
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
