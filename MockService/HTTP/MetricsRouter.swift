import PowerSyncHTTP
import PowerSyncServiceEngine

/// Answers Prometheus: the path `/metrics` on a port of its own.
struct MetricsRouter: Sendable {
    let metrics: ServiceMetrics
    let slots: ConnectionSlots
    let publisher: Publisher
    let store: ServiceStore
    let clock: ServiceClock

    /// Answers one request.
    func handle(_ request: HTTPRequest) -> HTTPResponse {
        guard request.path == "/metrics", request.method == "GET" || request.method == "HEAD" else {
            return HTTPResponse(
                status: 404, fields: ["content-type": "text/plain; charset=utf-8"],
                body: .bytes(Array("The metrics are at /metrics.\n".utf8)))
        }
        var gauges = ServiceMetrics.Gauges()
        gauges.connections = slots.count
        gauges.sessionsBehind = publisher.sessionsBehind
        gauges.sessionWakeups = publisher.sessionWakeups
        gauges.storedBytes = store.size()
        return HTTPResponse(
            status: 200, fields: ["content-type": "text/plain; version=0.0.4; charset=utf-8"],
            body: .bytes(Array(metrics.text(gauges, now: clock.now()).utf8)))
    }
}
