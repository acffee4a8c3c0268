import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncPostgres
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The upload backend as a value: applies uploads to Postgres and mints tokens, until it is stopped.
///
/// ```swift
/// let backend = Backend(configuration: configuration, poller: poller, log: log)
/// try await backend.start()
/// // http://127.0.0.1:\(backend.port)/api/data
/// await backend.stop()
/// ```
package final class Backend: Sendable {
    private struct Running: Sendable {
        let server: HTTPServer
        let routes: BackendRoutes
        let pool: PostgresPool
        let phase: Lock<BackendRoutes.Phase>
        let serving: Task<Void, Never>
    }

    private let configuration: BackendConfiguration
    private let environment: BackendEnvironment
    private let poller: Poller
    private let log: Log
    private let running = Lock<Running?>(nil)

    /// Makes a backend that does nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: what the operator decided.
    ///   - poller: watches its sockets; must outlive it.
    ///   - log: where it says what it does; never tokens or values of rows.
    ///   - environment: the time and chance.
    package init(
        configuration: BackendConfiguration, poller: Poller, log: Log,
        environment: BackendEnvironment = BackendEnvironment()
    ) {
        self.configuration = configuration
        self.environment = environment
        self.poller = poller
        self.log = log
    }

    /// The port it listens on; 0 before the start.
    package var port: Int { running.withLock { $0?.server.port ?? 0 } }

    /// Answers a request as the server does, without a socket between; 503 while it is not running.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - body: its body.
    /// - Returns: the answer.
    package func answer(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        guard let routes = running.withLock({ $0?.routes }) else {
            let problem = Problem.unavailable("draining", "The backend is not running", retryAfter: 1)
            return problem.response(requestID: environment.uniqueName())
        }
        return await routes.answer(request, body)
    }

    /// Loads the keys, brings the schema `psb` up to date, checks the table map and listens.
    ///
    /// - Throws: `BackendError` that says what to change; nothing is left running then.
    package func start() async throws {
        let keys = try loadKeys()
        let source = try tableSource()
        let pool = PostgresPool(
            uri: configuration.databaseURI, size: configuration.poolSize,
            parameters: configuration.connectionParameters, poller: poller)
        do {
            try await prepare(pool)
            let schema = SchemaWatch(source: source, pool: pool, poller: poller, log: log)
            try await schema.load()
            try serve(pool, schema, keys)
        } catch {
            await pool.close()
            if let error = error as? PostgresError {
                throw BackendError(.database, "the database refuses the start: \(error)", cause: error)
            }
            throw error
        }
        log.info("backend listens", ["backend.port": String(port)])
    }

    /// Stops as orderly as it can: says that it leaves, takes nothing new, lets running requests end, closes.
    package func stop() async {
        guard let running = running.withLock({ $0.take() }) else { return }
        running.phase.withLock { $0 = .leaving }
        if configuration.drainDelay > .zero {
            // Cancelled, it goes on at once: the stop itself must not be skipped.
            try? await poller.sleep(until: .now + configuration.drainDelay)
        }
        running.phase.withLock { $0 = .draining }
        running.server.stop(grace: configuration.grace)
        await running.serving.value
        await running.pool.close()
        log.info("backend stopped")
    }

    // MARK: Start

    private func loadKeys() throws -> SigningKeys {
        switch configuration.keys {
        case .key(let text): return try SigningKeys([try SigningKeys.key(text)])
        case .directory(let path): return try SigningKeys(try KeyDirectory(path: path).keys(creating: .ES256))
        case .ephemeral:
            log.warning("the signing key is of this run alone: a restart ends every token")
            return try SigningKeys.ofThisRun()
        }
    }

    private func tableSource() throws -> SchemaWatch.Source {
        switch configuration.tables {
        case .openSchema: return .open
        case .text(let yaml):
            return .map(try TableMap(yaml: yaml, source: "table map"), name: "table map")
        case .file(let path):
            let yaml: String
            do {
                yaml = try String(contentsOfFile: path, encoding: .utf8)
            } catch {
                throw BackendError(.tableMap, "the table map cannot be read: \(path)", cause: error)
            }
            return .map(try TableMap(yaml: yaml, source: path), name: path)
        }
    }

    /// Waits for the database and prepares it.
    private func prepare(_ pool: PostgresPool) async throws {
        let deadline = ContinuousClock.now + configuration.startTimeout
        let hasCheckpoints = configuration.hasCustomCheckpoints
        while true {
            do {
                try await pool.withConnection { connection in
                    try await BackendSchema.migrate(connection, hasCheckpoints: hasCheckpoints)
                }
                break
            } catch let error as PostgresError where DatabaseVerdict(error).kind == .retry && .now < deadline
            {
                log.info("waiting for the database")
                try await poller.sleep(until: .now + .milliseconds(200))
            }
        }
        let isPublished = try await pool.withConnection { try await BackendSchema.isPublished($0) }
        if isPublished {
            log.warning("the publication powersync includes the schema psb: publish tables of public")
        }
    }

    private func serve(_ pool: PostgresPool, _ schema: SchemaWatch, _ keys: SigningKeys) throws {
        let server: HTTPServer
        do {
            server = try HTTPServer(
                configuration: HTTPServerConfiguration(host: configuration.host, port: configuration.port),
                poller: poller)
        } catch {
            throw BackendError(.address, "\(error)", cause: error)
        }
        let phase = Lock(BackendRoutes.Phase.running)
        let routes = BackendRoutes(
            configuration: configuration,
            applier: UploadApplier(
                tools: UploadTools(
                    pool: pool, schema: schema, policy: configuration.retries, environment: environment,
                    poller: poller, log: log),
                continuesAfterFatalError: configuration.continuesAfterFatalError,
                isolatesLegacyBatches: configuration.isolatesLegacyBatches),
            mint: TokenMint(keys: keys, configuration: configuration, environment: environment),
            readiness: Readiness(pool: pool, poller: poller), phase: phase)
        let pruning = LedgerPruning(pool: pool, poller: poller, log: log)
        let serving = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await pruning.run() }
                await server.run { await routes.answer($0, $1) }
                group.cancelAll()
            }
        }
        running.withLock {
            $0 = Running(server: server, routes: routes, pool: pool, phase: phase, serving: serving)
        }
    }
}
