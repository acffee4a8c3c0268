import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct HTTPServerTimeoutTests {
    /// Sends a piece again and again until the server has answered.
    private func trickle(_ piece: String, _ client: RawClient) async throws {
        try await wait(for: "the server to lose its patience") {
            // Nothing may have come yet; or the server has closed, which the text shows.
            try? await client.send(piece)
            _ = try? await client.read(within: .zero)
            return client.unread.contains("\r\n\r\n")
        }
    }

    @Test func theTimesOfProductionAreThese() {
        let times = HTTPServerConfiguration()
        #expect(times.headerTimeout == .seconds(10))
        #expect(times.bodyTimeout == .seconds(30) && times.bodyGrace == .seconds(5))
        #expect(times.idleTimeout == .seconds(75))
        #expect(times.hangUpTimeout == .seconds(1))
        #expect(times.lingerTimeout == .seconds(10))
        #expect(times.writeTimeout == .seconds(30))
        #expect(times.peerTimeout == .seconds(60))
    }

    /// Behind its last answer; it is never silent for long enough to be left for that.
    @Test func aClientThatGoesOnSendingIsLeft() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.lingerTimeout = .seconds(1) }
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n")
            #expect(try await client.response().status == 400)
            // A connection that lingers is counted no more; who has been left cannot send.
            try await wait(for: "the connection to end") {
                do {
                    try await client.send("x")
                    return false
                } catch is RawClient.Failure {
                    return true
                }
            }
        }
    }

    @Test func aSlowHeadIsAnsweredWith408() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.headerTimeout = .milliseconds(100) }
        let heads = ["G", "GET / HTTP/1.1\r\nHost: h\r\nX: "]
        try await ServerFixture.with(configuration, echo, sent: heads) { _, clients in
            for client in clients {
                let response = try await client.response()
                #expect(response.status == 408)
                #expect(response.has("connection: close"))
            }
        }
    }

    @Test func aHeadThatTricklesGetsNoMoreTime() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.headerTimeout = .milliseconds(150) }
        let heads = ["GET / HTTP/1.1\r\nHost: h\r\n"]
        try await ServerFixture.with(configuration, echo, sent: heads) { _, clients in
            try await trickle("X: y\r\n", clients[0])
            #expect(clients[0].unread.hasPrefix("HTTP/1.1 408 "))
        }
    }

    @Test func aConnectionThatSendsNothingIsClosed() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.headerTimeout = .milliseconds(80) }
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            #expect(try await client.rest() == "")
        }
    }

    @Test func aConnectionThatRestsTooLongIsClosed() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.idleTimeout = .milliseconds(80) }
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            #expect(try await client.get("/").status == 200)
            #expect(try await client.rest() == "")
        }
    }

    @Test func aSlowBodyIsAnErrorForTheHandler() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.bodyTimeout = .milliseconds(100) }
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
        let configuration = HTTPServerConfiguration.patient { $0.bodyTimeout = .milliseconds(150) }
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n")
            try await trickle("x", client)
            #expect(client.unread.hasPrefix("HTTP/1.1 408 "))
        }
    }

    /// The barrier is a body that began later and has not earned its time: when that is given up, the other one
    /// would have been.
    @Test func aLongBodyAtAFairPaceGetsTheTimeItNeeds() async throws {
        let configuration = HTTPServerConfiguration.patient {
            $0.bodyTimeout = .milliseconds(100)
            $0.bodyBytesPerSecond = 1
        }
        let begun = Lock(0)
        let handler: HTTPHandler = { request, body in
            begun.withLock { $0 += 1 }
            return await echo(request, body)
        }
        let head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6000\r\n\r\n"
        let first = head + String(repeating: "x", count: 5000)
        try await ServerFixture.with(configuration, handler, sent: [first]) { fixture, clients in
            try await wait(for: "the first body to begin") { begun.withLock { $0 == 1 } }
            let later = try fixture.connect()
            try await later.send(head)
            #expect(try await later.response().status == 408)
            try await clients[0].send(String(repeating: "x", count: 1000))
            #expect(try await clients[0].response().status == 200)
        }
    }

    @Test func aRequestOnAUsedConnectionHasTheTimeOfAHead() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.headerTimeout = .milliseconds(100) }
        let first = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
        try await ServerFixture.with(configuration, echo, sent: [first]) { _, clients in
            #expect(try await clients[0].response().status == 200)
            try await clients[0].send("GET / HT")
            #expect(try await clients[0].response().status == 408)
        }
    }
}
