import PowerSyncHTTPClient
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The service of one scenario with its database, its configuration file and its log.
actor ScenarioService: ServiceUnderTest {
    /// A service that ended instead of answering.
    struct Refusal: Error {
        /// What it said last.
        let said: String
        /// How it ended.
        let status: ChildProcess.ExitStatus

        /// What it said and how it ended.
        var reason: String {
            said.isEmpty
                ? "it ended with \(status.words) and said nothing; --keep keeps its files"
                : "\(said) (\(status.words))"
        }

        /// Whether no service ended that way because it did not like its configuration: a signal, or what sh says of a
        /// command that is not there.
        var isCrash: Bool { if case .exited(0..<126) = status { false } else { true } }

        /// Whether it could not have one of its ports: in our words, and in those of Node.
        var isAboutAPort: Bool { said.contains("already in use") || said.contains("EADDRINUSE") }
    }

    /// What all scenarios of a run share.
    struct Machine: Sendable {
        /// What is started.
        let program: ServiceProcess.Program
        /// The command that compacts the storage; nil if there is none.
        let compaction: String?
        /// The server of all databases.
        let server: PostgresServer
        /// Waits for sockets.
        let poller: Poller
        /// Sends requests.
        let client: HTTPClient
        /// The environment of this program.
        let environment: [String: String]
    }

    /// The folder of the scenario: configuration, log, state.
    nonisolated let folder: String
    private let machine: Machine
    private let database: String
    private var configuration: ScenarioConfiguration
    private var syncConfig: String
    private var process: ServiceProcess?
    private var source: PostgresConnection?

    /// Names a service; nothing is made yet.
    ///
    /// - Parameters:
    ///   - machine: what all scenarios share.
    ///   - number: which scenario it is, for names.
    ///   - folder: where its files go; it exists.
    ///   - scenario: what it is told.
    ///   - syncConfig: the sync config with which it begins.
    init(
        _ machine: Machine, number: Int, folder: String, scenario: ServiceScenario, syncConfig: String
    ) {
        self.machine = machine
        self.folder = folder
        self.syncConfig = syncConfig
        database = "conformance_\(number)"
        configuration = ScenarioConfiguration(
            sourceURI: machine.server.uri(database: database),
            storageURI: machine.server.uri(database: database + "_storage"), port: 0, metricsPort: 0,
            slotPrefix: database + "_", extra: scenario.service)
    }

    /// Whether the service is this program's own, of which more is known.
    nonisolated var isOwn: Bool { if case .own = machine.program { true } else { false } }

    /// Where the service answers.
    var access: ServiceAccess {
        ServiceAccess(
            client: machine.client, port: configuration.port, metricsPort: configuration.metricsPort)
    }

    /// Makes the databases, runs the schema and starts the service.
    ///
    /// - Parameter schema: the statements.
    /// - Throws: `Refusal`; `PostgresError`, `StackError`, `SystemError`.
    func begin(_ schema: [String]) async throws {
        let uri = try await machine.server.createDatabase(database, poller: machine.poller)
        if !isOwn {
            // Ours keeps its state in a file and accepts what it does not use.
            try await machine.server.createDatabase(database + "_storage", poller: machine.poller)
        }
        let source = try await PostgresConnection.connect(uri, poller: machine.poller)
        self.source = source
        // A transaction that waits for the service, or for itself, is a failure of its step.
        try await source.query("SET lock_timeout = '30s'")
        try await source.query("SET statement_timeout = '120s'")
        for statement in schema { try await source.query(statement) }
        try await source.query("CREATE PUBLICATION powersync FOR ALL TABLES")
        for attempt in 1... {
            configuration.port = try FreePort.find()
            configuration.metricsPort = try FreePort.find()
            do {
                return try await start()
            } catch let refusal as Refusal {
                // Another program may have been quicker to take a port, and be gone again.
                guard attempt < 3,
                    refusal.isAboutAPort
                        || [configuration.port, configuration.metricsPort].contains(where: Self.isTaken)
                else { throw refusal }
            }
        }
    }

    private static func isTaken(_ port: Int) -> Bool {
        do {
            close(try TCPSocket.listen(host: "127.0.0.1", port: port).descriptor)
            return false
        } catch {
            return true
        }
    }

    /// Starts the service again, stopping it first if it runs.
    ///
    /// - Parameter newConfig: another sync config; nil for the same.
    /// - Throws: `Refusal`, `StackError`, `SystemError`.
    func restart(_ newConfig: String?) async throws {
        try await stop()
        syncConfig = newConfig ?? syncConfig
        try await start()
    }

    private func start() async throws {
        try PrivateFile.write(configuration.text(syncConfig: syncConfig), to: folder + "/service.yaml")
        let log = try PrivateFile.append(logPath)
        defer { close(log) }
        let process = try ServiceProcess(machine.program, environment: environment, log: log)
        self.process = process
        let access = access
        try await Deadline.wait(.seconds(60), for: "the service to answer", seen: { logEnd }) {
            if process.hasEnded {
                self.process = nil
                throw Refusal(said: LogFile.end(logPath), status: await process.end())
            }
            return try await access.writeCheckpoint(user: "conformance-probe", client: "start")
        }
    }

    /// Stops the service if it runs.
    ///
    /// - Throws: `StackError` with `.closing` if it had to be killed, or had ended by itself.
    func stop() async throws {
        guard let process else { return }
        self.process = nil
        if let trouble = await process.stop() { throw StackError(.closing, trouble) }
    }

    /// Whether it was started and not stopped since.
    var isRunning: Bool { process != nil }

    /// Requires that it has not ended by itself.
    ///
    /// - Throws: `StackError` with `.partEnded`, which says how it ended.
    func requireLife() async throws {
        guard let process, process.hasEnded else { return }
        throw StackError(.partEnded, "the service has ended by itself (\(await process.end().words))")
    }

    /// Runs statements in one transaction on the source.
    ///
    /// - Parameter statements: the statements.
    /// - Throws: `PostgresError`.
    func transact(_ statements: [String]) async throws {
        guard let source else { throw StackError(.database, "the source is not open") }
        try await source.query("BEGIN")
        for statement in statements { try await source.query(statement) }
        try await source.query("COMMIT")
    }

    /// Compacts the storage.
    ///
    /// - Returns: why it cannot be done; nil if it was done.
    /// - Throws: `StackError` if the command fails.
    func compact() async throws -> String? {
        guard let command = machine.compaction else {
            return isOwn ? "this service has no compaction" : "--compact names no command"
        }
        try await ServiceProcess.run(
            command, environment: environment, logPath: folder + "/compaction.log")
        return nil
    }

    /// Stops the service and removes its databases.
    ///
    /// - Throws: the first of what goes wrong; everything is tried.
    func end() async throws {
        var failure: (any Error)?
        do { try await stop() } catch { failure = error }
        await source?.close()
        source = nil
        for name in [database, database + "_storage"] {
            do {
                try await machine.server.dropDatabase(name, poller: machine.poller)
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private var environment: [String: String] {
        var environment =
            isOwn ? PartEnvironment.of(machine.environment, isUsersServer: false) : machine.environment
        environment["POWERSYNC_CONFIG_PATH"] = folder + "/service.yaml"
        environment["POWERSYNC_STATE_PATH"] = folder + "/state.sqlite"
        return environment
    }

    private var logPath: String { folder + "/service.log" }

    /// The last lines of the service's log, in one.
    var logEnd: String {
        let end = LogFile.end(logPath)
        return end.isEmpty ? "it is empty" : end
    }
}
