import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Nobody reads any more, or nobody can: what goes on all the same (service 3.11).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StandstillTests {
    private static let schema = ReplicationServiceTests.schema + [StreamPressureTests.manyRows]
    private static let config = ReplicationServiceTests.config

    /// Probes, write checkpoints and replication.
    private static func expectThatTheRestGoesOn(_ service: TestService) async throws {
        let before = service.checkpoint
        try await service.tx("INSERT INTO lists VALUES ('l9', 'u1', '')")
        try await wait(for: "a checkpoint") { service.checkpoint > before }
        for probe in ["startup", "liveness", "readiness"] {
            try await wait(for: "the probe of \(probe)") {
                try await service.send("GET", "/probes/\(probe)", token: "").status == 200
            }
        }
        #expect(try await service.writeCheckpoint(client: "c") == 1)
    }

    /// Each has stopped in the midst of a line: none keeps the one reader.
    @Test func clientsThatStopReadingKeepNoReaderOfTheState() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) {
                $0.maxDataFetchConcurrency = 1
                $0.writeTimeout = .seconds(600)
            }
            var stalled: [RawClient] = []
            for _ in 0..<5 { stalled.append(try await service.openSlow()) }
            try await Self.expectThatTheRestGoesOn(service)
            let stream = try await service.open()
            try await stream.holds(["lists/l1", "lists/l9"])
            try await service.tx("DELETE FROM lists WHERE id = 'l1'")
            try await stream.holds(["lists/l9"])
            for client in stalled { client.leave() }
        }
    }

    /// The line of one takes all that lines may, and the others wait: each goes when its time is over.
    @Test func whatClientsThatStopReadingHoldIsFreedOneAfterAnother() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) {
                $0.maxLinesInFlightBytes = 1
                $0.writeTimeout = .milliseconds(200)
            }
            var stalled: [RawClient] = []
            for _ in 0..<4 { stalled.append(try await service.askUnread()) }
            let stream = try await service.open()
            try await Self.expectThatTheRestGoesOn(service)
            try await stream.holds(["lists/l1", "lists/l9"])
            try await wait(for: "all to be dropped") {
                service.log.count { $0.contains("reads too slowly") }
            } until: {
                $0 == stalled.count
            }
        }
    }

    /// As with a slow disk: what has to be read for clients waits, and nothing else.
    @Test func busyReadersOfTheStateHoldUpNothingElse() async throws {
        try await TestService.run(Self.schema) { service in
            let clock = ManualClock(service.now)
            let start = clock.clock.now()
            let count = 2
            try await service.start(Self.config, clock: clock.clock) {
                $0.maxDataFetchConcurrency = count
                // Replication looks into the state that often.
                $0.linkTimes.status = .milliseconds(20)
            }
            let stream = try await service.open()
            try await stream.holds(["lists/l1"])
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = try await service.occupyReaders(count, until: gate)
            // The link is made again, too.
            try await service.source.query(
                "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE database = current_database()"
            )
            try await Self.expectThatTheRestGoesOn(service)
            let newcomer = Task { try await service.open() }
            try await clock.advance(to: start + 20, whenWaitedFor: start + 20)
            try await wait(for: "a keepalive") {
                if case .tokenExpiresIn = stream.lines.last { true } else { false }
            }
            gate.open()
            try await stream.holds(["lists/l1", "lists/l9"])
            try await newcomer.value.holds(["lists/l1", "lists/l9"])
            for reader in busy { try await reader.value }
        }
    }

    /// Nothing can be said before the first view, and so it is waited for as long as clients wait for an answer.
    @Test func aStreamWhoseBeginningCannotBeReadIsRefusedInTime() async throws {
        try await TestService.run(Self.schema) { service in
            let clock = ManualClock(service.now)
            let start = clock.clock.now()
            try await service.start(Self.config, clock: clock.clock) {
                $0.maxDataFetchConcurrency = 1
                $0.maxConcurrentConnections = 1
            }
            let gate = BlockingGate()
            defer { gate.open() }
            let busy = try await service.occupyReaders(1, until: gate)
            let request = Task { try await service.send("POST", "/sync/stream", body: Array("{}".utf8)) }
            try await clock.advance(to: start + 30, whenWaitedFor: start + 30)
            let answer = try await wait(forEndOf: request)
            #expect(answer.status == 500)
            let body = String(decoding: answer.body, as: UTF8.self)
            #expect(
                body.contains(#""details":"Timeout while waiting for data","name":"InternalServerError""#))
            gate.open()
            // Its place is free again.
            try await service.open().holds(["lists/l1"])
            for reader in busy { try await reader.value }
        }
    }
}
