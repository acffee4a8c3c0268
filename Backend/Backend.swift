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
        let watched: MetricsServer?
        let routes: BackendRoutes
        let catalog: CatalogWatch
        let keys: SigningKeys
        let watch: KeyWatch?
        let sweep: AttachmentSweep?
        let pool: PostgresPool
        let closing: ClosingTime
        let phase: Lock<BackendRoutes.Phase>
        let serving: Task<Void, Never>
    }

    private let configuration: BackendConfiguration
    private let environment: BackendEnvironment
    private let poller: Poller
    private let log: Log
    private let givenStore: (any ObjectStore)?
    private let metrics = BackendMetrics()
    private let running = Lock<Running?>(nil)

    /// Makes a backend that does nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: what the operator decided.
    ///   - poller: watches its sockets; must outlive it.
    ///   - log: where it says what it does; never tokens or values of rows.
    ///   - environment: the time and chance.
    ///   - store: keeps the attachments in place of the store that the configuration names.
    package init(
        configuration: BackendConfiguration, poller: Poller, log: Log,
        environment: BackendEnvironment = BackendEnvironment(), store: (any ObjectStore)? = nil
    ) {
        givenStore = store
        self.configuration = configuration
        self.environment = environment
        self.poller = poller
        self.log = log
    }

    /// The port it listens on; 0 before the start.
    package var port: Int { running.withLock { $0?.server.port ?? 0 } }

    /// The port of `/metrics`; nil where there is none, and before the start.
    package var metricsPort: Int? { running.withLock { $0?.watched?.port } }

    /// Lets uploads in, while it is running.
    package var admission: UploadAdmission? { running.withLock { $0?.routes.admission } }

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

    /// Forgets what the ledger no longer needs, as it does every hour by itself.
    ///
    /// - Returns: how many entries there were; 0 while it is not running.
    /// - Throws: `PostgresError`, `CancellationError`.
    package func pruneLedger() async throws -> Int {
        guard let pool = running.withLock({ $0?.pool }) else { return 0 }
        return try await LedgerPruning(pool: pool, poller: poller, log: log).walk()
    }

    /// Clears up what nobody needs of attachments, as it does every ten minutes by itself.
    ///
    /// - Returns: what was done; nil while it is not running, or keeps none.
    /// - Throws: what stood in the way, `CancellationError`.
    package func sweepAttachments() async throws -> AttachmentSweep.Outcome? {
        try await running.withLock({ $0?.sweep })?.sweep()
    }

    /// Loads the keys, brings the schema `psb` up to date where that is to be done, checks the table map and listens.
    ///
    /// - Throws: `BackendError` that says what to change; nothing is left running then.
    package func start() async throws {
        let (keys, watch) = try loadKeys()
        let source = try tableSource()
        let closing = ClosingTime()
        var limits = configuration.poolLimits
        limits.closingTime = closing
        let pool = PostgresPool(
            uri: configuration.databaseURI, limits: limits,
            parameters: configuration.connectionParameters, poller: poller)
        do {
            try await prepare(pool)
            let roles = configuration.roles
            try await pool.withConnection { try await RoleRights.requireRoles(roles, on: $0) }
            let catalog = CatalogWatch(
                source: source, writer: roles.first, pool: pool, poller: poller, log: log,
                interval: configuration.catalogInterval,
                listener: CatalogListener(
                    uri: configuration.databaseURI, parameters: configuration.connectionParameters,
                    poller: poller, log: log, random: environment.random))
            try await catalog.load()
            try await checkTables(source, pool, try await catalog.knowledge().tables)
            let port = Lock(0)
            let opened = try openStore { port.withLock { $0 } }
            if let opened, opened.isService {
                try await OpenedStore.requireRights(
                    calls(of: opened), name: environment.uniqueName(),
                    until: .now + configuration.startTimeout)
            }
            if let opened {
                let transactions = transactions(pool, catalog)
                let binding = StoreBinding(store: calls(of: opened)) { statement, deadline in
                    try await transactions.alone(until: deadline) {
                        try await $0.query(statement.sql, statement.parameters, until: deadline).scalar
                    }
                }
                try await binding.requireAtStart(until: .now + configuration.startTimeout)
            }
            try serve(pool, closing, catalog, keys, watch, opened, port)
        } catch {
            await pool.close()
            if let error = error as? PostgresError {
                throw BackendError(
                    .database, "the database refuses the start: \(configuration.advised(error))", cause: error
                )
            }
            throw error
        }
        if configuration.hasDevelopmentTokens, !IPAddress.isLoopback(host: configuration.host) {
            log.warning(
                "tokens are for everybody: whoever reaches this backend gets one of any user",
                ["backend.setting": "DEV_TOKENS"])
        }
        if configuration.acceptsSyncTokens {
            log.info(
                "tokens for the sync service are good for uploads, too",
                ["backend.setting": "UPLOAD_ACCEPTS_SYNC_TOKEN"])
        }
        if configuration.hasOpenUploads {
            log.warning(
                "uploads are open: whoever reaches this backend writes as the development user",
                ["backend.setting": "DEV_OPEN_UPLOADS"])
        }
        if configuration.tls?.isInsecure == true {
            log.warning(
                "the connection to the database proves nothing of whose it is: whoever stands between can read and change all",
                ["backend.setting": "DATABASE_TLS_INSECURE"])
        }
        log.info("backend listens", ["backend.port": String(port)])
    }

    /// Stops as orderly as it can: says that it leaves, takes nothing new, lets running requests end, closes.
    ///
    /// All of it has one time (`StopBudget`), which whatever is still waited for must keep.
    ///
    /// - Parameter budget: the time for it; nil is what the configuration allows from now on.
    package func stop(by budget: StopBudget? = nil) async {
        guard let running = running.withLock({ $0.take() }) else { return }
        let budget = budget ?? StopBudget(configuration, from: .now)
        running.closing.set(budget.connectionsEnd)
        running.phase.withLock { $0 = .leaving }
        if configuration.drainDelay > .zero {
            // Cancelled, it goes on at once: the stop itself must not be skipped.
            try? await poller.sleep(until: budget.leavingEnd)
        }
        running.phase.withLock { $0 = .draining }
        running.server.stop(grace: budget.requestsEnd - .now)
        await running.serving.value
        await running.routes.readiness.close()
        await running.pool.close()
        log.info("backend stopped")
    }

    /// Reads again what may change while it runs: the table map, the keys of a folder, keys in files, and the
    /// secret of session tokens.
    ///
    /// What is wrong, by itself or against the database, leaves what was there before, and the log says so; each part for
    /// itself. Uploads in work end with the map with which they were planned.
    ///
    /// - Parameters:
    ///   - given: the keys that stand in files now; nil where none do.
    ///   - session: what session tokens are believed by, of which the secret stands in a file now; nil where none does.
    package func reload(given: GivenKeys? = nil, session: AuthenticationSettings.Session? = nil) async {
        guard let running = running.withLock({ $0 }) else { return }
        await running.watch?.look(on: poller)
        if let given {
            do throws(BackendError) {
                running.keys.replace(with: try given.set())
                log.info("the keys were read again")
            } catch {
                log.error("the keys are not taken: the former ones stay", ["keys.problem": error.message])
            }
        }
        if let session, let authenticator = running.routes.authentication.session {
            do throws(BackendError) {
                try authenticator.replace(with: session)
                log.info("the secret of session tokens was read again")
            } catch {
                log.error("the secret of session tokens is not taken", ["keys.problem": error.message])
            }
        }
        // A map in settings, and the tables that are published, do not change by it.
        guard case .file = configuration.tables else { return }
        do {
            let (source, begun) = (try tableSource(), ContinuousClock.now)
            let tables = try await running.catalog.tables(of: source)
            try await checkTables(source, running.pool, tables)
            await running.catalog.take(source, tables, at: begun)
            log.info("the table map was read again", ["backend.tables": String(tables.tables.count)])
        } catch {
            log.error("the table map is not taken: the former one stays", ["backend.problem": "\(error)"])
        }
    }

    /// Opens the database as a start does, without listening, for what an operator does by hand.
    ///
    /// Uploads are applied whole: none is cut to pieces that nobody asked for.
    ///
    /// - Parameter body: what is done; must not keep the applier.
    /// - Returns: what `body` returns.
    /// - Throws: `BackendError`, `PostgresError`, what `body` throws.
    package func withApplier<Value: Sendable>(_ body: (UploadApplier) async throws -> Value) async throws
        -> Value
    {
        let source = try tableSource()
        var limits = configuration.poolLimits
        // Whoever waits for an operator's command ends it.
        limits.patience = nil
        let pool = PostgresPool(
            uri: configuration.databaseURI, limits: limits,
            parameters: configuration.connectionParameters, poller: poller)
        do {
            try await pool.withConnection { [hasCheckpoints = configuration.hasCustomCheckpoints] in
                try await SchemaState(reading: $0).requireCurrent(hasCheckpoints: hasCheckpoints)
            }
            let roles = configuration.roles
            try await pool.withConnection { try await RoleRights.requireRoles(roles, on: $0) }
            let catalog = CatalogWatch(
                source: source, writer: roles.first, pool: pool, poller: poller, log: log)
            try await catalog.load()
            try await requireRights(pool, on: try await catalog.knowledge().tables)
            let value = try await body(applier(pool, catalog, isolates: false))
            await pool.close()
            return value
        } catch {
            await pool.close()
            throw error
        }
    }

    /// Tells what a start would refuse of files and keys, and of the database; nothing is changed.
    ///
    /// - Parameter hasDatabase: whether the database is asked, too.
    /// - Returns: what is wrong; empty if nothing is.
    /// - Throws: `CancellationError`.
    package func problems(hasDatabase: Bool) async throws -> [String] {
        var problems: [String] = []
        do throws(BackendError) {
            switch configuration.keys {
            case .given(let given): _ = try given.set()
            case .directory(let path):
                try KeyFolder(path: path).check(
                    now: Int64(environment.now()), lifetime: configuration.tokenLifetime)
            case .ephemeral: break
            }
        } catch {
            problems.append(error.message)
        }
        do {
            let source = try tableSource()
            if hasDatabase { try await checkDatabase(source) }
        } catch let error as CancellationError {
            throw error
        } catch let error as PostgresError {
            problems.append("the database: \(configuration.advised(error))")
        } catch {
            problems.append("\(error)")
        }
        return problems
    }

    /// Requires of the database what a start does, but that nothing is made or brought up to date.
    private func checkDatabase(_ source: CatalogWatch.Source) async throws {
        let pool = PostgresPool(
            uri: configuration.databaseURI, limits: configuration.poolLimits,
            parameters: configuration.connectionParameters, poller: poller)
        do {
            try await pool.withConnection { [hasCheckpoints = configuration.hasCustomCheckpoints] in
                let state = try await SchemaState(reading: $0)
                try state.refuseNewer()
                if hasCheckpoints { try state.refuseOtherCheckpoints() }
                guard state.version == BackendSchema.version, !hasCheckpoints || state.hasCheckpoints else {
                    throw BackendError(
                        .database,
                        "this database has not yet what version \(BackendSchema.version) of the schema psb needs, without "
                            + "which the tables cannot be looked at: start makes it if its role may, else the command migrate"
                    )
                }
                let missing = try await SchemaRights.missing(
                    for: state.role, hasCheckpoints: hasCheckpoints, on: $0)
                guard missing.isEmpty else { throw state.lacks(missing, hasCheckpoints: hasCheckpoints) }
            }
            let roles = configuration.roles
            try await pool.withConnection { try await RoleRights.requireRoles(roles, on: $0) }
            let catalog = CatalogWatch(
                source: source, writer: roles.first, pool: pool, poller: poller, log: log)
            try await catalog.load()
            try await checkTables(source, pool, try await catalog.knowledge().tables)
        } catch {
            await pool.close()
            throw error
        }
        await pool.close()
    }

    // MARK: Start

    /// The keys, and what has them follow their folder where they are in one.
    private func loadKeys() throws -> (SigningKeys, KeyWatch?) {
        switch configuration.keys {
        case .given(let given): return (SigningKeys(try given.set()), nil)
        case .directory(let path):
            let watch = try KeyWatch(
                KeyFolder(path: path, readFile: environment.readKeyFile),
                lifetime: configuration.tokenLifetime,
                now: environment.now, log: log)
            return (watch.keys, watch)
        case .ephemeral:
            log.warning("the signing key is of this run alone: a restart ends every token")
            return (try SigningKeys.ofThisRun(), nil)
        }
    }

    private func tableSource() throws -> CatalogWatch.Source {
        switch configuration.tables {
        case .openSchema: return .open
        case .text(let yaml):
            return .map(try TableMap(yaml: yaml, source: "table map"), name: "table map")
        case .file(let path):
            let yaml: String
            do throws(SystemError) {
                yaml = try FileBytes.text(ofFile: path)
            } catch {
                throw BackendError(.tableMap, "the table map cannot be read: \(path)", cause: error)
            }
            return .map(try TableMap(yaml: yaml, source: path), name: path)
        }
    }

    /// Waits for the database and prepares it.
    private func prepare(_ pool: PostgresPool) async throws {
        let deadline = ContinuousClock.now + configuration.startTimeout
        let (hasCheckpoints, time) = (configuration.hasCustomCheckpoints, configuration.migrationTimeout)
        while true {
            do {
                try await pool.withConnection { connection in
                    try await BackendSchema.prepare(connection, hasCheckpoints: hasCheckpoints, within: time)
                }
                break
            } catch let error as PostgresError where DatabaseVerdict(error).kind == .retry && .now < deadline
            {
                log.info("waiting for the database")
                try await poller.sleep(until: .now + .milliseconds(200))
            }
        }
        let missing = try await pool.withConnection { [settings = configuration.settings] in
            try await settings.missing(on: $0)
        }
        // Behind a pooler nobody has asked for them.
        if !missing.isEmpty, configuration.links.preparesStatements {
            log.warning(
                "the connection has other settings than were asked for, as behind a pooler: each upload sets them itself",
                ["backend.settings": missing.joined(separator: " ")])
        }
        let isPublished = try await pool.withConnection { try await BackendSchema.isPublished($0) }
        if isPublished {
            log.warning("the publication powersync includes the schema psb: publish tables of public")
        }
    }

    /// Requires of tables what a start does: that each role may write them, and that rows are seen that must be.
    private func checkTables(
        _ source: CatalogWatch.Source, _ pool: PostgresPool, _ tables: UploadTables
    ) async throws {
        try await requireRights(pool, on: tables)
        try await checkReads(source, pool, tables)
        guard configuration.roles.first == nil else { return }
        let unbound = try await pool.withConnection { try await RoleRights.unbound(tables, on: $0) }
        if !unbound.isEmpty {
            log.warning(
                "policies of these tables do not hold for the role of the connection: DB_ROLES names one that they hold for",
                ["backend.tables": unbound.joined(separator: " ")])
        }
    }

    private func requireRights(_ pool: PostgresPool, on tables: UploadTables) async throws {
        try await pool.withConnection { [roles = configuration.roles] in
            try await RoleRights.require(roles, for: tables, on: $0)
        }
    }

    private func checkReads(
        _ source: CatalogWatch.Source, _ pool: PostgresPool, _ tables: UploadTables
    ) async throws {
        guard case .map(let map, let name) = source else { return }
        let (settings, roles) = (configuration.settings, configuration.roles)
        let hiding = try await pool.withConnection { connection -> Set<Catalog.Name> in
            var hiding: Set<Catalog.Name> = []
            for role in roles.each {
                try await HiddenRows.check(map, source: name, tables, as: role, on: connection)
                try await ReadCheck.run(map, source: name, tables, settings, as: role, on: connection)
                hiding.formUnion(
                    try await HiddenRows.among(tables.attachmentTables, as: role, on: connection))
            }
            return hiding
        }
        guard !hiding.isEmpty, givenStore != nil || configuration.attachments != nil else { return }
        log.warning(
            "attachments that no row names are never removed: the database may hide rows of tables that name some",
            ["backend.tables": hiding.map { "\($0.schema).\($0.table)" }.sorted().joined(separator: " ")])
    }

    private func applier(_ pool: PostgresPool, _ catalog: CatalogWatch, isolates: Bool) -> UploadApplier {
        UploadApplier(
            tools: UploadTools(
                pool: pool, catalog: catalog,
                quota: DeadLetterQuota(
                    policy: configuration.letters, pool: pool, patience: configuration.quotaTimeout,
                    log: log),
                settings: configuration.settings, roles: configuration.roles,
                policy: configuration.retries, environment: environment, poller: poller, log: log,
                metrics: metrics),
            continuesAfterFatalError: configuration.continuesAfterFatalError, isolatesLegacyBatches: isolates,
            times: configuration.uploadTimes)
    }

    private func openStore(_ port: @escaping @Sendable () -> Int) throws(BackendError) -> OpenedStore? {
        if let givenStore { return OpenedStore(givenStore) }
        guard let attachments = configuration.attachments else { return nil }
        return try OpenedStore(
            attachments, environment: environment, bytesPerSecond: configuration.bodyBytesPerSecond,
            port: port,
            log: log)
    }

    private func transactions(_ pool: PostgresPool, _ catalog: CatalogWatch) -> AttachmentTransactions {
        AttachmentTransactions(
            pool: pool, catalog: catalog, settings: configuration.settings, roles: configuration.roles)
    }

    private func calls(of opened: OpenedStore) -> StoreCalls {
        StoreCalls(store: opened.store, environment: environment, poller: poller, log: log)
    }

    private func serve(
        _ pool: PostgresPool, _ closing: ClosingTime, _ catalog: CatalogWatch, _ keys: SigningKeys,
        _ watch: KeyWatch?, _ opened: OpenedStore?, _ port: Lock<Int>
    ) throws {
        let lookForUnknown: @Sendable () async -> Bool = { [poller] in
            await watch?.lookForUnknown(on: poller) ?? false
        }
        let authentication = try Authentication.make(
            configuration, keys: keys, environment: environment, poller: poller, log: log,
            lookForUnknown: lookForUnknown)
        let watched = try configuration.links.metricsPort.map {
            try MetricsServer(configuration, port: $0, metrics: metrics, pool: pool, poller: poller)
        }
        let server: HTTPServer
        do {
            server = try HTTPServer(
                configuration: configuration.server(environment), poller: poller)
        } catch {
            throw BackendError(.address, "\(error)", cause: error)
        }
        port.withLock { $0 = server.port }
        let phase = Lock(BackendRoutes.Phase.running)
        let attachments = opened.map { opened in
            AttachmentService(
                transactions: transactions(pool, catalog), store: calls(of: opened),
                policy: configuration.attachments?.policy ?? AttachmentPolicy(), environment: environment,
                log: log, turns: UserTurns(limit: 2, poller: poller),
                joins: UserTurns(limit: 1, poller: poller))
        }
        let routes = BackendRoutes(
            configuration: configuration,
            applier: applier(pool, catalog, isolates: configuration.isolatesLegacyBatches),
            mint: TokenMint(keys: keys, configuration: configuration, environment: environment),
            authentication: authentication,
            readiness: Readiness(configuration: configuration, poller: poller), phase: phase,
            attachments: attachments, blobs: opened?.blobs)
        let sweep = attachments.map { AttachmentSweep($0, clockTolerance: configuration.clockTolerance) }
        let pruning = LedgerPruning(pool: pool, poller: poller, log: log)
        let letterPruning = DeadLetterPruning(
            policy: configuration.letters, pool: pool, poller: poller, log: log)
        let serving = Task { [poller] in
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await pruning.run() }
                group.addTask { await catalog.run() }
                group.addTask { await letterPruning.run() }
                if let sweep { group.addTask { await sweep.run() } }
                if let watch { group.addTask { await watch.run(poller) } }
                if let watched { group.addTask { await watched.run() } }
                await server.run { await routes.answer($0, $1) }
                group.cancelAll()
            }
        }
        running.withLock {
            $0 = Running(
                server: server, watched: watched, routes: routes, catalog: catalog, keys: keys, watch: watch,
                sweep: sweep, pool: pool, closing: closing, phase: phase, serving: serving)
        }
    }
}
