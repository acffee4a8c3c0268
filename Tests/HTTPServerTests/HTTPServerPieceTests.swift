import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPServer

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Bodies that handlers read piece by piece.
@Suite(.patient())
struct HTTPServerPieceTests {
    /// Answers with the pieces that a handler gets of at most so many bytes, or with what went wrong behind them.
    private static func pieces(_ limit: Int) -> HTTPHandler {
        { request, body in
            var text = "\(body.length.map { "\($0)" } ?? "?"):"
            do throws(HTTPError) {
                while let piece = try await body.next(limit: limit) {
                    guard (1...limit).contains(piece.count) else { return .text("too long", status: 500) }
                    text += String(decoding: piece, as: UTF8.self)
                }
                // The end stays the end.
                let more = try await body.next(limit: limit)
                return .text(text + (more == nil ? "" : "!"))
            } catch {
                return .text("\(text) \(error.code.rawValue)", status: error.status)
            }
        }
    }

    private static func chunk(_ bytes: [UInt8]) -> [UInt8] {
        Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8)
    }

    private static func bytes(_ count: Int) -> [UInt8] { [UInt8](repeating: UInt8(ascii: "x"), count: count) }

    /// Whether bytes stand at a place of others; quick without optimisation, too.
    private static func stands(_ piece: [UInt8], at place: Int, of bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { all in
            piece.withUnsafeBytes { piece in
                guard let from = all.baseAddress, let other = piece.baseAddress else { return false }
                return memcmp(from + place, other, piece.count) == 0
            }
        }
    }

    // MARK: Pieces

    @Test(arguments: [1, 3, 10, 100])
    func piecesHaveNoMoreThanTheirLimitAndTheNextRequestIsLeftAlone(limit: Int) async throws {
        try await ServerFixture.with(Self.pieces(limit)) { fixture in
            let client = try fixture.connect()
            let head = "POST / HTTP/1.1\r\nHost: h\r\n"
            let chunks = "4;x\r\nabcd\r\n1\r\ne\r\n0\r\nT: v\r\n\r\n"
            for _ in 0..<2 {
                // All at once: the pieces end where the body does.
                try await client.send(
                    "\(head)Content-Length: 10\r\n\r\n0123456789"
                        + "\(head)Transfer-Encoding: chunked\r\n\r\n\(chunks)"
                        + "GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await client.response().body == "10:0123456789")
                #expect(try await client.response().body == "?:abcde")
                #expect(try await client.response().body == "0:")
            }
        }
    }

    @Test(arguments: [true, false])
    func aPieceIsHandedOverAsSoonAsItIsThere(isChunked: Bool) async throws {
        let got = Lock<[String]>([])
        try await ServerFixture.with({ _, body in
            do throws(HTTPError) {
                while let piece = try await body.next(limit: 1000) {
                    got.withLock { $0.append(String(decoding: piece, as: UTF8.self)) }
                }
                return .text("all")
            } catch {
                return .text(error.code.rawValue, status: error.status)
            }
        }) { fixture in
            let client = try fixture.connect()
            let field = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 9"
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
            for (index, text) in ["one", "two", "end"].enumerated() {
                try await client.send(isChunked ? Self.chunk(Array(text.utf8)) : Array(text.utf8))
                try await wait(for: "piece \(index)") { got.withLock { $0.count } == index + 1 }
            }
            if isChunked { try await client.send("0\r\n\r\n") }
            #expect(try await client.response().body == "all")
            #expect(got.withLock { $0 } == ["one", "two", "end"])
        }
    }

    /// 64 MiB, by a handler that sees what the server holds.
    @Test(arguments: [true, false])
    func aLargeBodyIsHandedOverWithLittleHeld(isChunked: Bool) async throws {
        let count = 64
        let block = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 167 &+ $0 >> 8) }
        let doubled = block + block
        let (server, mostHeld, mostPiece) = (Lock<HTTPServer?>(nil), Lock(0), Lock(0))
        let handler: HTTPHandler = { request, body in
            var (total, isRight) = (0, true)
            do throws(HTTPError) {
                while let piece = try await body.next(limit: 1 << 20) {
                    isRight = isRight && Self.stands(piece, at: total % block.count, of: doubled)
                    total += piece.count
                    mostPiece.withLock { $0 = max($0, piece.count) }
                    let held = server.withLock { $0?.heldBodyBytes ?? .max }
                    mostHeld.withLock { $0 = max($0, held) }
                }
                return .text("\(total) \(isRight)")
            } catch {
                return .text(error.code.rawValue, status: error.status)
            }
        }
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 100_000 }
        try await ServerFixture.with(configuration, handler) { fixture in
            server.withLock { $0 = fixture.server }
            defer { server.withLock { $0 = nil } }
            let client = try fixture.connect()
            let field = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(count << 20)"
            try await client.send("PUT / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n")
            let sent = isChunked ? Self.chunk(block) : block
            for _ in 0..<count {
                try await client.send(sent)
                #expect(fixture.server.heldBodyBytes <= 64 << 10)
            }
            if isChunked { try await client.send("0\r\n\r\n") }
            #expect(try await client.response().body == "\(count << 20) true")
            #expect(mostHeld.withLock { $0 } == 0, "what was handed over is held by the handler")
            #expect(mostPiece.withLock { $0 } <= 64 << 10)
            #expect(try await client.get("/").body == "0 true", "the connection is used again")
        }
    }

    @Test func aBodyIsReadInOneWayAlone() async throws {
        try await ServerFixture.with({ request, body in
            do throws(HTTPError) {
                if request.path == "/collect" {
                    _ = try await body.collect(limit: 100)
                    _ = try await body.next(limit: 100)
                } else {
                    _ = try await body.next(limit: 1)
                    _ = try await body.collect(limit: 100)
                }
                return .text("both")
            } catch {
                return .text(error.code.rawValue)
            }
        }) { fixture in
            for path in ["/collect", "/next"] {
                let client = try fixture.connect()
                try await client.send("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nxy")
                #expect(try await client.response().body == "alreadyRead")
            }
        }
    }

    // MARK: Asking

    @Test func theClientIsAskedWithTheFirstPiece() async throws {
        let mayRead = Gate()
        try await ServerFixture.with({ request, body in
            await mayRead.pass()
            return await Self.pieces(2)(request, body)
        }) { fixture in
            defer { mayRead.open() }
            let client = try fixture.connect()
            try await client.send(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            try await wait(for: "the handler to be called") { mayRead.arrivals == 1 }
            await #expect(throws: RawClient.Failure.self, "nothing has come before the handler asks") {
                try await client.read(within: .zero)
            }
            mayRead.open()
            #expect(try await client.line() == "HTTP/1.1 100 Continue\r\n")
            #expect(try await client.line() == "\r\n")
            try await client.send("abc")
            let response = try await client.response()
            #expect(response.body == "3:abc" && !response.has("connection: close"))
        }
    }

    // MARK: Ends

    @Test(arguments: [
        "3\r\nabc\r\nno chunk\r\n", "3\r\nabcd\r\n", "3\r\nabc\r\n0\r\nno trailer\r\n\r\n",
    ])
    func aBrokenBodyIsAnErrorBehindItsPieces(chunks: String) async throws {
        try await ServerFixture.with(Self.pieces(100)) { fixture in
            let client = try fixture.connect()
            try await client.send(
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(chunks)")
            let response = try await client.response()
            #expect(response.status == 400 && response.body.hasSuffix("malformed"))
            #expect(response.has("connection: close"))
            #expect(fixture.server.heldBodyBytes == 0)
        }
    }

    @Test func aBodyThatIsCutIsAnError() async throws {
        let codes = Lock<[HTTPError.Code]>([])
        let configuration = HTTPServerConfiguration.patient { $0.hangUpTimeout = .seconds(3600) }
        let handler: HTTPHandler = { _, body in
            for _ in 0..<2 {
                do throws(HTTPError) {
                    while try await body.next(limit: 100) != nil {}
                } catch {
                    codes.withLock { $0.append(error.code) }
                }
            }
            return .text("cut")
        }
        try await ServerFixture.with(configuration, handler) { fixture in
            let client = try fixture.connect()
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n12345")
            client.leave()
            try await wait(for: "it to be noticed") { codes.withLock { $0.count } == 2 }
            #expect(codes.withLock { $0 } == [.cut, .alreadyRead], "nothing comes behind an error")
            try await wait(for: "the connection to end") { fixture.server.connectionCount == 0 }
        }
    }

    @Test(arguments: [true, false])
    func aSlowBodyIsCutByItsPace(isChunked: Bool) async throws {
        let configuration = HTTPServerConfiguration.patient { $0.bodyTimeout = .milliseconds(100) }
        try await ServerFixture.with(configuration, Self.pieces(100)) { fixture in
            let client = try fixture.connect()
            let rest =
                isChunked ? "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n" : "Content-Length: 10\r\n\r\nabc"
            try await client.send("POST / HTTP/1.1\r\nHost: h\r\n\(rest)")
            let response = try await client.response()
            #expect(response.status == 408)
            #expect(response.body == (isChunked ? "?:abc bodyTimeout" : "10:abc bodyTimeout"))
            #expect(response.has("connection: close"))
        }
    }

    /// A machine that stands still may lose more time than the body has, before it is waited for or behind that.
    @Test func theTimeInWhichNobodyAsksIsNotTheBodys() async throws {
        var time = Duration.seconds(1)
        while try await !Self.bodyWhoseReaderRestsIsTaken(time) {
            try #require(time < TestOptions.deadline, "it is killed, whatever time it has")
            time *= 3
        }
    }

    /// Whether a body is taken whose reader rested for all the time that a body has.
    private static func bodyWhoseReaderRestsIsTaken(_ time: Duration) async throws -> Bool {
        let (gate, isTaken) = (Gate(), Lock(false))
        let configuration = HTTPServerConfiguration.patient {
            $0.bodyTimeout = time
            $0.bodyBytesPerSecond = .max
        }
        let handler: HTTPHandler = { request, body in
            guard request.path == "/rests" else { return await Self.pieces(100)(request, body) }
            do throws(HTTPError) {
                let first = try await body.next(limit: 100)
                await gate.pass()
                return await Self.pieces(100)(request, body).status == 200
                    ? .text("\(first?.count ?? 0)") : .text("slow", status: 408)
            } catch {
                return .text(error.code.rawValue, status: error.status)
            }
        }
        try await ServerFixture.with(configuration, handler) { fixture in
            defer { gate.open() }
            let client = try fixture.connect()
            try await client.send("POST /rests HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\nabc")
            try await wait(for: "the first piece, or the end of its time") {
                if gate.arrivals == 1 { return true }
                return fixture.server.connectionCount == 0
            }
            // A body that begins later: when it is given up, the other one would have been.
            let slow = try fixture.connect()
            try await slow.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 6\r\n\r\n")
            #expect(try await slow.response().status == 408)
            gate.open()
            // It may be given up just then.
            try? await client.send("def")
            let status = try? await client.response().status
            isTaken.withLock { $0 = status == 200 }
        }
        return isTaken.withLock { $0 }
    }

    // MARK: What is left of it

    @Test(arguments: [true, false])
    func whatIsLeftIsDroppedIfItIsLittle(isChunked: Bool) async throws {
        try await ServerFixture.with({ _, body in
            do throws(HTTPError) {
                return .text("\(try await body.next(limit: 10)?.count ?? 0)")
            } catch {
                return .text(error.code.rawValue, status: error.status)
            }
        }) { fixture in
            let client = try fixture.connect()
            let body = Self.bytes(100 << 10)
            let field = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
            // What was handed over before does not count.
            for length in [20 << 10, 60 << 10] {
                let part = Array(body.prefix(length))
                let field = isChunked ? field : "Content-Length: \(length)"
                let framed = isChunked ? Self.chunk(part) + Array("0\r\n\r\n".utf8) : part
                try await client.send(
                    Array("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n".utf8) + framed)
                let response = try await client.response()
                #expect(response.body == "10" && !response.has("connection: close"))
            }
            let framed = isChunked ? Self.chunk(body) : body
            try await client.send(Array("POST / HTTP/1.1\r\nHost: h\r\n\(field)\r\n\r\n".utf8) + framed)
            let response = try await client.response()
            #expect(response.body == "10")
            // The end of chunks is not known when the head of the answer is written.
            #expect(response.has("connection: close") == !isChunked)
            client.sayNoMore()
            #expect(try await client.rest() == "")
        }
    }

    @Test func whatWasHandedOverDoesNotCountAsLeft() async throws {
        try await ServerFixture.with({ _, body in
            var total = 0
            do throws(HTTPError) {
                while total < 1_000_000, let piece = try await body.next(limit: 50_000) {
                    total += piece.count
                }
                return .text(total < 1_000_000 ? "short" : "enough")
            } catch {
                return .text(error.code.rawValue, status: error.status)
            }
        }) { fixture in
            let client = try fixture.connect()
            // At least ten thousand bytes are left, and at most sixty.
            let head = Array("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1060000\r\n\r\n".utf8)
            for _ in 0..<3 {
                try await client.send(head + Self.bytes(1_060_000))
                let response = try await client.response()
                #expect(response.body == "enough" && !response.has("connection: close"))
            }
        }
    }

    // MARK: Room

    @Test func piecesFindRoomOnlyWhereThereIsSome() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient { $0.maxHeldBodyBytes = 100_000 }
        let handler: HTTPHandler = { request, body in
            if request.path == "/held" { return await echo(heldAt: gate)(request, body) }
            return await Self.pieces(request.path == "/small" ? 16 << 10 : 64 << 10)(request, body)
        }
        try await ServerFixture.with(configuration, handler) { fixture in
            defer { gate.open() }
            func post(_ path: String, _ length: Int) async throws -> RawClient {
                let client = try fixture.connect()
                try await client.send(
                    Array("POST \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n".utf8)
                        + Self.bytes(length))
                return client
            }
            // Who leaves is not held.
            let first = try await post("/held", 110_000)
            defer { first.leave() }
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            #expect(try await post("/", 90_000).response().status == 503)
            #expect(try await post("/small", 90_000).response().status == 200, "that much there is always")
            gate.open()
            #expect(try await first.response().status == 200)
            #expect(try await post("/", 90_000).response().status == 200)
            #expect(fixture.server.heldBodyBytes == 0)
        }
    }

    @Test func piecesWaitForRoom() async throws {
        let gate = Gate()
        let configuration = HTTPServerConfiguration.patient {
            $0.bodyWait = TestOptions.deadline * 2
            $0.maxHeldBodyBytes = 100_000
        }
        let handler: HTTPHandler = { request, body in
            if request.path == "/held" { return await echo(heldAt: gate)(request, body) }
            return await Self.pieces(64 << 10)(request, body)
        }
        try await ServerFixture.with(configuration, handler) { fixture in
            defer { gate.open() }
            let first = try fixture.connect()
            defer { first.leave() }
            try await first.send(
                Array("POST /held HTTP/1.1\r\nHost: h\r\nContent-Length: 110000\r\n\r\n".utf8)
                    + Self.bytes(110_000))
            try await wait(for: "the first body to be held") { gate.arrivals == 1 }
            let second = try fixture.connect()
            try await second.send(
                Array("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 50000\r\n\r\n".utf8)
                    + Self.bytes(50_000))
            try await wait(for: "the second to be held back") { fixture.server.heldBackCount == 1 }
            gate.open()
            #expect(try await second.response().status == 200)
            #expect(fixture.server.heldBackCount == 0 && fixture.server.heldBodyBytes == 0)
        }
    }
}
