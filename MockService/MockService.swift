import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPServer
import PowerSyncPostgres
import PowerSyncSystem

/// A sync service in this process: it replicates a Postgres database into buckets and streams them to
/// clients.
///
/// It is for development and tests and runs alone on its state file. Everything it promises clients survives
/// the end of
/// the process at any moment.
package final class MockService: Sendable {
    private struct Running: Sendable {
        let server: HTTPServer
        let metricsServer: HTTPServer?
        let store: ServiceStore
        let hub: CheckpointHub
        let router: ServiceRouter
        let task: Task<Void, Never>
    }

    private let configuration: MockServiceConfiguration
    private let poller: Poller
    private let log: Log
    private let clock: ServiceClock
    private let running = Lock<Running?>(nil)

    /// Makes a service that does nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: What it serves.
    ///   - poller: Waits for sockets and times; must outlive the service.
    ///   - log: Gets its lines.
    ///   - clock: Time and randomness; the system's by default.
    package init(
        configuration: MockServiceConfiguration, poller: Poller, log: Log, clock: ServiceClock? = nil
    ) {
        self.configuration = configuration
        self.poller = poller
        self.log = log
        self.clock = clock ?? .system(poller)
    }

    /// The port it listens on; 0 before `start`.
    package var port: Int { running.withLock { $0?.server.port ?? 0 } }

    /// The port of the metrics; nil without, or before `start`.
    package var metricsPort: Int? { running.withLock { $0?.metricsServer?.port } }

    /// The newest checkpoint that clients are served; nil before the first.
    package var checkpoint: StoredCheckpoint? { running.withLock { $0?.hub.current?.checkpoint } }

    /// Starts and returns once there is a checkpoint to serve, which takes as long as Postgres is away.
    ///
    /// A state of the same sync configuration is served at once, whether Postgres is there or not.
    ///
    /// - Throws: `SyncConfigError` or `ConfigurationError` for what cannot be used, `HTTPServerError` for a
    ///   port that is
    ///   taken, what opening the state file throws, and `CancellationError` if the service is stopped before
    ///   it is ready.
    package func start() async throws {
        let config = try SyncConfigReader.compile(configuration.syncConfig)
        let store = try await ServiceStore.open(
            path: configuration.statePath, readers: configuration.maxDataFetchConcurrency)
        do {
            try await start(config, store)
        } catch {
            await stop()
            await store.close()
            throw error
        }
    }

    private func start(_ config: CompiledSyncConfig, _ store: ServiceStore) async throws {
        let hub = CheckpointHub()
        let hash = Hexadecimal.encode(Digest.sha256(Array(configuration.syncConfig.utf8)))
        if let active = try await store.activeStream(configHash: hash) {
            hub.publish(stream: active.number, config: config, active.checkpoint)
        }
        let server = try HTTPServer(
            configuration: HTTPServerConfiguration(
                host: configuration.host, port: configuration.port, name: "the sync service"), poller: poller)
        let metrics = ServiceMetrics()
        let slots = ConnectionSlots(limit: configuration.maxConcurrentConnections)
        let metricsServer = try configuration.metricsPort.map { port in
            try HTTPServer(
                configuration: HTTPServerConfiguration(
                    host: configuration.host, port: port, name: "the sync service's metrics"), poller: poller)
        }
        let metricsRouter = MetricsRouter(
            metrics: metrics, slots: slots, hub: hub, store: store, clock: clock)
        let replicator = Replicator(
            source: configuration.source, store: store, hub: hub, poller: poller,
            log: log.labelled("replication"), metrics: metrics,
            config: config, configHash: hash, slotPrefix: configuration.slotNamePrefix,
            heartbeat: configuration.heartbeat, random: clock.random)
        let pool = PostgresPool(
            uri: configuration.source.uri, size: 3, parameters: configuration.source.statementParameters,
            poller: poller)
        let client = try HTTPClient()
        let router = router(store, hub, pool, client, slots, metrics)
        let log = log
        let task = Task {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    do {
                        try await replicator.run()
                    } catch {
                        log.debug("replication ended", ["error": "\(error)"])
                    }
                }
                group.addTask { await server.run { await router.handle($0, $1) } }
                if let metricsServer {
                    group.addTask {
                        await metricsServer.run { request, _ in await metricsRouter.handle(request) }
                    }
                }
                await group.waitForAll()
            }
            client.close()
            await pool.close()
        }
        running.withLock {
            $0 = Running(
                server: server, metricsServer: metricsServer, store: store, hub: hub, router: router,
                task: task)
        }
        log.info("listening", ["http.host": configuration.host, "http.port": "\(server.port)"])
        _ = try await hub.next(after: 0)
    }

    /// Answers one request as the server does, without a socket.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - body: Its body.
    /// - Returns: The answer; 503 if the service is not running.
    package func handle(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        guard let router = running.withLock({ $0?.router }) else { return HTTPResponse(status: 503) }
        return await router.handle(request, body)
    }

    /// Ends streams and replication, and closes the state; does nothing if the service is not running.
    package func stop() async {
        let stopped = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let stopped else { return }
        stopped.hub.close()
        stopped.server.stop(grace: .seconds(2))
        stopped.metricsServer?.stop(grace: .zero)
        stopped.task.cancel()
        await stopped.task.value
        await stopped.store.close()
    }

    private func router(
        _ store: ServiceStore, _ hub: CheckpointHub, _ pool: PostgresPool, _ client: HTTPClient,
        _ slots: ConnectionSlots, _ metrics: ServiceMetrics
    ) -> ServiceRouter {
        let remoteKeys = configuration.jwksURIs.map { uri in
            RemoteKeys(uri: uri, now: clock.now) { uri, timeout in
                var request = HTTPClientRequest(url: uri)
                request.fields["accept"] = "application/json"
                request.totalTimeout = timeout
                let response = try await client.send(request, bodyLimit: 1 << 20)
                guard response.status == 200 else {
                    throw AuthorizationError("PSYNC_S2204", "The answer has status \(response.status)")
                }
                return response.body
            }
        }
        let authenticator = Authenticator(
            verifier: TokenVerifier(audience: configuration.audience), staticKeys: configuration.keys,
            remoteKeys: remoteKeys, now: clock.now)
        let streams = StreamHandler(
            store: store, hub: hub, clock: clock, slots: slots, metrics: metrics,
            bucketLimit: configuration.maxBucketsPerConnection, log: log.labelled("sync"))
        return ServiceRouter(
            authenticator: authenticator, hub: hub, clock: clock,
            writeCheckpoints: WriteCheckpoints(pool: pool, store: store, hub: hub), streams: streams,
            log: log.labelled("http"))
    }
}
