import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Answers whose length is known and that are written piece by piece.
@Suite(.patient())
struct HTTPServerSizedTests {
    /// Answers with the texts, as a body of so many bytes.
    private func sized(_ length: Int64, _ texts: [String], _ calls: Lock<Int> = Lock(0)) -> HTTPHandler {
        { request, _ in
            HTTPResponse(
                status: request.path == "/304" ? 304 : 200, fields: ["etag": "x"],
                body: .sized(length) { writer in
                    calls.withLock { $0 += 1 }
                    for text in texts { try await writer.write(Array(text.utf8)) }
                })
        }
    }

    @Test(arguments: [["onetwo"], ["one", "two"], ["", "one", "", "two", ""]])
    func itsLengthIsAnnouncedAndTheConnectionIsUsedAgain(texts: [String]) async throws {
        try await ServerFixture.with(sized(6, texts)) { fixture in
            let client = try fixture.connect()
            for _ in 0..<3 {
                let response = try await client.get("/")
                #expect(response.status == 200 && response.body == "onetwo")
                #expect(response.has("content-length: 6") && !response.head.contains("transfer-encoding"))
                #expect(!response.has("connection: close"))
            }
            // Of HTTP/1.0, for which chunks are none: it says that it wants to go on.
            try await client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let old = try await client.response()
            #expect(old.body == "onetwo" && old.has("connection: keep-alive"))
            #expect(try await client.get("/").body == "onetwo")
        }
    }

    @Test func anEmptyOneIsWrittenToo() async throws {
        let calls = Lock(0)
        try await ServerFixture.with(sized(0, [], calls)) { fixture in
            let client = try fixture.connect()
            for count in 1...2 {
                let response = try await client.get("/")
                #expect(response.status == 200 && response.body == "" && response.has("content-length: 0"))
                #expect(calls.withLock { $0 } == count, "it may have something to close")
            }
        }
    }

    @Test func whereThereIsNoBodyItsLengthIsSaid() async throws {
        let calls = Lock(0)
        try await ServerFixture.with(sized(6, ["onetwo"], calls)) { fixture in
            let client = try fixture.connect()
            for line in ["HEAD / ", "GET /304 ", "HEAD /304 "] {
                try await client.send("\(line)HTTP/1.1\r\nHost: h\r\n\r\n")
                let response = try await client.response(toHead: true)
                #expect(response.status == (line.contains("304") ? 304 : 200))
                #expect(response.has("content-length: 6") && response.has("etag: x"))
                #expect(calls.withLock { $0 } == 0, "nothing is written")
            }
            #expect(try await client.get("/").body == "onetwo")
        }
    }

    @Test func aRegionOfBytesIsAnAnswerAsAnyOther() async throws {
        let content = (0..<200_000).map { UInt8(ascii: "a") + UInt8($0 % 26) }
        let handler: HTTPHandler = { request, _ in
            let range = (request.fields["range"] ?? "").dropFirst("bytes=".count)
            let numbers = range.split(separator: "-")
            guard numbers.count == 2, let first = Int(numbers[0]), let last = Int(numbers[1]) else {
                return .text("?", status: 416)
            }
            return HTTPResponse(
                status: 206, fields: ["content-range": "bytes \(first)-\(last)/\(content.count)"],
                body: .sized(Int64(last - first + 1)) { writer in
                    var next = first
                    while next <= last {
                        let end = min(next + 7_000, last + 1)
                        try await writer.write(Array(content[next..<end]))
                        next = end
                    }
                })
        }
        try await ServerFixture.with(handler) { fixture in
            let client = try fixture.connect()
            for (first, last) in [(0, 0), (0, 199_999), (50_000, 149_999), (199_999, 199_999)] {
                let response = try await client.get("/", "Range: bytes=\(first)-\(last)\r\n")
                #expect(response.status == 206)
                #expect(response.has("content-range: bytes \(first)-\(last)/200000"))
                #expect(response.body == String(decoding: content[first...last], as: UTF8.self))
            }
        }
    }

    @Test func tooFewBytesCutTheConnection() async throws {
        try await ServerFixture.with(sized(7, ["one", "two"])) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(response.status == 200 && response.has("content-length: 7") && !response.isComplete)
            #expect(client.unread == "onetwo")
        }
    }

    @Test(arguments: [true, false])
    func tooManyBytesCutTheConnection(isSwallowed: Bool) async throws {
        let codes = Lock<[HTTPServerError.Code]>([])
        let handler: HTTPHandler = { _, _ in
            HTTPResponse(
                status: 200,
                body: .sized(5) { writer in
                    try await writer.write(Array("one".utf8))
                    for _ in 0..<2 {
                        do {
                            try await writer.write(Array("two".utf8))
                        } catch let error as HTTPServerError {
                            codes.withLock { $0.append(error.code) }
                            if !isSwallowed { throw error }
                        }
                    }
                    // Nothing can make it good any more.
                    if isSwallowed { try? await writer.write(Array("x".utf8)) }
                })
        }
        try await ServerFixture.with(handler) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(!response.isComplete && client.unread == "one")
            #expect(codes.withLock { $0 } == (isSwallowed ? [.misuse, .misuse] : [.misuse]))
        }
    }

    @Test(arguments: [[], ["onetwo!"]] as [[String]])
    func whereNothingHasBeenSentAWrongCountIsA500(texts: [String]) async throws {
        try await ServerFixture.with(sized(6, texts)) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(response.status == 500 && response.has("connection: close"))
            #expect(try await client.rest() == "")
        }
    }

    @Test func anErrorCutsTheConnection() async throws {
        struct Broken: Error {}
        let handler: HTTPHandler = { _, _ in
            HTTPResponse(
                status: 200,
                body: .sized(6) { writer in
                    try await writer.write(Array("one".utf8))
                    throw Broken()
                })
        }
        try await ServerFixture.with(handler) { fixture in
            let client = try fixture.connect()
            #expect(try await !client.get("/").isComplete)
            #expect(client.unread == "one")
        }
    }

    /// It has an end, as any other answer.
    @Test func aServerThatStopsLetsItComeToItsEnd() async throws {
        let gate = Gate()
        let handler: HTTPHandler = { _, _ in
            HTTPResponse(
                status: 200,
                body: .sized(6) { writer in
                    try await writer.write(Array("one".utf8))
                    await gate.pass()
                    try await writer.write(Array("two".utf8))
                })
        }
        try await ServerFixture.with(handler) { fixture in
            defer { gate.open() }
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the answer to begin") { gate.arrivals == 1 }
            fixture.server.stop(grace: .seconds(3600))
            gate.open()
            let response = try await client.response()
            #expect(response.isComplete && response.body == "onetwo")
            #expect(try await client.rest() == "")
        }
    }

    @Test func aWriterIsHeldUpWhileTheClientDoesNotRead() async throws {
        let written = Lock(0)
        let (piece, count) = ([UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10), 512)  // 32 MiB
        let handler: HTTPHandler = { _, _ in
            HTTPResponse(
                status: 200,
                body: .sized(Int64(count * piece.count)) { writer in
                    for _ in 0..<count {
                        try await writer.write(piece)
                        written.withLock { $0 += 1 }
                    }
                })
        }
        let configuration = HTTPServerConfiguration.patient { $0.writeTimeout = .milliseconds(200) }
        try await ServerFixture.with(configuration, handler) { fixture in
            let client = try fixture.connect(receiveBuffer: 32 << 10)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the connection to be given up") {
                written.withLock { $0 } > 0 && fixture.server.connectionCount == 0
            }
            #expect(written.withLock { $0 } < count / 2, "the kernel's buffers hold a few megabytes")
        }
    }
}
