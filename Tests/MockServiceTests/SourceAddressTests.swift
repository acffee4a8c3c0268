import PowerSyncCommandLine
import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// The source is not connected to at addresses that the configuration rejects (service 8).
@Suite(.patient())
struct SourceAddressTests {
    private func configuration(source: String, state: String) throws -> MockServiceConfiguration {
        try ConfigurationReader.read(
            """
            replication: { connections: [{ type: postgresql, \(source) }] }
            storage: { type: sqlite, path: '\(state)' }
            sync_config: { content: "config: {edition: 3}\\nstreams: {s: {query: SELECT * FROM notes}}" }
            """, name: "powersync.yaml", inputs: .init(environment: [:], readFile: { _ in "" })
        ).service
    }

    /// Starts a service that cannot become ready, until its log says something.
    private func run(_ configuration: MockServiceConfiguration, until words: String) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let lines = Lock<[String]>([])
        var configuration = configuration
        configuration.host = "127.0.0.1"
        configuration.port = 0
        let service = MockService(
            configuration: configuration, poller: poller,
            log: Log(label: "test", level: .debug) { line in lines.withLock { $0.append(line) } })
        let start = Task { try await service.start() }
        try await wait(for: "the log to say: \(words)") {
            lines.withLock { $0 }
        } until: {
            $0.contains { $0.contains(words) }
        }
        start.cancel()
        await service.stop()
        _ = await start.result
    }

    @Test func aSourceIsNotConnectedToInARejectedRange() async throws {
        let folder = try TemporaryDirectory(prefix: "rejected-")
        defer { folder.remove() }
        let server = try RawServer { _ = $0.receive() }
        for (index, host) in ["127.0.0.1", "localhost"].enumerated() {
            let uri = "uri: 'postgresql://u@\(host):\(server.port)/d', sslmode: disable"
            try await run(
                configuration(
                    source: "\(uri), reject_ip_ranges: [local]", state: "\(folder.path)/\(index).db"),
                until: "is in a range that the configuration rejects")
        }
        #expect(server.connections == 0)
        try await run(
            configuration(
                source: "uri: 'postgresql://u@127.0.0.1:\(server.port)/d', sslmode: disable, "
                    + "reject_ip_ranges: [10.0.0.0/8]", state: "\(folder.path)/2.db"),
            until: "closed the connection")
        #expect(server.connections > 0)
    }
}
