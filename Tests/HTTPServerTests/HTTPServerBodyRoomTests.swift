import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPServer

/// Bodies for which there is no room yet, or that come too slowly.
@Suite(.patient())
struct HTTPServerBodyRoomTests {
    private static func head(_ path: String, _ length: Int) -> String {
        "POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n"
    }

    private static func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: count) }

    /// Connects and sends a body, or its beginning.
    private static func post(
        _ fixture: ServerFixture, _ path: String, _ length: Int, sending count: Int? = nil
    ) async throws -> RawClient {
        let client = try fixture.connect()
        // At once: the time of a body begins with its head.
        try await client.send(Array(head(path, length).utf8) + bytes(count ?? length))
        return client
    }

    @Test func aBodyThatIsHeldBackIsNotKilledAsSlow() async throws {
        // On a machine that stands still the time may be over before the body is held back, or behind that.
        var time = Duration.seconds(1)
        while try await !Self.heldBackBodyIsTaken(time) {
            try #require(time < TestOptions.deadline, "it is killed, whatever time it has")
            time *= 3
        }
    }

    /// Whether a body that was held back for all the time that a body has, and has all of its own left, is taken.
    private static func heldBackBodyIsTaken(_ time: Duration) async throws -> Bool {
        let gate = Gate()
        let isTaken = Lock(false)
        let configuration = HTTPServerConfiguration.patient {
            $0.bodyTimeout = time
            $0.bodyBytesPerSecond = .max
            $0.bodyMinimumPerSecond = 1
            $0.bodyGrace = time
            $0.bodyWait = TestOptions.deadline * 2
            $0.maxHeldBodyBytes = 100_000
        }
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            let first = try await Self.post(fixture, "/held", 80_000)
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            let second = try await Self.post(fixture, "/", 90_000, sending: 45_000)
            try await wait(for: "the second to be held back, or to be given up") {
                if fixture.server.heldBackCount == 1 { return true }
                return try await Self.isGivenUp(second)
            }
            guard fixture.server.heldBackCount == 1 else { return }
            // A body that begins later and is not held back: when it is given up, the other one would have been.
            let slow = try fixture.connect()
            try await slow.send(Self.head("/", 10))
            #expect(try await slow.response().status == 408)
            #expect(fixture.server.heldBackCount == 1)
            gate.open()
            guard try await first.response().status == 200 else { return }
            // What is there already is read whatever the time is; the rest is not.
            try await wait(for: "room") { fixture.server.heldBackCount == 0 }
            try await second.send(Self.bytes(45_000))
            let status = try await second.response().status
            isTaken.withLock { $0 = status == 200 }
        }
        return isTaken.withLock { $0 }
    }

    /// Whether an answer has come to a client whose body has not.
    private static func isGivenUp(_ client: RawClient) async throws -> Bool {
        do {
            _ = try await client.read(within: .zero)
            return true
        } catch is RawClient.Failure {
            return false
        }
    }

    /// Nor does one that comes in chunks, of which nobody knows how long it is.
    @Test func whatABodyAnnouncesTakesNoRoom() async throws {
        let begun = Lock(0)
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 200_000 }
        let handler: HTTPHandler = { request, body in
            begun.withLock { $0 += 1 }
            return await echo(request, body)
        }
        try await ServerFixture.with(configuration, handler) { fixture in
            var others: [RawClient] = []
            for number in 0..<10 {
                let client = try fixture.connect()
                if number % 2 == 0 {
                    try await client.send(Self.head("/", 900_000))
                    try await client.send(Self.bytes(10_000))
                } else {
                    try await client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
                    try await client.send("2710\r\n")
                    try await client.send(Self.bytes(10_000))
                    try await client.send("\r\n")
                }
                others.append(client)
            }
            try await wait(for: "all to begin") { begun.withLock { $0 } == 10 }
            #expect(fixture.server.heldBodyBytes == 0)
            for _ in 0..<20 {
                let client = try await Self.post(fixture, "/", 190_000)
                #expect(try await client.response().status == 200)
            }
            try await others[1].send("0\r\n\r\n")
            #expect(try await others[1].response().status == 200)
        }
    }

    @Test func bodiesThatAreHalfReadDoNotWaitForOneAnother() async throws {
        let configuration = HTTPServerConfiguration.patient {
            // Who finds no room is told before its client gives up.
            $0.bodyWait = TestOptions.deadline / 2
            $0.maxHeldBodyBytes = 140_000
        }
        try await ServerFixture.with(configuration, echo) { fixture in
            var clients: [RawClient] = []
            for number in 1...3 {
                let client = try await Self.post(fixture, "/", 150_000, sending: 60_000)
                clients.append(client)
                let (held, waiting) = number < 3 ? (number * 65_536, 0) : (131_072, 1)
                try await wait(for: "its first half to be read") {
                    fixture.server.heldBodyBytes == held && fixture.server.heldBackCount == waiting
                }
            }
            for client in clients.reversed() { try await client.send(Self.bytes(90_000)) }
            for client in clients { #expect(try await client.response().status == 200) }
            #expect(fixture.server.heldBodyBytes == 0)
        }
    }

    @Test func whatIsDroppedTakesNoRoom() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 100_000 }
        try await ServerFixture.with(
            configuration,
            { request, body in
                request.path == "/deaf" ? .text("heard nothing") : await echo(request, body)
            }
        ) { fixture in
            var deaf: [RawClient] = []
            for _ in 0..<4 {
                let client = try fixture.connect()
                try await client.send("POST /deaf HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
                try await client.send("7530\r\n")
                try await client.send(Self.bytes(30_000))
                #expect(try await client.response().status == 200)
                deaf.append(client)
            }
            // Many, so that by one of them the others are being dropped.
            for _ in 0..<50 {
                let client = try await Self.post(fixture, "/", 100_000)
                #expect(try await client.response().status == 200)
            }
            for client in deaf {
                try await client.send("\r\n0\r\n\r\n")
                #expect(try await client.get("/next").status == 200)
            }
        }
    }

    @Test func whatIsLeftOfThePatienceIsToldAndAFailureGivesTheRoomBack() async throws {
        let left = Lock<Duration?>(nil)
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 100_000 }
        try await ServerFixture.with(
            configuration,
            { request, body in
                if request.path == "/held" { return await echo(heldAt: gate)(request, body) }
                var patience = TestOptions.deadline
                do throws(HTTPError) {
                    _ = try await body.collect(limit: 100_000, patience: &patience)
                    left.withLock { $0 = patience }
                    return .text("all of it")
                } catch {
                    return .text(error.code.rawValue, status: error.status)
                }
            }
        ) { fixture in
            defer { gate.open() }
            // Who leaves is not held.
            let first = try await Self.post(fixture, "/held", 110_000)
            defer { first.leave() }
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            let second = try await Self.post(fixture, "/", 50_000)
            try await wait(for: "the second to be held back") { fixture.server.heldBackCount == 1 }
            gate.open()
            #expect(try await second.response().status == 200)
            #expect(try #require(left.withLock { $0 }) < TestOptions.deadline)
            let third = try fixture.connect()
            try await third.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
            try await third.send("c350\r\n")
            try await third.send(Self.bytes(50_000))
            try await wait(for: "its room") { fixture.server.heldBodyBytes == 65_536 }
            try await third.send("\r\nno chunk\r\n")
            #expect(try await third.response().status == 400)
            #expect(fixture.server.heldBodyBytes == 0)
        }
    }

    @Test func aBodyThatIsHeldBackTooLongIsRefused() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient {
            $0.bodyWait = .milliseconds(50)
            $0.maxHeldBodyBytes = 100_000
        }
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            // Who leaves is not held.
            let first = try await Self.post(fixture, "/held", 110_000)
            defer { first.leave() }
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            let second = try await Self.post(fixture, "/", 30_000, sending: 20_000)
            #expect(try await second.response().status == 503)
            #expect(fixture.server.heldBackCount == 0)
        }
    }

    @Test func aClientThatLeavesWhileItsBodyIsHeldBackFreesItsPlaceInTheLine() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient {
            $0.bodyWait = TestOptions.deadline * 10
            $0.hangUpTimeout = .milliseconds(10)
            $0.maxHeldBodyBytes = 100_000
        }
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            // Who leaves is not held.
            let first = try await Self.post(fixture, "/held", 110_000)
            defer { first.leave() }
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            let second = try await Self.post(fixture, "/", 30_000, sending: 20_000)
            try await wait(for: "the second to be held back") { fixture.server.heldBackCount == 1 }
            second.leave()
            try await wait(for: "its place to be free") { fixture.server.heldBackCount == 0 }
        }
    }

    @Test func aBodyOfUnknownLengthGivesBackWhatItDoesNotNeed() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 100_000 }
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            let first = try fixture.connect()
            try await first.send("POST /held HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<2 {
                try await first.send("7530\r\n")
                try await first.send(Self.bytes(30_000))
                try await first.send("\r\n")
            }
            try await first.send("0\r\n\r\n")
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            #expect(fixture.server.heldBodyBytes == 60_000 - (16 << 10))
            gate.open()
            #expect(try await first.response().status == 200)
            #expect(fixture.server.heldBodyBytes == 0)
        }
    }

    @Test func aBodyMustKeepUpAPaceAndHasAnEnd() {
        let start = ContinuousClock.now
        func seconds(
            _ received: Int, of length: Int? = nil, _ change: (inout HTTPServerConfiguration) -> Void
        ) -> Double {
            var configuration = HTTPServerConfiguration()
            change(&configuration)
            let pace = BodyPace(configuration, length: length)
            return (pace.deadline(start: start, received: received) - start) / .seconds(1)
        }
        #expect(seconds(0) { _ in } == 30)
        #expect(seconds(32 << 10) { _ in } == 32)
        #expect(seconds(0, of: 16 << 20) { _ in } == 30, "no pace is asked for")
        func production(_ configuration: inout HTTPServerConfiguration) {
            configuration.bodyBytesPerSecond = 64 << 10
            configuration.bodyMinimumPerSecond = 1 << 10
        }
        for length in [nil, 1_000] {
            #expect(seconds(0, of: length, production) == 5)
            #expect(seconds(4 << 10, of: length, production) == 9)
            #expect(seconds(64 << 10, of: length, production) == 31, "who was faster has not more time")
        }
        // What cannot end in time is given up at once; what can has 30 s and that of its bytes at 64 KiB/s.
        let full = 16 << 20
        #expect(seconds(0, of: full, production) == 5)
        #expect(seconds(8 << 10, of: full, production) < 5.2)
        #expect((147...149).contains(seconds(full / 2, of: full, production)))
        #expect((285...286).contains(seconds(full - 1, of: full, production)))
    }

    @Test func answersOfTheServersOwnAreWrittenAsTheConfigurationSays() async throws {
        let configuration = HTTPServerConfiguration.patient {
            $0.maxConnections = 1
            $0.ownAnswer = { status, message in
                HTTPResponse(
                    status: status, fields: ["content-type": "x/y", "retry-after": "9"],
                    body: .bytes(Array("<\(status) \(message.isEmpty ? "?" : "!")>".utf8)))
            }
            $0.ownAnswerFields = ["x-own": "1"]
        }
        let gate = Gate()
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            for (text, status) in [
                ("GET / HTTP/1.1\r\n\r\n", 400),
                ("GET /\(String(repeating: "x", count: 9_000)) HTTP/1.1\r\n", 414),
                ("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 17_000))\r\n", 431),
            ] {
                let client = try fixture.connect()
                try await client.send(text)
                let response = try await client.response()
                #expect(response.status == status && response.body == "<\(status) !>")
                #expect(response.has("content-type: x/y") && response.has("x-own: 1"))
                client.leave()
                try await wait(for: "its place to be free") { fixture.server.connectionCount == 0 }
            }
            let held = try await fixture.hold(1, at: gate)
            let refused = try await fixture.connect().response()
            #expect(refused.status == 503 && refused.body == "<503 !>" && refused.has("retry-after: 9"))
            gate.open()
            #expect(try await held[0].response().status == 200)
        }
    }
}
