import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct HTTPServerBodyTests {
    /// Takes ten bytes at most.
    private let small: HTTPHandler = { request, body in
        do throws(HTTPError) {
            return .text("\(try await body.collect(limit: 10).count)")
        } catch {
            return .text(error.code.rawValue, status: error.status)
        }
    }

    private let deaf: HTTPHandler = { request, _ in .text("heard \(request.path)") }

    @Test(arguments: [
        ("Content-Length: 10", "0123456789", 200, "10"),
        ("Content-Length: 11", "0123456789a", 413, "bodyTooLarge"),
        ("Transfer-Encoding: chunked", "a\r\n0123456789\r\n0\r\n\r\n", 200, "10"),
        ("Transfer-Encoding: chunked", "5\r\n01234\r\n6\r\n56789a\r\n0\r\n\r\n", 413, "bodyTooLarge"),
    ])
    func theHandlersLimitHolds(field: String, body: String, status: Int, answer: String) async throws {
        try await ServerFixture.with(small) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n\(body)")
            let response = try await client.response()
            #expect(response.status == status)
            #expect(response.body == answer)
            #expect(response.has("connection: close") == (status == 413))
            if status == 413 {
                client.sayNoMore()
                #expect(try await client.rest() == "")
            } else {
                try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n\(body)")
                #expect(try await client.response().status == 200)
            }
        }
    }

    @Test(arguments: ["Content-Length: 33554432", "Transfer-Encoding: chunked"])
    func aClientThatSendsEverythingBeforeItReadsGetsThe413(field: String) async throws {
        let configuration = HTTPServerConfiguration.patient { $0.lingerTimeout = TestOptions.deadline * 10 }
        try await ServerFixture.with(configuration, small) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
            if field.hasPrefix("Transfer") { try await client.send("2000000\r\n") }
            let piece = [UInt8](repeating: 0, count: 1 << 20)
            for _ in 0..<32 { try await client.send(piece) }
            let response = try await client.response()
            #expect(response.status == 413)
            #expect(response.body == "bodyTooLarge")
        }
    }

    @Test func aBodyIsAskedForOnlyWhenTheHandlerWantsIt() async throws {
        let mayRead = Gate()
        try await ServerFixture.with({ request, body in
            await mayRead.pass()
            return await echo(request, body)
        }) { fixture in
            defer { mayRead.open() }
            let client = try fixture.connect()
            try await client.send(
                "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            // The connection's task is in the handler now, so whatever it sent before has been sent.
            try await wait(for: "the handler to be called") { mayRead.arrivals == 1 }
            await #expect(throws: RawClient.Failure.self, "nothing has come before the handler asks") {
                try await client.read(within: .zero)
            }
            mayRead.open()
            #expect(try await client.line() == "HTTP/1.1 100 Continue\r\n")
            #expect(try await client.line() == "\r\n")
            try await client.send("abc")
            let response = try await client.response()
            #expect(response.body == "POST /e abc")
            #expect(!response.has("connection: close"))
        }
    }

    @Test(arguments: [3, 4])
    func aClientThatHasBegunToSendItsBodyIsNotAskedForIt(length: Int) async throws {
        let mayRead = Gate()
        try await ServerFixture.with({ request, body in
            await mayRead.pass()
            return await echo(request, body)
        }) { fixture in
            defer { mayRead.open() }
            let client = try fixture.connect()
            try await client.send(
                "POST /e HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\nExpect: 100-continue\r\n\r\nabc")
            // What has arrived by now is what decides, although the rest arrives before the handler asks.
            try await wait(for: "the handler to be called") { mayRead.arrivals == 1 }
            if length == 4 { try await client.send("d") }
            mayRead.open()
            let response = try await client.response()
            #expect(response.status == 200, "no 100 comes before it")
            #expect(response.body == "POST /e " + "abcd".prefix(length))
        }
    }

    @Test func aBodyThatIsTooLongOrUnwantedIsNotAskedFor() async throws {
        for (handler, status) in [(small, 413), (deaf, 200)] {
            try await ServerFixture.with(handler) { fixture in
                let client = try fixture.connect()
                try await client.send(
                    "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\nExpect: 100-continue\r\n\r\n")
                let response = try await client.response()
                #expect(response.status == status)
                #expect(response.has("connection: close"))
            }
        }
    }

    @Test func aSmallBodyThatNobodyReadsIsDropped() async throws {
        try await ServerFixture.with(deaf) { fixture in
            let client = try fixture.connect()
            let body = String(repeating: "GET /not-a-request HTTP/1.1\r\nHost: h\r\n\r\n", count: 100)
            for (index, field) in ["Content-Length: \(body.utf8.count)", "Transfer-Encoding: chunked"]
                .enumerated()
            {
                let size = String(body.utf8.count, radix: 16)
                let framed = index == 0 ? body : "\(size)\r\n\(body)\r\n0\r\n\r\n"
                try await client.send("POST /\(index) HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n\(framed)")
                #expect(try await client.response().body == "heard /\(index)")
            }
            #expect(try await client.get("/next").body == "heard /next")
        }
    }

    @Test func aLargeBodyThatNobodyReadsEndsTheConnectionAfterTheAnswer() async throws {
        let configuration = HTTPServerConfiguration.patient { $0.lingerTimeout = TestOptions.deadline * 10 }
        try await ServerFixture.with(configuration, deaf) { fixture in
            let client = try fixture.connect()
            try await client.send("POST /l HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n")
            try await client.send([UInt8](repeating: 0, count: 1_000_000))
            let response = try await client.response()
            #expect(response.body == "heard /l")
            #expect(response.has("connection: close"))
            client.sayNoMore()
            #expect(try await client.rest() == "")
        }
    }

    @Test func aBodyThatIsCutIsAnError() async throws {
        let codes = Lock<[HTTPError.Code]>([])
        // A client that has left is noticed by its body alone, however late that is begun with.
        let configuration = HTTPServerConfiguration.patient { $0.hangUpTimeout = .seconds(3600) }
        let handler: HTTPHandler = { _, body in
            do throws(HTTPError) {
                return .text("\(try await body.collect(limit: 100).count)")
            } catch {
                codes.withLock { $0.append(error.code) }
                return .text("?", status: error.status)
            }
        }
        try await ServerFixture.with(configuration, handler) { fixture in
            for text in [
                "Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
            ] {
                let client = try fixture.connect()
                try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(text)")
                client.leave()
            }
            try await wait(for: "both to be noticed") { codes.withLock { $0.count } == 2 }
            #expect(codes.withLock { $0 } == [.cut, .cut])
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")
            #expect(try await client.response().status == 400)
            #expect(codes.withLock { $0 } == [.cut, .cut, .malformed])
        }
    }

    @Test func aBodyCanBeReadOnce() async throws {
        try await ServerFixture.with({ _, body in
            do throws(HTTPError) {
                _ = try await body.collect(limit: 100)
                _ = try await body.collect(limit: 100)
                return .text("twice")
            } catch {
                return .text(error.code.rawValue)
            }
        }) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx")
            #expect(try await client.response().body == "alreadyRead")
            #expect(try await client.get("/").body == "twice", "no body is empty as often as one likes")
        }
    }

    @Test func aLargeBodyArrivesWhole() async throws {
        try await ServerFixture.with({ _, body in
            guard let bytes = try? await body.collect(limit: 8 << 20) else { return .text("?", status: 400) }
            let isRight = bytes.indices.allSatisfy { bytes[$0] == UInt8(truncatingIfNeeded: $0 / 1000) }
            return .text("\(bytes.count) \(isRight)")
        }) { fixture in
            // Before the server waits for the head: under a sanitizer this takes longer than it waits.
            let body = (0..<4_000_000).map { UInt8(truncatingIfNeeded: $0 / 1000) }
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n")
            try await client.send(body)
            #expect(try await client.response().body == "4000000 true")
        }
    }

    @Test func allBodiesTogetherAreBounded() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 100_000 }
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            func post(_ path: String, _ length: Int) async throws -> RawClient {
                let client = try fixture.connect()
                try await client.send("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n")
                try await client.send([UInt8](repeating: UInt8(ascii: "x"), count: length))
                return client
            }
            let first = try await post("/held", 110_000)
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            #expect(try await post("/", 30_000).response().status == 503)
            #expect(try await post("/", 10_000).response().status == 200, "there is room for this one")
            gate.open()
            #expect(try await first.response().status == 200)
            #expect(try await post("/", 90_000).response().status == 200)
            #expect(try await post("/", 300_000).response().status == 200, "the oldest body is taken")
        }
    }

    @Test func largeBodiesDoNotShutOutSmallOnes() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 100_000 }
        try await ServerFixture.with(configuration, echo(heldAt: gate)) { fixture in
            defer { gate.open() }
            func post(_ path: String, _ length: Int) async throws -> RawClient {
                let client = try fixture.connect()
                try await client.send("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n")
                try await client.send([UInt8](repeating: UInt8(ascii: "x"), count: length))
                return client
            }
            let large = try await post("/held", 120_000)
            try await wait(for: "all that may be held to be held") { gate.arrivals == 1 }
            #expect(try await post("/", 16 << 10).response().status == 200)
            #expect(try await post("/", (16 << 10) + 1).response().status == 503)
            gate.open()
            #expect(try await large.response().status == 200)
        }
    }
}
