import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
struct HTTPServerTimeoutTests {
    @Test func aSlowHeadIsAnsweredWith408() async throws {
        try await ServerFixture.with(HTTPServerConfiguration(headerTimeout: .milliseconds(100)), echo) {
            fixture in
            for text in ["G", "GET / HTTP/1.1\r\nHost: h\r\nX: "] {
                let client = try fixture.connect()
                try await client.send(text)
                let response = try await client.response()
                #expect(response.status == 408)
                #expect(response.has("connection: close"))
            }
        }
    }

    @Test func aHeadThatTricklesGetsNoMoreTime() async throws {
        try await ServerFixture.with(HTTPServerConfiguration(headerTimeout: .milliseconds(150)), echo) {
            fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n")
            let start = ContinuousClock.now
            var sent = 0
            while ContinuousClock.now - start < .seconds(20), !client.unread.contains("408") {
                do {
                    try await client.send("X: y\r\n")
                    sent += 1
                    _ = try await client.read(within: .milliseconds(20))
                } catch is RawClient.Failure {
                    // Nothing has come yet; or the server has closed, which the text shows.
                    if sent > 500 { break }
                }
            }
            #expect(client.unread.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func aConnectionThatSendsNothingIsClosed() async throws {
        let configuration = HTTPServerConfiguration(
            headerTimeout: .milliseconds(80), idleTimeout: .milliseconds(80))
        try await ServerFixture.with(configuration, echo) { fixture in
            let fresh = try fixture.connect()
            let used = try fixture.connect()
            #expect(try await used.get("/").status == 200)
            #expect(try await fresh.rest() == "")
            #expect(try await used.rest() == "")
        }
    }

    @Test func aSlowBodyIsAnErrorForTheHandler() async throws {
        let configuration = HTTPServerConfiguration(bodyTimeout: .milliseconds(100))
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n12345")
            let response = try await client.response()
            #expect(response.status == 408)
            #expect(response.body == "bodyTimeout")
            #expect(response.has("connection: close"))
        }
    }

    @Test func aBodyThatTricklesGetsNoMoreTime() async throws {
        let configuration = HTTPServerConfiguration(bodyTimeout: .milliseconds(150))
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
            for _ in 0..<500 where !client.unread.contains("bodyTimeout") {
                do {
                    try await client.send("x")
                    _ = try await client.read(within: .milliseconds(20))
                } catch is RawClient.Failure {
                    continue  // nothing has come yet
                }
            }
            #expect(client.unread.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func aLongBodyAtAFairPaceGetsTheTimeItNeeds() async throws {
        let configuration = HTTPServerConfiguration(
            bodyTimeout: .milliseconds(500), bodyBytesPerSecond: 10_000)
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 30000\r\n\r\n")
            let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 5000)
            for _ in 0..<6 {
                try await client.send(piece)
                try await fixture.poller.sleep(until: .now + .milliseconds(150))
            }
            #expect(try await client.response().status == 200)
        }
    }

    @Test func aRequestOnAUsedConnectionHasTheTimeOfAHead() async throws {
        let configuration = HTTPServerConfiguration(
            headerTimeout: .milliseconds(100), idleTimeout: .seconds(60))
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            #expect(try await client.get("/").status == 200)
            try await client.send("GET / HT")
            #expect(try await client.response().status == 408)
        }
    }
}
