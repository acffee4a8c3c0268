import PowerSyncSQLite
import PowerSyncSystem

/// A pool of the app's own, as the SDK needs it (client-api 1.17).
///
/// Changes are told by the pool alone, also those that the SDK commits, and so a moment after the write returned:
/// SQLite has room for one update hook a connection, nobody can ask for the one that is there, and to take it would
/// end what else stands on it, such as the observations of GRDB.
final class BorrowedPool: ConnectionPool {
    private struct State {
        var countedWrites = 0
        var isClosed = false
        var following: Task<Void, Never>?
        /// What the writing connection remembered when it was lent last.
        var memory = CoreExtension.Memory()
        var subscriptions: [[SQLiteValue]]?
    }

    private let pool: any SQLiteConnectionPoolProtocol
    private let sleep: @Sendable (Duration) async throws -> Void
    private let state = Lock(State())

    /// Stands on a pool; `sleep` waits, and throws `CancellationError`.
    init(
        _ pool: any SQLiteConnectionPoolProtocol, sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.pool = pool
        self.sleep = sleep
    }

    deinit { state.withLock { $0.following.take() }?.cancel() }

    /// Begins to take in what the pool tells, until it is left or closed.
    ///
    /// - Parameter changed: gets the names of changed tables, one set after the other.
    func follow(_ changed: @escaping @Sendable (Set<String>) async -> Void) {
        // Here, not in the task: nothing is missed from now on.
        let updates = pool.tableUpdates
        let following = Task { for await tables in updates { await changed(tables) } }
        state.withLock { $0.following = following }
    }

    // MARK: Connections

    /// Does nothing: how the app's pool treats its log is its own affair.
    func shortenLog() {}

    /// Does nothing, as `shortenLog`.
    func cutLog() {}

    var countedWrites: Int { state.withLock { $0.countedWrites } }

    func write<T: Sendable>(
        isCounted: Bool, _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T {
        if isCounted { state.withLock { $0.countedWrites += 1 } }
        try checkOpen()
        let turn = BorrowedTurn<T>()
        return try await turn.run { [self] in
            try await pool.write { [self] lease in
                try turn.begin()
                return try use(writer: try BorrowedConnection.of(lease.pointer), body)
            }
        }
    }

    func read<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T {
        try checkOpen()
        let turn = BorrowedTurn<T>()
        return try await turn.run { [pool] in
            try await pool.read { lease in
                try turn.begin()
                let connection = try BorrowedConnection.of(lease.pointer)
                return try connection.lend { try body(connection) }
            }
        }
    }

    func writeIfFree<T: Sendable>(
        isCounted: Bool, _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T? {
        try await lentInAMoment { [self] begin -> T in
            try await write(isCounted: isCounted) { connection in
                try begin()
                return try body(connection)
            }
        }
    }

    func readIfFree<T: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> T
    ) async throws -> T? {
        try await lentInAMoment { [self] begin -> T in
            try await read { connection in
                try begin()
                return try body(connection)
            }
        }
    }

    /// Waits a moment for a connection; returns nil if that was not enough.
    private func lentInAMoment<T: Sendable>(
        _ lock: @escaping @Sendable (_ begin: @escaping @Sendable () throws -> Void) async throws -> T
    ) async throws -> T? {
        let limit = LimitedLock(LimitedLock.moment, sleep: sleep)
        do {
            let value = try await limit.run(lock)
            return value
        } catch  where limit.isOver {
            // It has not begun, so this is the error of the limit.
            return nil
        }
    }

    func all<T: Sendable>(
        _ body: @escaping @Sendable (_ writer: SQLiteConnection, _ readers: [SQLiteConnection]) throws -> T
    ) async throws -> T {
        try checkOpen()
        let turn = BorrowedTurn<T>()
        return try await turn.run { [self] in
            try await pool.withAllConnections { [self] writer, readers in
                try turn.begin()
                let readers = try readers.map { try BorrowedConnection.of($0.pointer) }
                return try use(writer: try BorrowedConnection.of(writer.pointer)) { try body($0, readers) }
            }
        }
    }

    /// Lends the writing connection; one that the pool has opened anew remembers what the one before did.
    private func use<T>(writer connection: SQLiteConnection, _ body: (SQLiteConnection) throws -> T) throws
        -> T
    {
        let core = try CoreExtension.of(connection)
        if core.memory.pool != ObjectIdentifier(self) {
            core.memory = state.withLock { $0.memory }
            core.memory.pool = ObjectIdentifier(self)
        }
        defer { state.withLock { $0.memory = core.memory } }
        return try connection.lend { try body(connection) }
    }

    // MARK: Subscriptions

    /// Notes the stream subscriptions that are stored; returns whether they are others than before.
    ///
    /// A pool that knows no tables tells of what syncing itself writes as of a change from elsewhere. To syncing,
    /// which renews subscriptions whenever they may have changed, only those are news that are not the same.
    func notes(subscriptions: [[SQLiteValue]]) -> Bool {
        state.withLock { state in
            defer { state.subscriptions = subscriptions }
            return state.subscriptions != subscriptions
        }
    }

    // MARK: The end

    func close() async throws {
        guard end() else { return }
        try await pool.close()
    }

    func leave() async { _ = end() }

    /// Whether it stands on a pool.
    func stands(on other: any SQLiteConnectionPoolProtocol) -> Bool { Self.areSame(pool, other) }

    /// Whether two pools are one.
    ///
    /// Of values nobody can tell. They are taken for the same: better one stays open than that one is closed which
    /// somebody needs.
    static func areSame(
        _ left: any SQLiteConnectionPoolProtocol, _ right: any SQLiteConnectionPoolProtocol
    ) -> Bool {
        guard type(of: left) is AnyClass, type(of: right) is AnyClass else {
            return type(of: left) == type(of: right)
        }
        return (left as AnyObject) === (right as AnyObject)
    }

    /// Refuses further work and lets go of what the pool tells; false if that is so already.
    private func end() -> Bool {
        // First, so that what is read just now fails in a task that nobody wants to know of any more.
        state.withLock { $0.following.take() }?.cancel()
        return state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
    }

    private func checkOpen() throws(SQLiteError) {
        if state.withLock({ $0.isClosed }) {
            throw SQLiteError(code: .misuse, message: "the database is closed")
        }
    }
}
