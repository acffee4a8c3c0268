import CPowerSyncSQLite
import Dispatch
import PowerSync
import PowerSyncSystem
import PowerSyncTestSupport

/// A pool as an app makes one, on SQLite alone: a connection that writes and some that read, each on a queue of its
/// own.
final class OwnPool: SQLiteConnectionPoolProtocol {
    /// What it tells of a commit.
    enum Telling { case names, marker }

    struct Lease: SQLiteConnectionLease { let pointer: OpaquePointer }

    private struct State {
        var listeners: [Int: AsyncStream<Set<String>>.Continuation] = [:]
        var lastListener = 0
        var reads = 0
        var closings = 0
        /// What SQLite answered to the closing of each connection.
        var closed: [Int32] = []
        var updates: [String: Int] = [:]
        var refusal: (any Error)?
    }

    static let marker: Set = ["__powersync_external_changes__"]

    private let writer: OwnConnection
    private let readers: [OwnConnection]
    private let telling: Telling
    private let readsInTransactions: Bool
    private let failure: (any Error)?
    private let state = Lock(State())

    /// - Parameters:
    ///   - path: the file.
    ///   - readers: how many connections read; without any the one that writes does.
    ///   - telling: what it tells of a commit.
    ///   - readsInTransactions: whether connections to read from are lent in a transaction.
    ///   - failure: what closing throws once the connections are closed.
    /// - Throws: what SQLite answers.
    init(
        path: String, readers: Int = 2, telling: Telling = .names, readsInTransactions: Bool = false,
        failingToClose failure: (any Error)? = nil
    ) throws {
        writer = try OwnConnection(path, isReader: false)
        self.readers = try (0..<readers).map { _ in try OwnConnection(path, isReader: true) }
        self.telling = telling
        self.readsInTransactions = readsInTransactions
        self.failure = failure
    }

    // MARK: What the tests look at

    /// How often connections to read from were lent.
    var reads: Int { state.withLock { $0.reads } }
    /// How often it was closed.
    var closings: Int { state.withLock { $0.closings } }
    /// Whether SQLite let go of every connection: it does not as long as there are statements of whomever.
    var areAllClosed: Bool {
        state.withLock { !$0.closed.isEmpty && $0.closed.allSatisfy { $0 == SQLITE_OK } }
    }
    /// How many follow what it tells.
    var listeners: Int { state.withLock { $0.listeners.count } }

    /// How many rows of a table were written.
    func updates(of table: String) -> Int { state.withLock { $0.updates[table] ?? 0 } }

    /// Runs a statement past PowerSync, as the app does that has the pool.
    @discardableResult
    func own(_ sql: String, _ parameters: [PowerSyncDataType?] = []) async throws -> Int64 {
        try await write { try $0.execute(sql: sql, parameters: parameters) }
    }

    /// Reads the first column past PowerSync.
    func ownTexts(_ sql: String) async throws -> [String] {
        try await read { lease in
            try lease.withIterator(sql: sql, parameters: []) { rows in
                var texts: [String] = []
                while let text = try rows.next(callback: { try $0.getString(index: 0) }) {
                    texts.append(text)
                }
                return texts
            }
        }
    }

    /// Closes the connection that writes and opens another one.
    func reopenWriter() async throws {
        try await writer.run { connection in
            self.note(connection.close())
            try connection.open()
        }
    }

    /// Lends no connection any more, or does so again.
    func refuse(_ error: (any Error)?) { state.withLock { $0.refusal = error } }

    private func checkRefusal() throws {
        if let refusal = state.withLock({ $0.refusal }) { throw refusal }
    }

    /// Tells of changes that there may have been.
    func tell(_ tables: Set<String>) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(tables) }
    }

    private func note(_ result: Int32) { state.withLock { $0.closed.append(result) } }

    private func tellCommits(of connection: OwnConnection) {
        let (committed, updates) = connection.drain()
        state.withLock { $0.updates.merge(updates, uniquingKeysWith: +) }
        if !committed.isEmpty { tell(telling == .names ? committed : Self.marker) }
    }

    // MARK: What PowerSync asks for

    var tableUpdates: AsyncStream<Set<String>> {
        AsyncStream { continuation in
            let number = state.withLock { state in
                state.lastListener += 1
                state.listeners[state.lastListener] = continuation
                return state.lastListener
            }
            continuation.onTermination = { [weak self] _ in
                _ = self?.state.withLock { $0.listeners.removeValue(forKey: number) }
            }
        }
    }

    func read<T: Sendable>(
        onConnection body: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T {
        try checkRefusal()
        let number = state.withLock { state in
            state.reads += 1
            return state.reads
        }
        guard !readers.isEmpty else { return try await write(onConnection: body) }
        let isInTransaction = readsInTransactions
        return try await readers[number % readers.count].run { connection in
            let lease = Lease(pointer: try connection.live())
            guard isInTransaction else { return try body(lease) }
            try connection.execute("BEGIN")
            // An error if somebody else has ended it.
            let result = Result { try body(lease) }
            try connection.execute("COMMIT")
            return try result.get()
        }
    }

    func write<T: Sendable>(
        onConnection body: @Sendable @escaping (any SQLiteConnectionLease) throws -> T
    ) async throws -> T {
        try checkRefusal()
        return try await writer.run { connection in
            defer { self.tellCommits(of: connection) }
            return try body(Lease(pointer: try connection.live()))
        }
    }

    func withAllConnections<T: Sendable>(
        onConnection body:
            @Sendable @escaping (
                _ writer: any SQLiteConnectionLease, _ readers: [any SQLiteConnectionLease]
            ) throws -> T
    ) async throws -> T {
        try checkRefusal()
        return try await writer.run { connection in
            defer { self.tellCommits(of: connection) }
            return try Self.hold(self.readers[...], []) {
                try body(Lease(pointer: try connection.live()), $0)
            }
        }
    }

    private static func hold<T>(
        _ rest: ArraySlice<OwnConnection>, _ held: [Lease], _ body: ([Lease]) throws -> T
    ) throws -> T {
        guard let next = rest.first else { return try body(held) }
        return try next.queue.sync {
            try hold(rest.dropFirst(), held + [Lease(pointer: try next.live())], body)
        }
    }

    func close() async throws { try closeConnections() }

    func closeConnections() throws {
        state.withLock { $0.closings += 1 }
        for connection in readers + [writer] { connection.queue.sync { note(connection.close()) } }
        if let failure { throw failure }
    }
}

/// One connection, with the hooks by which SQLite tells of changes.
final class OwnConnection: @unchecked Sendable {
    // Safe because everything below is touched on the queue alone.
    let queue = DispatchQueue(label: "powersync.tests.own-connection")
    private let path: String
    private let isReader: Bool
    private var pointer: OpaquePointer?
    private var changed: Set<String> = []
    private var committed: Set<String> = []
    private var updates: [String: Int] = [:]

    init(_ path: String, isReader: Bool) throws {
        self.path = path
        self.isReader = isReader
        try queue.sync { try open() }
    }

    deinit { sqlite3_close(pointer) }

    /// Runs work on the queue.
    func run<T: Sendable>(_ body: @escaping @Sendable (OwnConnection) throws -> T) async throws -> T {
        try await withThrowingResumption { continuation in
            queue.async { continuation.resume(with: Result { try body(self) }) }
        }
    }

    func live() throws -> OpaquePointer {
        guard let pointer else { throw TestError(text: "the connection is closed") }
        return pointer
    }

    func open() throws {
        var opened: OpaquePointer?
        let flags = isReader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        guard sqlite3_open_v2(path, &opened, flags, nil) == SQLITE_OK else {
            sqlite3_close(opened)
            throw TestError(text: "\(path) cannot be opened")
        }
        pointer = opened
        sqlite3_busy_timeout(opened, Int32(TestOptions.deadline.components.seconds) * 1000)
        if isReader { return }
        if path != ":memory:" { try execute("PRAGMA journal_mode = WAL") }
        installHooks()
    }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK else { throw TestError(text: sql) }
    }

    /// Closes as `sqlite3_close` does, which refuses while there are statements; returns what it answers.
    func close() -> Int32 {
        let result = sqlite3_close(pointer)
        if result == SQLITE_OK { pointer = nil }
        return result
    }

    /// Returns what was committed, and how many rows of each table were written, since the last call.
    func drain() -> (committed: Set<String>, updates: [String: Int]) {
        defer { (committed, updates) = ([], [:]) }
        return (committed, updates)
    }

    private func installHooks() {
        let context = Unmanaged.passUnretained(self).toOpaque()
        // Without it SQLite tells nothing of a DELETE of all rows.
        sqlite3_preupdate_hook(pointer, { _, _, _, _, _, _, _ in }, nil)
        sqlite3_update_hook(
            pointer,
            { context, _, _, table, _ in
                guard let context, let table else { return }
                let connection = Unmanaged<OwnConnection>.fromOpaque(context).takeUnretainedValue()
                let name = String(cString: table)
                connection.changed.insert(name)
                connection.updates[name, default: 0] += 1
            }, context)
        sqlite3_commit_hook(
            pointer,
            { context in
                guard let context else { return 0 }
                let connection = Unmanaged<OwnConnection>.fromOpaque(context).takeUnretainedValue()
                connection.committed.formUnion(connection.changed)
                connection.changed = []
                return 0
            }, context)
        sqlite3_rollback_hook(
            pointer,
            { context in
                guard let context else { return }
                Unmanaged<OwnConnection>.fromOpaque(context).takeUnretainedValue().changed = []
            }, context)
    }
}
