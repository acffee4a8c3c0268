import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPServer
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncSystem

/// A sync service in this process: it replicates a Postgres database into buckets and streams them to
/// clients.
///
/// It is for development and tests and runs alone on its state file. Everything it promises clients survives the end of
/// the process at any moment, and that the state is made anew.
package final class MockService: Sendable {
    private struct Running: Sendable {
        let server: HTTPServer
        let metricsServer: HTTPServer?
        let router: ServiceRouter
        let publisher: Publisher
        let replicating: Task<Void, Never>
        let serving: Task<Void, Never>
    }

    /// What stands on one state; another source has another.
    private struct Parts: Sendable {
        let store: ServiceStore
        let source: PostgresSource
        let answering: ServiceRouter.State
        let metricsRouter: MetricsRouter
        let work: [ReplicationWork]
        let upkeep: StoreUpkeep

        func close() async {
            await answering.writeCheckpoints.close()
            await source.close()
            await store.close()
        }
    }

    private let configuration: MockServiceConfiguration
    private let poller: Poller
    private let log: Log
    private let clock: ServiceClock
    private let running = Lock<Running?>(nil)
    private let parts = Lock<Parts?>(nil)

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

    /// The state, so that tests can keep its readers busy; nil while it is made anew.
    package var store: ServiceStore? { parts.withLock { $0?.store } }

    /// The newest checkpoint that clients are served; nil before the first.
    package var checkpoint: StoredCheckpoint? { running.withLock { $0?.publisher.current?.checkpoint } }

    /// Starts and returns once there is a checkpoint to serve, which takes as long as Postgres is away.
    ///
    /// A state of this source is served at once, also that of a former sync configuration, until the one of now is built
    /// beside it. While Postgres is away, a state of the same address is taken for one of this source.
    ///
    /// - Throws: `SyncConfigError` or `ConfigurationError` for what cannot be used, `HTTPServerError` for a port that is
    ///   taken, `StoreError` for a state that another process uses, what opening it throws, and `CancellationError` if the
    ///   service is stopped before it is ready.
    package func start() async throws {
        let syncConfig = configuration.syncConfig
        let config = SyncConfig.compile(syncConfig.text)
        guard let plan = config.plan else { throw SyncConfigError(config, of: syncConfig) }
        for diagnostic in syncConfig.diagnostics(of: config) {
            log.warning(
                "the sync config may not do what was meant",
                ["sync_config.place": "\(syncConfig.file):\(diagnostic.line)"])
        }
        let opener = StateOpener(
            configuration: configuration, poller: poller, log: log.labelled("state"), clock: clock)
        let state = try await opener.open(try StateFile(configuration.statePath))
        do {
            try await start(plan, state, opener)
        } catch {
            await stop()
            await state.store.close()
            throw error
        }
    }

    private func start(
        _ plan: SyncPlan, _ state: StateOpener.State, _ opener: StateOpener
    ) async throws {
        let publisher = Publisher()
        let alarm = Alarm(clock)
        let metrics = ServiceMetrics()
        let health = ServiceHealth(liveness: configuration.linkTimes.liveness)
        let slots = ConnectionSlots(limit: configuration.maxConcurrentConnections)
        let server = try HTTPServer(configuration: configuration.server, poller: poller)
        let metricsServer = try configuration.metricsPort.map { port in
            try HTTPServer(
                configuration: HTTPServerConfiguration(
                    host: configuration.host, port: port, name: "the sync service's metrics",
                    maxConnections: 16), poller: poller)
        }
        let lines = LineBudget(limit: configuration.maxLinesInFlightBytes)
        let make: @Sendable (StateOpener.State) async throws -> Parts = { [self] state in
            // First what can fail.
            let store = state.store
            let frames = FrameStore(limit: store.limits.keptFrameBytes, lines: lines) {
                try await store.frame($0)
            }
            let work = try await deployed(plan, state, publisher, frames, metrics, health)
            let source = PostgresSource(
                configuration, poller: poller, log: log.labelled("replication"), clock: clock)
            let streams = StreamHandler(
                store: store, frames: frames, publisher: publisher, alarm: alarm, slots: slots,
                metrics: metrics, lines: lines,
                limits: RequestLimits(
                    buckets: configuration.maxBucketsPerConnection,
                    results: configuration.maxParameterQueryResults),
                log: log.labelled("sync"))
            return Parts(
                store: state.store, source: source,
                answering: ServiceRouter.State(
                    writeCheckpoints: WriteCheckpoints(
                        source: source, callsAtOnce: configuration.source.poolSize, store: state.store,
                        publisher: publisher, clock: clock, clients: configuration.maxClientsPerUser),
                    streams: streams, admin: AdminRoutes.State(store: state.store, pool: source.pool)),
                metricsRouter: MetricsRouter(
                    metrics: metrics, slots: slots, publisher: publisher, store: state.store,
                    clock: clock),
                work: work,
                upkeep: StoreUpkeep(
                    state.store, clock: clock, log: log.labelled("state"),
                    served: { publisher.current?.stream }))
        }
        let client = try HTTPClient()
        do {
            let first = try await make(state)
            parts.withLock { $0 = first }
        } catch {
            client.close()
            throw error
        }
        let router = router(publisher, client, health)
        let probeFiles = configuration.probes.folder.map {
            ProbeFiles(folder: $0, poller: poller, log: log.labelled("probes"), answer: router.probe)
        }
        probeFiles?.clear()
        let replicating = Task {
            async let writing: Void? = probeFiles?.run()
            async let purging: Void = purgeWriteCheckpoints()
            await replicate(state.file, opener, publisher, make)
            _ = await writing
            await purging
        }
        let serving = Task {
            await withTaskGroup(of: Void.self) { ringing in
                // As long as there is a stream.
                ringing.addTask { await alarm.run() }
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await server.run { await router.handle($0, $1) } }
                    if let metricsServer {
                        group.addTask {
                            await metricsServer.run { [self] request, _ in
                                let router = parts.withLock { $0?.metricsRouter }
                                return router?.handle(request) ?? HTTPResponse(status: 503)
                            }
                        }
                    }
                    await group.waitForAll()
                }
                ringing.cancelAll()
            }
            client.close()
        }
        running.withLock {
            $0 = Running(
                server: server, metricsServer: metricsServer, router: router, publisher: publisher,
                replicating: replicating, serving: serving)
        }
        log.info("listening", ["http.host": configuration.host, "http.port": "\(server.port)"])
        _ = try await publisher.next(after: 0)
    }

    /// What is replicated: the configuration, and the one that clients are served from meanwhile; publishes what the
    /// state has.
    private func deployed(
        _ plan: SyncPlan, _ state: StateOpener.State, _ publisher: Publisher, _ frames: FrameStore,
        _ metrics: ServiceMetrics, _ health: ServiceHealth
    ) async throws -> [ReplicationWork] {
        let hash = SyncPlan.hash(of: configuration.syncConfig.text)
        func work(
            _ plan: SyncPlan, _ text: String, _ hash: String, formerStream: StreamNumber?
        ) -> ReplicationWork {
            let log = log.labelled("replication")
            return ReplicationWork(
                plan: plan, configText: text, configHash: hash, formerStream: formerStream,
                store: state.store, publisher: publisher, frames: frames, metrics: metrics,
                health: health.link(hash), log: log, warnings: RowWarningLog(log))
        }
        var deployed = [work(plan, configuration.syncConfig.text, hash, formerStream: nil)]
        guard let active = try await state.store.deploy(configHash: hash) else { return deployed }
        var served = plan
        if active.configHash != hash {
            // Buckets of a time when its text meant something else are not those that it means now.
            guard SyncPlan.hash(of: active.config) == active.configHash,
                let former = SyncConfig.compile(active.config).plan
            else {
                log.warning("the former configuration cannot be served any more")
                return deployed
            }
            served = former
            log.info("the former configuration is served until the one of now is built")
            deployed.append(work(served, active.config, active.configHash, formerStream: active.number))
        }
        if state.mayBeServed {
            publisher.publish(
                DurableCommit(
                    served: try await state.store.serving(served, by: active.number),
                    checkpoint: active.checkpoint, changed: .any, lookups: .any, time: nil))
            // Until the source is heard, nobody knows how old that is.
            health.link(active.configHash).isDown()
        }
        return deployed
    }

    /// Replicates until the task is cancelled.
    ///
    /// When the source turns out to be another than that of the state, nobody is served from the state any more,
    /// and everything is made anew.
    private func replicate(
        _ file: StateFile, _ opener: StateOpener, _ publisher: Publisher,
        _ make: @Sendable (StateOpener.State) async throws -> Parts
    ) async {
        var delay = RetryDelay()
        while let (source, work, upkeep) = parts.withLock({ $0.map { ($0.source, $0.work, $0.upkeep) } }) {
            let begun = ContinuousClock.now
            guard await isOfAnotherSource(source, work, upkeep) else { return }
            publisher.retract()
            await closeParts()
            // An address behind which the sources take turns must not fill the disk with states.
            if ContinuousClock.now - begun > .seconds(60) { delay.reset() }
            var isSetAside = false
            repeat {
                do {
                    try await poller.sleep(
                        until: .now + delay.next(after: StoreError.noStream, jitter: clock.random()))
                    if !isSetAside { try await opener.setAside(file) }
                    isSetAside = true
                    let state = try await opener.open(file)
                    do {
                        let made = try await make(state)
                        parts.withLock { $0 = made }
                    } catch {
                        await state.store.close()
                        throw error
                    }
                } catch is CancellationError {
                    return
                } catch {
                    log.error(
                        "the state cannot be made anew and this will be tried again", ["error": "\(error)"])
                }
            } while parts.withLock { $0 == nil }
        }
    }

    /// Deletes every hour, until the task is cancelled, what clients asked for longer ago than is kept.
    private func purgeWriteCheckpoints() async {
        while (try? await clock.sleep(clock.monotonic() + 3600)) != nil {
            guard let writeCheckpoints = parts.withLock({ $0?.answering.writeCheckpoints }) else { continue }
            do {
                let count = try await writeCheckpoints.purge(
                    keeping: configuration.checkpointRequestRetention)
                if count > 0 { log.debug("deleted requested write checkpoints", ["count": "\(count)"]) }
            } catch is CancellationError {
                return
            } catch {
                log.warning(
                    "requested write checkpoints cannot be deleted and this will be tried again",
                    ["error": "\(error)"])
            }
        }
    }

    private func closeParts() async {
        let parts = parts.withLock { parts in
            defer { parts = nil }
            return parts
        }
        await parts?.close()
    }

    /// Replicates, and keeps the state small meanwhile; both have ended when this returns.
    private func isOfAnotherSource(
        _ source: any ChangeSource, _ work: [ReplicationWork], _ upkeep: StoreUpkeep
    ) async -> Bool {
        await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await upkeep.run()
                return false
            }
            for work in work {
                group.addTask { [log] in
                    do {
                        try await source.replicate(work)
                        return false
                    } catch is OtherSource {
                        return true
                    } catch {
                        log.debug("replication ended", ["error": "\(error)"])
                        return false
                    }
                }
            }
            for await isOther in group where isOther {
                group.cancelAll()
                return true
            }
            return false
        }
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
    ///
    /// Requests that have arrived are answered if that takes no longer than the configuration allows.
    package func stop() async {
        let stopped = running.withLock { running in
            defer { running = nil }
            return running
        }
        guard let stopped else { return }
        stopped.publisher.close()
        stopped.server.stop(grace: configuration.grace)
        stopped.metricsServer?.stop(grace: .zero)
        stopped.replicating.cancel()
        await stopped.serving.value
        await stopped.replicating.value
        await closeParts()
    }

    private func router(
        _ publisher: Publisher, _ client: HTTPClient, _ health: ServiceHealth
    ) -> ServiceRouter {
        let authenticator = Authenticator(configuration, client, clock: clock, log: log.labelled("keys"))
        return ServiceRouter(
            authenticator: authenticator, publisher: publisher, health: health, clock: clock,
            checkpointPlaces: TaskPlaces(configuration.checkpointRequests),
            answersProbes: configuration.probes.usesHTTP,
            admin: AdminRoutes(configuration, publisher: publisher, health: health, clock: clock),
            state: { [parts] in parts.withLock { $0?.answering } }, log: log.labelled("http"))
    }
}
