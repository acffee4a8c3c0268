import PowerSyncCommandLine
import PowerSyncStack
import PowerSyncSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A private Postgres, backend, service and clients, each a process of its own, for one run of a measure.
///
/// Postgres is as durable as one in production: a commit waits for the disk. The parts have the settings that a local stack
/// has, and run from the program that lies beside this one.
final class StackWorld: Sendable {
    /// How long Postgres, and then backend and service, may take to start.
    private static let startLimit = Duration.seconds(300)

    /// Backend and service.
    let stack: LocalStack
    /// Where the rows are.
    let database: StackDatabase
    /// The poller of the run.
    let poller: Poller
    private let session: Session
    private let folder: String
    private let executable: String
    private let log: Int32

    /// Starts everything but clients, and lets `body` measure.
    ///
    /// - Parameters:
    ///   - items: how many items there are.
    ///   - session: closes what is opened.
    ///   - body: what is measured.
    /// - Throws: what `body` throws, and errors of starting; the end of the log is told then.
    static func with(
        items: Int, session: Session, _ body: (StackWorld) async throws -> Void
    ) async throws {
        try await with(.items(items), session: session, body)
    }

    /// Starts everything but clients, and lets `body` measure.
    ///
    /// - Parameters:
    ///   - tables: the tables.
    ///   - session: closes what is opened.
    ///   - body: what is measured.
    /// - Throws: what `body` throws, and errors of starting; the end of the log is told then.
    static func with(
        _ tables: StackTables, session: Session, _ body: (StackWorld) async throws -> Void
    ) async throws {
        let world = try StackWorld(tables, session: session)
        do {
            try await Phase.run("Postgres to start", within: startLimit) { try await world.database.open() }
            try await Phase.run("backend and service to start", within: startLimit) {
                try await world.stack.start()
            }
            try await body(world)
        } catch {
            if !Task.isCancelled {
                BenchmarkReport.progress("the last lines of the log: \(LogFile.end(world.folder + "/log"))")
            }
            throw error
        }
    }

    private init(_ tables: StackTables, session: Session) throws {
        self.session = session
        executable = try Self.sibling("powersync-stack")
        folder = try session.temporaryFolder()
        poller = try session.poller()
        let database = StackDatabase(.cluster(directory: nil), isDurable: true, poller: poller)
        session.onEnd { try await database.close() }
        self.database = database
        let log = try PrivateFile.create(folder + "/log")
        session.onEnd { close(log) }
        self.log = log
        try PrivateFile.write(tables.clientSchema, to: folder + "/schema.json")
        try PrivateFile.write(tables.tableMap, to: folder + "/tables.yaml")
        var configuration = LocalStackConfiguration(executable: executable, folder: folder)
        configuration.schema = tables.sql
        configuration.syncConfig = .text(tables.syncConfig)
        configuration.tableMap = folder + "/tables.yaml"
        configuration.backendEnvironment = tables.backendEnvironment
        configuration.log = log
        let stack = LocalStack(configuration, database: database, poller: poller)
        session.onEnd { await stack.stop() }
        session.onHurry { stack.killNow() }
        self.stack = stack
    }

    /// Returns the path of a program that was built with this one.
    ///
    /// - Parameter name: the program.
    /// - Returns: its path, beside this one's.
    /// - Throws: `CommandError` that says how to build it, if it is not there.
    static func sibling(_ name: String) throws -> String {
        let own = try ThisExecutable.path()
        let path = String(own.prefix(through: own.lastIndex(of: "/") ?? own.startIndex)) + name
        guard access(path, X_OK) == 0 else {
            throw CommandError("\(path) is not there: swift build -c release --product \(name)")
        }
        return path
    }

    /// Starts a client.
    ///
    /// - Parameters:
    ///   - name: what it and its database are called; that of one that has ended opens its database again.
    ///   - endpoint: the URL of the service.
    ///   - token: a token for the service; nil: the backend mints them for the one user, and takes what is uploaded.
    /// - Returns: the client, which ends with the session.
    /// - Throws: `SystemError`, or `StackError` if the backend was never started.
    func client(_ name: String, at endpoint: String, token: String? = nil) async throws -> MeasuredClient {
        let backend = try await stack.url(.backend)
        let login = token.map { ["--token", $0] } ?? ["--backend", backend, "--user", StackApp.user]
        let files = ["--db", "\(folder)/\(name).db", "--schema", folder + "/schema.json"]
        let client = try MeasuredClient(
            name, executable: executable,
            arguments: ["client"] + files + ["--endpoint", endpoint] + login + ["--json"], log: log,
            poller: poller)
        session.onEnd { await client.end() }
        return client
    }
}
