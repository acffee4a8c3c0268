import PowerSyncSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// How long and how often opening is tried while another process holds the file (client-api 2.1).
struct OpenRetryPolicy: Sendable {
    /// The wait after the first failure; it doubles each time.
    var firstDelay = Duration.milliseconds(10)
    /// The longest wait.
    var longestDelay = Duration.milliseconds(250)
    /// After this time the error counts.
    var budget = Duration.seconds(5)

    /// Returns how long to wait after a failure; nil to give up.
    ///
    /// - Parameters:
    ///   - error: the failure.
    ///   - attempt: 1 after the first failure.
    ///   - elapsed: the time since the first attempt began.
    /// - Returns: the wait; nil if the error counts.
    func delay(after error: any Error, attempt: Int, elapsed: Duration) -> Duration? {
        guard Self.isBusy(error) else { return nil }
        var delay = firstDelay
        for _ in 1..<max(attempt, 1) where delay < longestDelay { delay *= 2 }
        delay = min(delay, longestDelay)
        return elapsed + delay <= budget ? delay : nil
    }

    private static func isBusy(_ error: any Error) -> Bool {
        if let error = error as? PowerSyncError { return error.code == .databaseBusy }
        return (error as? SQLiteError).map { $0.code == .busy || $0.code == .locked } ?? false
    }
}

/// Opens the connections of a database: one writer and four readers, the core on each.
package struct DatabaseOpener: Sendable {
    /// How many reading connections a file has.
    static let readerCount = 4
    /// How long a statement waits for a lock of another process.
    static let busyTimeout = Duration.seconds(30)

    let location: DatabaseLocation
    let initialStatements: [String]
    let logger: any LoggerProtocol
    let environment: SyncEnvironment

    /// Opens the connections, again and again while somebody else holds the file.
    ///
    /// - Parameter onChange: gets the tables that committed work has changed, before whoever asked for it goes on; must
    ///   not block.
    /// - Returns: the connections.
    /// - Throws: `PowerSyncError`, `CancellationError`.
    func open(onChange: @escaping @Sendable (Set<String>) -> Void) async throws -> SQLitePool {
        try await retrying { try await build(onChange) }
    }

    /// Does something again and again while somebody else holds the file.
    ///
    /// - Parameter body: what is done.
    /// - Returns: what `body` returns.
    /// - Throws: `PowerSyncError`, `CancellationError`, and what `body` throws that SQLite does not.
    func retrying<T>(_ body: () async throws -> T) async throws -> T {
        let start = environment.uptime()
        var attempt = 1
        while true {
            do {
                return try await body()
            } catch {
                let delay = environment.opening.delay(
                    after: error, attempt: attempt, elapsed: environment.uptime() - start)
                guard let delay else { throw shown(error) }
                logger.debug("The database is in use, opening it again in \(delay)", tag: LogTag.database)
                try await environment.sleep(delay)
                attempt += 1
            }
        }
    }

    /// Tells which versions are at work.
    func log(_ pool: any ConnectionPool) async throws {
        let versions = try await pool.read { connection in
            try connection.one("SELECT sqlite_version(), powersync_rs_version()") {
                ($0.string(0), $0.string(1))
            }
        }
        guard let (sqlite, core) = versions else { return }
        logger.debug(
            "Opened connection. SQLite version \(sqlite), PowerSync SQLite core extension \(core)",
            tag: LogTag.database)
    }

    private func build(_ onChange: @escaping @Sendable (Set<String>) -> Void) async throws -> SQLitePool {
        let path: String
        switch location {
        case .pool: preconditionFailure("the connections of a pool of the app's own are open")
        case .memory: path = ":memory:"
        case .file(let named, let resolved):
            path = named
            try Self.prepareFile(resolved)
        }
        let statements = initialStatements
        return try await SQLitePool.open(
            path: path, readers: Self.readerCount,
            setUp: { try Self.setUp($0, isWriter: $1, initialStatements: statements) }, onChange: onChange,
            onCheckpointFailure: { [logger] in logger.warning("\($0)", tag: LogTag.database) })
    }

    /// Creates the directory and the file for the user alone, unless they are there.
    ///
    /// - Parameter path: the file, without links.
    /// - Throws: `SQLiteError` with `.cannotOpen`.
    static func prepareFile(_ path: String) throws {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        do {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw cannotOpen(path)
        }
        // Where it is there already, SQLite says best what is wrong with it.
        guard makeFile(path) || FileManager.default.fileExists(atPath: path) else { throw cannotOpen(path) }
    }

    private static func cannotOpen(_ path: String) -> SQLiteError {
        SQLiteError(code: .cannotOpen, message: "Could not open database \(path)")
    }

    private func shown(_ error: any Error) -> any Error {
        guard let error = error as? SQLiteError else { return error }
        guard error.code == .cannotOpen, case .file(let path, _) = location else {
            return PowerSyncError(error)
        }
        return PowerSyncError(Self.cannotOpen(path))
    }

    /// A key without a cipher would leave the file readable for all without a word (client-api 2.14).
    private static func refuseKeyWithoutCipher(_ statements: [String], on connection: SQLiteConnection) throws
    {
        guard statements.contains(where: ShownText.setsKey),
            try connection.one("PRAGMA cipher", [], { $0.string(0) }) == nil
        else { return }
        throw PowerSyncError(.invalidArgument, "This SQLite knows no encryption, a key has no effect")
    }

    /// Switches to a write-ahead log, without which readers would hold up the writer, and it them.
    private static func beginLog(_ connection: SQLiteConnection) throws {
        let mode = try connection.one("PRAGMA journal_mode = WAL") { $0.string(0) } ?? "unknown"
        guard mode != "wal", connection.path != ":memory:" else { return }
        throw PowerSyncError(
            .fileAccess,
            """
            The database \(connection.path) cannot have a write-ahead log, its journal mode stays "\(mode)": where it \
            lies there is no shared memory, as on network file systems. Keep it on a local disk.
            """)
    }

    /// Makes a connection ready: pragmas, the core, the functions of sync.
    ///
    /// - Parameters:
    ///   - connection: the connection, which has just been opened.
    ///   - isWriter: whether it is the one that writes.
    ///   - initialStatements: what the app wants to run first.
    /// - Throws: `SQLiteError`, and `PowerSyncError` for what cannot be a database of ours.
    package static func setUp(
        _ connection: SQLiteConnection, isWriter: Bool, initialStatements: [String] = []
    ) throws {
        // No waiting inside SQLite yet: the whole build is tried again instead, and that can be cancelled.
        connection.setBusyTimeout(.zero)
        try runFirst(initialStatements, on: connection)
        try configure(connection, isWriter: isWriter)
        try CoreExtension.install(on: connection)
        try SyncFunctions.register(on: connection)
        if isWriter {
            let version = try connection.one("PRAGMA user_version") { $0.int64(0) } ?? 0
            if version < 1 { try connection.execute("PRAGMA user_version = 1") }
        }
        connection.setBusyTimeout(busyTimeout)
    }

    /// Runs what the app wants to run first.
    static func runFirst(_ initialStatements: [String], on connection: SQLiteConnection) throws {
        try refuseKeyWithoutCipher(initialStatements, on: connection)
        for statement in initialStatements { try connection.execute(statement) }
    }

    /// Runs the pragmas of the SDK, which count more than those of the app.
    static func configure(_ connection: SQLiteConnection, isWriter: Bool) throws {
        if isWriter { try beginLog(connection) }
        try connection.execute("PRAGMA journal_size_limit = 6291456")
        try connection.execute("PRAGMA cache_size = -51200")
        try connection.execute("PRAGMA synchronous = NORMAL")
    }
}

/// Makes an empty file for the user alone unless it is there; false if it cannot be opened for writing.
///
/// In one call, in which nothing is truncated: another process may make and fill the file at the same moment.
private func makeFile(_ path: String) -> Bool {
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return false }
    close(descriptor)
    return true
}
