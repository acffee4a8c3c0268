import PowerSyncMockService
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Slow clients.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StreamPressureTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config
    /// Rows of the user u3, whose first line of data is longer than what sockets hold.
    private static let manyRows =
        "INSERT INTO lists SELECT 'r' || n, 'u3', repeat('x', 20000) FROM generate_series(1, 200) n"

    /// Opens the stream of u3 and reads until its first line of data has begun to come.
    private func openSlow(_ service: TestService, claims: JSON = .object([])) async throws -> RawClient {
        let client = try RawClient(service.port, service.poller, receiveBuffer: 4 << 10)
        let token = try TestTokens.token(user: "u3", now: service.now, claims: claims)
        try await client.send(
            "POST /sync/stream HTTP/1.1\r\nHost: h\r\nauthorization: Token \(token)\r\n"
                + "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
        try await wait(for: "data") {
            _ = try await client.read()
            return client.unread.contains(#"{"data":"#)
        }
        return client
    }

    @Test func atTheLimitAStreamWaitsForItsTurnAndIsNotSilentMeanwhile() async throws {
        try await TestService.run(Self.schema + [Self.manyRows]) { service in
            let clock = ManualClock(service.now)
            let start = clock.clock.now()
            try await service.start(Self.config, clock: clock.clock) {
                #expect($0.maxLinesInFlightBytes == 64 << 20)
                $0.maxLinesInFlightBytes = 1
            }
            let slow = try await openSlow(service)
            let stream = try await service.open()
            try await wait(for: "the first line") { !stream.lines.isEmpty }
            try await clock.advance(to: start + 20, whenWaitedFor: start + 20)
            try await wait(for: "a keepalive") { stream.lines.count == 2 }
            guard case .tokenExpiresIn = stream.lines[1] else {
                Issue.record("it was not its turn: \(stream.texts[1].prefix(100))")
                return
            }
            slow.leave()
            try await stream.holds(["lists/l1"])
        }
    }

    /// One line after another, whoever asks for it: nobody is forgotten.
    @Test func manyStreamsGetEverythingOneLineAtATime() async throws {
        try await TestService.run(Self.schema + [Self.manyRows]) { service in
            try await service.start(Self.config) { $0.maxLinesInFlightBytes = 1 }
            var streams: [TestStream] = []
            for _ in 0..<20 { streams.append(try await service.open(user: "u3")) }
            for stream in streams { try await stream.holds("all rows") { $0.rowNames.count == 200 } }
        }
    }
}
