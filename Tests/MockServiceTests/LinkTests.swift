import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Links to the source that are open and dead (service 7.8, 1.9).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LinkTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config

    private static func shorten(_ configuration: inout MockServiceConfiguration) {
        configuration.linkTimes.statement = .milliseconds(500)
        configuration.linkTimes.status = .milliseconds(100)
        configuration.linkTimes.silence = .milliseconds(500)
    }

    private static func readiness(_ service: TestService) async throws -> Int {
        try await service.send("GET", "/probes/readiness", token: "").status
    }

    @Test func patienceDoublesWhileLinksThatWereMadeAgainBringNoCommit() {
        var times = LinkTimes()
        times.silence = .seconds(15)
        times.longestSilence = .seconds(100)
        var patience = LinkPatience(times)
        var seen: [Duration] = []
        for _ in 0..<5 {
            seen.append(patience.current)
            patience.wasSilent()
        }
        #expect(seen == [15, 15, 30, 60, 100].map { .seconds($0) })
        patience.committed()
        #expect(patience == LinkPatience(times))
    }

    /// The link passes nothing any more: everybody keeps what there is, the probe tells, and what came meanwhile arrives.
    @Test func aBlackHoleIsNoticedAndNothingIsMissed() async throws {
        try await TestCluster.withServer { server in
            let proxy = try PostgresProxy(to: server.port)
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config) { configuration in
                    Self.shorten(&configuration)
                    configuration.source = SourceDatabase(
                        uri: service.uri, parameters: ["host": "127.0.0.1", "port": "\(proxy.port)"])
                }
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                #expect(try await Self.readiness(service) == 200)
                proxy.becomeHole()
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await wait(for: "the probe to tell") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 400
                }
                #expect(try await service.send("GET", "/probes/liveness", token: "").status == 200)
                // Nobody waits for ever: neither a request nor the service.
                let answer = try await service.send("GET", "/write-checkpoint2.json?client_id=c")
                #expect(answer.status == 500)
                let meanwhile = try await service.open()
                try await meanwhile.holds(["lists/l1"])
                proxy.heal()
                try await stream.holds(["lists/l1", "lists/l3"])
                try await meanwhile.holds(["lists/l1", "lists/l3"])
                try await wait(for: "the probe to be green") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 200
                }
                #expect(stream.end == nil)
            }
        }
    }

    /// The connection is fine, and the process behind it stands still.
    @Test func aWalsenderThatStandsStillIsNoticed() async throws {
        try await TestCluster.withServer { server in
            try await TestService.run(Self.schema, uri: server.uri()) { service in
                try await service.start(Self.config, change: Self.shorten)
                let stream = try await service.open()
                try await stream.holds(["lists/l1"])
                let sender = try await service.source.query("SELECT active_pid FROM pg_replication_slots")
                    .scalar
                let process = try #require(sender.flatMap { Int32($0) })
                try #require(kill(process, SIGSTOP) == 0)
                defer { kill(process, SIGCONT) }
                try await service.tx("INSERT INTO lists VALUES ('l3', 'u1', '')")
                try await wait(for: "the probe to tell") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 400
                }
                kill(process, SIGCONT)
                try await stream.holds(["lists/l1", "lists/l3"])
                try await wait(for: "the probe to be green") {
                    try await Self.readiness(service)
                } until: {
                    $0 == 200
                }
            }
        }
    }
}
