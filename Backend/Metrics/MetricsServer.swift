import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncPostgres
import PowerSyncSystem

/// Serves `/metrics` on a port of its own, which is not for everybody (backend 8.4; METRICS_PORT).
struct MetricsServer: Sendable {
    /// Whoever watches comes seldom, and with few connections.
    static let mostConnections = 16

    private let server: HTTPServer
    private let metrics: BackendMetrics
    private let gauges: DatabaseGauges
    private let pool: PostgresPool
    private let poolSize: Int
    /// The names by which it may be asked; nil allows all.
    private let hosts: HostPolicy?

    /// Listens; answers once it runs.
    ///
    /// - Parameters:
    ///   - configuration: where, and how many connections the pool may have.
    ///   - port: the port; 0 is any.
    ///   - metrics: what was counted.
    ///   - pool: asks the database, and is told of itself.
    ///   - poller: of the program.
    /// - Throws: `BackendError` with `.address`.
    init(
        _ configuration: BackendConfiguration, port: Int, metrics: BackendMetrics, pool: PostgresPool,
        poller: Poller
    ) throws(BackendError) {
        var listening = HTTPServerConfiguration(
            host: configuration.links.metricsHost, port: port, name: "the server of metrics")
        listening.headerTimeout = configuration.headerTimeout
        listening.maxConnections = Self.mostConnections
        do {
            server = try HTTPServer(configuration: listening, poller: poller)
        } catch {
            throw BackendError(.address, "\(error) (METRICS_HOST, METRICS_PORT)", cause: error)
        }
        self.metrics = metrics
        self.pool = pool
        gauges = DatabaseGauges(pool)
        poolSize = configuration.poolSize
        // A page may have its own name lead to this machine. Where other machines may ask, they do so by names that
        // nobody knows here.
        let host = configuration.links.metricsHost
        hosts = IPAddress.isLoopback(host: host) ? HostPolicy(names: [host]) : nil
    }

    /// The port it listens on.
    var port: Int { server.port }

    /// Serves until its task is cancelled.
    func run() async {
        await server.run { request, _ in await answer(request) }
        await gauges.close()
    }

    private func answer(_ request: HTTPRequest) async -> HTTPResponse {
        guard hosts?.allows(request.fields["host"]) != false else { return HTTPResponse(status: 403) }
        guard request.path == "/metrics" else { return HTTPResponse(status: 404) }
        guard ["GET", "HEAD"].contains(request.method) else {
            return HTTPResponse(status: 405, fields: ["allow": "GET, HEAD"])
        }
        return HTTPResponse(
            status: 200, fields: ["content-type": PrometheusPage.type, "cache-control": "no-store"],
            body: .bytes(Array(await page().utf8)))
    }

    /// The page of this moment.
    private func page() async -> String {
        var page = PrometheusPage()
        page.gauge(
            "build_info", "The version of the program.", [([("version", PackageVersion.current)], "1")])
        metrics.write(to: &page)
        let connections = await pool.statistics
        page.gauge("db_pool_size", "The most connections to the database.", [([], String(poolSize))])
        page.gauge(
            "db_pool_busy", "Connections that are in use.",
            [([], String(connections.open - connections.idle))])
        page.gauge("db_pool_waiting", "Callers that wait for one.", [([], String(connections.waiting))])
        if let reading = await gauges.reading() { Self.write(reading, to: &page) }
        return page.text
    }

    private static func write(_ reading: DatabaseGauges.Reading, to page: inout PrometheusPage) {
        page.gauge(
            "dead_letters_open", "Refused uploads that nobody has seen to.", [([], reading.openLetters)])
        page.gauge(
            "dead_letter_oldest_seconds", "How long ago the oldest of them came.",
            [([], reading.oldestSeconds)])
        if let lag = reading.slotLag {
            page.gauge(
                "replication_slot_lag_bytes", "The log that the slot furthest behind keeps.", [([], lag)])
        }
        page.gauge(
            "replication_slot_status", "Slots by the state of the log that they need.",
            DatabaseGauges.states.map { ([("status", $0)], reading.slots[$0] ?? "0") })
    }
}
