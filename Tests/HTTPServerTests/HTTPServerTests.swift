import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPServer

@Suite(.patient())
struct HTTPServerTests {
    @Test func oneConnectionCarriesAThousandRequests() async throws {
        try await ServerFixture.with(echo) { fixture in
            let client = try fixture.connect()
            for index in 0..<1000 {
                let response = try await client.get("/\(index)")
                #expect(response.status == 200)
                #expect(response.body == "GET /\(index) ")
            }
            #expect(fixture.server.connectionCount == 1)
        }
    }

    @Test func manyConnectionsAreServedAtATime() async throws {
        try await ServerFixture.with(echo) { fixture in
            var clients = try (0..<100).map { _ in try fixture.connect() }
            // None leaves before each has had an answer.
            for client in clients { #expect(try await client.get("/").status == 200) }
            #expect(fixture.server.connectionCount == 100)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (number, client) in clients.enumerated() {
                    group.addTask {
                        for index in 0..<20 {
                            let response = try await client.get("/\(number)/\(index)")
                            #expect(response.body == "GET /\(number)/\(index) ")
                        }
                    }
                }
                try await group.waitForAll()
            }
            clients = []
            try await wait(for: "every connection to end with its client") {
                fixture.server.connectionCount == 0
            }
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await ServerFixture.with(echo) { fixture in
            let client = try fixture.connect()
            try await client.send(
                "POST /1 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
                    + "GET /2 HTTP/1.1\r\nHost: h\r\n\r\n"
                    + "POST /3 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nde\r\n0\r\n\r\n"
                    + "GET /4 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
                    + "GET /never HTTP/1.1\r\nHost: h\r\n\r\n")
            for expected in ["POST /1 abc", "GET /2 ", "POST /3 de", "GET /4 "] {
                #expect(try await client.response().body == expected)
            }
            #expect(try await client.rest() == "")
        }
    }

    @Test func aRequestMayArriveByteByByte() async throws {
        try await ServerFixture.with(echo) { fixture in
            let client = try fixture.connect()
            for byte in "POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello".utf8 {
                try await client.send([byte])
                await Task.yield()
            }
            #expect(try await client.response().body == "POST /slow hello")
        }
    }

    @Test func anAnswerCarriesWhatTheServerAdds() async throws {
        try await ServerFixture.with(echo) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(response.head.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(response.has("content-type: text/plain"))
            #expect(response.has("content-length: 6"))
            #expect(response.head.contains("\r\ndate: "))
            #expect(response.head.contains(" GMT\r\n"))
            #expect(!response.head.contains("connection:"))
        }
    }

    @Test func headSendsNoBodyAndKeepsTheConnectionInStep() async throws {
        try await ServerFixture.with({ request, _ in
            request.path == "/stream"
                ? HTTPResponse(status: 200, body: .stream { try await $0.write([1]) }) : .text("hello")
        }) { fixture in
            let client = try fixture.connect()
            for path in ["/", "/stream"] {
                try await client.send("HEAD \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
                let response = try await client.response(toHead: true)
                #expect(response.has(path == "/" ? "content-length: 5" : "transfer-encoding: chunked"))
            }
            #expect(try await client.get("/").body == "hello")
        }
    }

    @Test func clientsOfHTTP10AreServed() async throws {
        try await ServerFixture.with({ request, _ in
            request.path == "/stream"
                ? HTTPResponse(
                    status: 200,
                    body: .stream { writer in
                        try await writer.write(Array("one ".utf8))
                        try await writer.write(Array("two".utf8))
                    }) : .text("hello")
        }) { fixture in
            let closing = try fixture.connect()
            try await closing.send("GET / HTTP/1.0\r\n\r\n")
            let answer = try await closing.rest()
            #expect(answer.contains("\r\nconnection: close\r\n"))
            #expect(answer.hasSuffix("\r\n\r\nhello"))
            let keeping = try fixture.connect()
            for _ in 0..<2 {
                try await keeping.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
                let response = try await keeping.response()
                #expect(response.has("connection: keep-alive"))
                #expect(response.body == "hello")
            }
            try await keeping.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let streamed = try await keeping.rest()
            #expect(!streamed.contains("chunked"))
            #expect(streamed.hasSuffix("\r\n\r\none two"))
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\n\r\n", 505), ("nonsense\r\n", 400),
        ("GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\n", 414),
        ("GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 20_000))\r\n", 431),
        (
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400
        ),
        ("GET / HTTP/1.1\r\nHost: h\r\nExpect: x\r\n\r\n", 417),
    ])
    func whatCannotBeUnderstoodIsExplainedAndTheConnectionClosed(text: String, status: Int) async throws {
        try await ServerFixture.with(echo) { fixture in
            let client = try fixture.connect()
            // What follows must not be taken for a request.
            try await client.send(text + "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n")
            let response = try await client.response()
            #expect(response.status == status)
            #expect(response.has("connection: close"))
            #expect(!response.body.isEmpty)
            client.sayNoMore()
            #expect(try await client.rest() == "")
        }
    }

    @Test func anExplanationReachesAClientThatIsStillSending() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.lingerTimeout = TestOptions.deadline * 10 }
        try await ServerFixture.with(configuration, echo) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n")
            for _ in 0..<16 { try await client.send([UInt8](repeating: 0, count: 1 << 20)) }
            #expect(try await client.response().status == 400)
        }
    }

    @Test func aClientThatSaysItWillSendNoMoreIsStillAnswered() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.hangUpTimeout = .seconds(3600) }
        try await ServerFixture.with(configuration, echo) { fixture in
            for _ in 0..<20 {
                let client = try fixture.connect()
                try await client.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
                client.sayNoMore()
                #expect(try await client.response().body == "GET /a ")
                #expect(try await client.response().body == "GET /b ")
                #expect(try await client.rest() == "")
            }
        }
    }

    /// The barrier is a client that leaves later: when the server has seen that, it has seen the other one, too.
    @Test func aClientThatWillSendNoMoreIsAnsweredByAHandlerThatWaits() async throws {
        let gate = Gate()
        let handler: HTTPHandler = { request, _ in
            if request.path == "/slow" { await gate.pass() }
            return .text(Task.isCancelled ? "cancelled" : "finished")
        }
        let configuration = HTTPServerConfiguration.patient { $0.hangUpTimeout = .seconds(3600) }
        try await ServerFixture.with(configuration, handler) { fixture in
            defer { gate.open() }
            let clients = try (0..<20).map { _ in try fixture.connect() }
            for client in clients { try await client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n") }
            try await wait(for: "the requests to be in work") { gate.arrivals == 20 }
            for client in clients { client.sayNoMore() }
            let later = try fixture.connect()
            #expect(try await later.get("/quick").body == "finished")
            later.leave()
            try await wait(for: "the later one to go") { fixture.server.connectionCount == 20 }
            gate.open()
            for client in clients {
                #expect(try await client.response().body == "finished")
                #expect(try await client.rest() == "")
            }
        }
    }

    @Test func aClientThatLeavesCancelsItsHandler() async throws {
        let events = Lock<[String]>([])
        try await ServerFixture.with({ _, _ in
            events.withLock { $0.append("began") }
            do {
                try await Task.sleep(for: .seconds(3600))
            } catch {
                events.withLock { $0.append("cancelled") }
            }
            return .text("nobody reads this")
        }) { fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the handler to begin") { events.withLock { $0 } == ["began"] }
            client.leave()
            try await wait(for: "the handler to be cancelled") {
                events.withLock { $0 } == ["began", "cancelled"]
            }
            try await wait(for: "the connection to go") { fixture.server.connectionCount == 0 }
        }
    }

    @Test func moreConnectionsThanAllowedAreToldToComeBack() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient { $0.maxConnections = 3 }
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            let clients = try await fixture.hold(3, at: gate)
            let refused = try fixture.connect()
            let response = try await refused.get("/")
            #expect(response.status == 503)
            #expect(response.has("retry-after: 1"))
            #expect(response.has("connection: close"))
            clients[0].leave()
            gate.open()
            try await wait(for: "room") { fixture.server.connectionCount == 2 }
            #expect(try await fixture.connect().get("/").status == 200)
        }
    }

    @Test func whoRestsLongestMakesRoomForOneMore() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.maxConnections = 3 }
        try await ServerFixture.with(configuration, echo) { fixture in
            var clients: [RawClient] = []
            for number in 1...3 {
                clients.append(try fixture.connect())
                #expect(try await clients[number - 1].get("/").status == 200)
                try await wait(for: "it to rest") { fixture.server.restingCount == number }
            }
            // From here on it is the second that has rested longest.
            #expect(try await clients[0].get("/").status == 200)
            try await wait(for: "it to rest") { fixture.server.restingCount == 3 }
            let fourth = try fixture.connect()
            #expect(try await fourth.get("/").status == 200)
            #expect(try await clients[1].rest() == "", "it is closed without a word")
            for client in [clients[0], clients[2], fourth] {
                #expect(try await client.get("/").status == 200)
            }
            #expect(fixture.server.connectionCount == 3)
        }
    }

    @Test func answersThatNoHandlerGaveCarryTheFieldsOfTheServer() async throws {
        let fields: HTTPFields = ["x-own": "1"]
        let head = "GET / HTTP/1.1\r\nHost: h\r\n"
        let heads = [head + "X: \(String(repeating: "x", count: 200))\r\n\r\n", "GET\r\n\r\n", head]
        let impatient = HTTPServerConfiguration.patient {
            $0.headerTimeout = .milliseconds(100)
            $0.maxHeaderBytes = 100
            $0.ownAnswerFields = fields
        }
        try await ServerFixture.with(impatient, echo, sent: heads) { _, clients in
            for (client, status) in zip(clients, [431, 400, 408]) {
                let response = try await client.response()
                #expect(response.status == status && response.has("x-own: 1"), "\(response.head)")
            }
        }
        let full = HTTPServerConfiguration.patient {
            $0.maxConnections = 1
            $0.ownAnswerFields = fields
        }
        let gate = Gate()
        try await ServerFixture.with(full, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            let client = try fixture.connect()
            #expect(try await !client.get("/").has("x-own: 1"), "a handler's answer is its own")
            try await client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the request to be in work") { gate.arrivals == 1 }
            let refused = try await fixture.connect().get("/")
            #expect(refused.status == 503 && refused.has("x-own: 1") && refused.has("retry-after: 1"))
        }
    }

    @Test func aSlowHandlerHoldsUpNobodyElse() async throws {
        let gate = Gate()
        try await ServerFixture.with({ request, body in
            if request.path == "/slow" { await gate.pass() }
            return .text("done")
        }) { fixture in
            defer { gate.open() }
            let slow = try (0..<50).map { _ in try fixture.connect() }
            for client in slow { try await client.send("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n") }
            try await wait(for: "all slow handlers to begin", read: { gate.arrivals }) { $0 == 50 }
            let quick = try fixture.connect()
            for _ in 0..<100 { #expect(try await quick.get("/quick").body == "done") }
            #expect(fixture.server.connectionCount == 51)
        }
    }
}
