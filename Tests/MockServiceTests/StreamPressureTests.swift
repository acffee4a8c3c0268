import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgresSource
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Slow clients, and what the log says of streams (service 3.11, 10.4).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct StreamPressureTests {
    static let schema = ReplicationServiceTests.schema
    static let config = ReplicationServiceTests.config
    /// Rows of the user u3, whose first line of data is longer than what sockets hold.
    static let manyRows =
        "INSERT INTO lists SELECT 'r' || n, 'u3', repeat('x', 20000) FROM generate_series(1, 200) n"

    @Test func atTheLimitAStreamWaitsForItsTurnAndIsNotSilentMeanwhile() async throws {
        try await TestService.run(Self.schema + [Self.manyRows]) { service in
            let clock = ManualClock(service.now)
            let start = clock.clock.now()
            try await service.start(Self.config, clock: clock.clock) {
                #expect($0.maxLinesInFlightBytes == 16 << 20)
                $0.maxLinesInFlightBytes = 1
            }
            let slow = try await service.openSlow()
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

    /// What a slow client has taken of its line is no longer counted: the next one need not wait for all of it.
    @Test func theTurnOfTheNextComesWhileASlowClientStillReads() async throws {
        try await TestService.run(Self.schema + [Self.manyRows]) { service in
            // Room for one whole line and for less than half of another.
            try await service.start(Self.config) {
                $0.maxLinesInFlightBytes = (1 << 20) * 14 / 10
                $0.writeTimeout = .seconds(600)
            }
            let slow = try await service.openSlow()
            defer { slow.leave() }
            let stream = try await service.open()
            try await wait(for: "the first line") { !stream.lines.isEmpty }
            while slow.unread.utf8.count < 800_000 {
                let isOpen = try await slow.read()
                try #require(isOpen)
            }
            try await stream.holds(["lists/l1"])
        }
    }

    /// One line after another, whoever asks for it: nobody is forgotten.
    @Test func manyStreamsAtTheLimitGetEverything() async throws {
        try await TestService.run(Self.schema + [Self.manyRows]) { service in
            try await service.start(Self.config) { $0.maxLinesInFlightBytes = 1 }
            var streams: [TestStream] = []
            for _ in 0..<8 { streams.append(try await service.open(user: "u3")) }
            for stream in streams { try await stream.holds("all rows") { $0.rowNames.count == 200 } }
        }
    }

    #if os(Linux)
        /// A small body makes a tree of many megabytes, and a stream lasts for hours.
        @Test func aStreamHoldsNothingOfItsRequest() async throws {
            func resident() throws -> Int {
                let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(
                    separator: " ")
                return try #require(Int(fields[1])) * Int(getpagesize())
            }
            let zeros = String(repeating: "0,", count: 130_000) + "0"
            let body = Array("{\"parameters\":{\"x\":[\(zeros)]}}".utf8)
            for condition in [
                "owner_id = auth.user_id()",
                "owner_id IN (SELECT owner_id FROM lists WHERE id = auth.user_id())",
                "owner_id IN (SELECT owner_id FROM lists WHERE id = connection.parameter('y'))",
            ] {
                let config =
                    "config: {edition: 3}\nstreams:\n  mine:\n    auto_subscribe: true\n"
                    + "    query: SELECT * FROM lists WHERE \(condition)\n"
                try await TestService.run(Self.schema) { service in
                    try await service.start(config)
                    var streams = [try await service.openUnread(user: "u1", body: body)]
                    let before = try resident()
                    for _ in 0..<60 { streams.append(try await service.openUnread(user: "u1", body: body)) }
                    // Each tree takes six megabytes; other tests run beside this one.
                    #expect(try resident() - before < 180 << 20, "\(condition)")
                    #expect(streams.allSatisfy { $0.status == 200 })
                }
            }
        }
    #endif

    /// It is held as long as the stream.
    @Test func theIDOfAClientIsShort() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            for (count, status) in [(256, 200), (257, 400)] {
                let id = String(repeating: "c", count: count)
                let stream = try await service.openUnread(
                    user: "u1", body: Array("{\"client_id\":\"\(id)\"}".utf8))
                #expect(stream.status == status)
                let answer = try await service.send(
                    "GET", "/write-checkpoint2.json?client_id=\(id)", user: "u1")
                #expect(answer.status == status)
            }
        }
    }

    /// It takes one byte now and then of four megabytes.
    @Test func aClientThatReadsTooSlowlyIsDroppedAndItsNeighbourIsNot() async throws {
        let standard = MockServiceConfiguration(
            source: SourceDatabase(uri: ""), statePath: "", syncConfig: "")
        #expect(standard.writeTimeout == .seconds(30))
        try await TestService.run(Self.schema + [Self.manyRows]) { service in
            try await service.start(Self.config) { $0.writeTimeout = .milliseconds(300) }
            let neighbour = try await service.open()
            try await neighbour.holds(["lists/l1"])
            let slow = try await service.openSlow()
            defer { slow.leave() }
            try await wait(for: "the slow one to be dropped") {
                var byte: UInt8 = 0
                _ = recv(slow.descriptor, &byte, 1, Int32(MSG_DONTWAIT))
                return service.log
            } until: { log in
                log.contains {
                    $0.contains("WARNING") && $0.contains("reads too slowly") && $0.contains("user_id=u3")
                }
            }
            try await wait(for: "its end") {
                service.log.contains {
                    $0.contains("Sync stream complete") && $0.contains("user_id=u3")
                        && $0.contains(#"close_reason="service closing stream""#)
                }
            }
            try await service.tx("INSERT INTO lists VALUES ('l9', 'u1', '')")
            try await neighbour.holds(["lists/l1", "lists/l9"])
        }
    }

    /// It stops in the midst of a line, where nobody can tell it of its token.
    @Test func aLineThatIsUnderWayOutlivesItsTokenByAMinuteOnly() async throws {
        try await TestService.run(Self.schema + [Self.manyRows]) { service in
            let clock = ManualClock(service.now)
            let start = clock.clock.now().rounded(.up)
            clock.set(start)
            try await service.start(Self.config, clock: clock.clock) { $0.writeTimeout = .seconds(600) }
            let slow = try await service.openSlow(
                claims: .object([
                    JSONMember("iat", .integer(Int64(start))), JSONMember("exp", .integer(Int64(start) + 30)),
                ]))
            defer { slow.leave() }
            try await clock.advance(to: start + 90, whenWaitedFor: start + 90)
            try await wait(for: "its end") {
                service.log.contains {
                    $0.contains("Sync stream complete") && $0.contains("user_id=u3")
                        && $0.contains(#"close_reason="service closing stream""#)
                }
            }
        }
    }

    @Test func theLogSaysWhoseStreamsBeginAndWhyTheyEnd() async throws {
        try await TestService.run(
            Self.schema + ["INSERT INTO lists VALUES ('row-text-1', 'u1', 'row-text-2')"]
        ) { service in
            let clock = ManualClock(service.now)
            let start = clock.clock.now()
            try await service.start(Self.config, clock: clock.clock)
            let request = SyncStreamRequest(
                clientID: "device-1", parameters: .object([JSONMember("p", .string("parameter-value"))]),
                appMetadata: [JSONMember("version", .string("1.2"))])
            let stream = try await service.open(
                user: "u1", body: request.json,
                fields: ["user-agent": "curl/8", "x-user-agent": "powersync-js/1"])
            try await stream.holds(["lists/l1", "lists/row-text-1"])
            func line(_ parts: String...) -> Bool {
                service.log.contains { line in parts.allSatisfy { line.contains($0) } }
            }
            let who = [
                "user_id=u1", "client_id=device-1", "user_agent=powersync-js/1",
                #"app_metadata="{\"version\":\"1.2\"}""#,
            ]
            #expect(line("INFO", "Sync stream started", who[0], who[1], who[2], who[3]))
            stream.close()
            try await wait(for: "the end in the log") {
                line(
                    "INFO", "Sync stream complete", who[0], who[1], who[2], who[3], "operations_synced=2",
                    #"close_reason="client closing stream""#)
            }
            // One whose token expires, and one that is open when the service ends.
            let short = try await service.open(
                user: "u1",
                // By the clock that stands still, not by the one by which other tokens are made.
                claims: .object([
                    JSONMember("iat", .integer(Int64(start))), JSONMember("exp", .integer(Int64(start) + 30)),
                ]),
                body: SyncStreamRequest(clientID: "short", parameters: .object([])).json)
            try await short.holds("the rows")
            try await clock.advance(to: start + 40, whenWaitedFor: start + 11)
            try await short.waitForEnd()
            try await wait(for: "the end of the token in the log") {
                line("complete", "client_id=short", #"close_reason="service closing stream""#)
            }
            // One letter to the eye, ten thousand to the disk.
            let marked = "e" + String(repeating: "\u{301}", count: 10_000)
            let last = try await service.open(
                SyncStreamRequest(clientID: "last", appMetadata: [JSONMember("version", .string(marked))]))
            try await last.holds("the rows")
            await service.stop()
            #expect(line("complete", "client_id=last", #"close_reason="process shutdown""#))
            #expect(service.log.allSatisfy { $0.utf8.count < 2000 })
            #expect(!line("row-text") && !line("parameter-value"))
        }
    }
}

extension TestService {
    /// Asks for the stream of u3 and reads nothing of it.
    func askUnread(claims: JSON = .object([])) async throws -> RawClient {
        let client = try RawClient(port, poller, receiveBuffer: 4 << 10)
        let token = try TestTokens.token(user: "u3", now: now, claims: claims)
        try await client.send(
            "POST /sync/stream HTTP/1.1\r\nHost: h\r\nauthorization: Token \(token)\r\n"
                + "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}")
        return client
    }

    /// Opens the stream of u3 and reads until its first line of data has begun to come.
    func openSlow(claims: JSON = .object([])) async throws -> RawClient {
        let client = try await askUnread(claims: claims)
        try await wait(for: "data") {
            _ = try await client.read()
            return client.unread.contains(#"{"data":"#)
        }
        return client
    }
}
