import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Several arrays of bytes that are sent at once.
@Suite(.namesSeed, .patient())
struct HTTPServerVectorTests {
    private func stream(_ write: @escaping @Sendable (any HTTPBodyWriter) async throws -> Void) -> HTTPHandler
    {
        { _, _ in HTTPResponse(status: 200, body: .stream(write)) }
    }

    private static func bytes(_ texts: [[String]]) -> [[[UInt8]]] {
        texts.map { chunk in chunk.map { Array($0.utf8) } }
    }

    private static func skipHead(_ client: RawClient) async throws {
        while let line = try await client.line(), line != "\r\n" {}
    }

    @Test(arguments: [0, 1])
    func eachElementIsAChunkOrAPieceOfTheOneBegun(minorVersion: Int) async throws {
        try await ServerFixture.with(
            stream { writer in
                try await writer.write(chunks: Self.bytes([["on", "", "e"], [], [""], ["two"]]))
                try writer.beginChunk(of: 6)
                try await writer.write(chunks: Self.bytes([["t", "hr"], ["e", "e", "."], ["four", "th"]]))
                try await writer.write(chunks: [])
            }
        ) { fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.\(minorVersion)\r\nHost: h\r\n\r\n")
            try await Self.skipHead(client)
            let chunks = ["one", "two", "three.", "fourth"]
            if minorVersion == 0 {
                #expect(try await client.rest() == chunks.joined())
            } else {
                for chunk in chunks + [""] { #expect(try await client.chunk() == chunk) }
            }
        }
    }

    @Test func ofAMisuseNothingIsSent() async throws {
        let code = Lock<HTTPServerError.Code?>(nil)
        try await ServerFixture.with(
            stream { writer in
                try writer.beginChunk(of: 3)
                do {
                    try await writer.write(chunks: Self.bytes([["o"], ["nee"]]))
                } catch let error as HTTPServerError {
                    code.withLock { $0 = error.code }
                }
                try await writer.write(chunks: Self.bytes([["o"], ["ne"], ["two"]]))
            }
        ) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(response.body == "onetwo" && response.isComplete)
            #expect(code.withLock { $0 } == .misuse)
        }
    }

    /// Whatever it takes ends in the midst of a part.
    @Test(arguments: [0, 1])
    func aSocketTakesAVectorPartByPart(minorVersion: Int) async throws {
        let configuration = HTTPServerConfiguration.patient { $0.sendBufferBytes = 16 << 10 }
        try await forEachSeed(3) { random in
            var chunks: [[[UInt8]]] = []
            // Of lengths that are most often none, or longer than the system takes at once.
            for _ in 0..<8 {
                let count = 1 + random.below(120)
                chunks.append(
                    (0..<count).map { _ in
                        let length = random.pick(weighted: [(3, 0), (4, 1), (4, 700), (1, 40_000)])
                        let first = UInt8(truncatingIfNeeded: random.next())
                        return (0..<length).map { first &+ UInt8(truncatingIfNeeded: $0) }
                    })
            }
            let sent = chunks
            try await ServerFixture.with(
                configuration, stream { writer in try await writer.write(chunks: sent) }
            ) { fixture in
                let client = try fixture.connect(receiveBuffer: 4 << 10)
                try await client.send("GET / HTTP/1.\(minorVersion)\r\nHost: h\r\n\r\n")
                try await Self.skipHead(client)
                if minorVersion == 0 {
                    let whole = sent.flatMap { $0.flatMap { $0 } }
                    #expect(try await client.rest() == String(decoding: whole, as: UTF8.self))
                    return
                }
                for chunk in sent.map({ $0.flatMap { $0 } }) where !chunk.isEmpty {
                    let came = try await client.chunkBytes()
                    try #require(came == chunk)
                }
                #expect(try await client.chunkBytes() == [])
            }
        }
    }

    @Test func emptyPartsTakeNoPlaces() async throws {
        let empty = [String](repeating: "", count: 20_000)
        let chunk = Self.bytes([empty + ["o"] + empty + ["ne"]])
        try await ServerFixture.with(
            stream { writer in try await writer.write(chunks: chunk) }
        ) { fixture in
            let response = try await fixture.connect().get("/")
            #expect(response.body == "one" && response.isComplete)
        }
    }

    @Test func aVectorIsHeldUpWhileTheClientDoesNotRead() async throws {
        let failure = Lock<(any Error)?>(nil)
        let part = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10)
        try await ServerFixture.with(
            .patient { $0.writeTimeout = .milliseconds(200) },
            stream { writer in
                do {
                    // 64 MiB, of which the buffers of the system hold a few.
                    try await writer.write(chunks: [[[UInt8]]](repeating: [part, part], count: 512))
                } catch {
                    failure.withLock { $0 = error }
                    throw error
                }
            }
        ) { fixture in
            let client = try fixture.connect(receiveBuffer: 32 << 10)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "the connection to be given up") {
                failure.withLock { $0 != nil } && fixture.server.connectionCount == 0
            }
            #expect((failure.withLock { $0 } as? HTTPServerError)?.code == .writeTimeout)
        }
    }

    @Test func aCutEndsAVectorInItsMidst() async throws {
        let escaped = Lock<(any HTTPBodyWriter)?>(nil)
        let failure = Lock<(any Error)?>(nil)
        let part = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        try await ServerFixture.with(
            stream { writer in
                escaped.withLock { $0 = writer }
                do {
                    try await writer.write(
                        chunks: [[Array("first".utf8)], [[UInt8]](repeating: part, count: 16)])
                } catch {
                    failure.withLock { $0 = error }
                    throw error
                }
            }
        ) { fixture in
            let client = try fixture.connect(receiveBuffer: 32 << 10)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await Self.skipHead(client)
            #expect(try await client.chunk() == "first")
            let writer = try #require(escaped.withLock { $0 })
            #expect(failure.withLock { $0 == nil }, "nobody reads it")
            writer.cut()
            try await wait(for: "the writer to fail") { failure.withLock { $0 != nil } }
            #expect(failure.withLock { $0 } is CancellationError)
            #expect(try await client.chunk() == nil)
            #expect(client.unread.utf8.count < 16 << 20)
            let error = await #expect(throws: HTTPServerError.self) { try await writer.write([1]) }
            #expect(error?.code == .misuse)
            writer.cut()
            try await wait(for: "the connection to go") { fixture.server.connectionCount == 0 }
        }
    }

    @Test func aCutEndsAStreamThatRests() async throws {
        let escaped = Lock<(any HTTPBodyWriter)?>(nil)
        try await ServerFixture.with(
            stream { writer in
                try await writer.write(Array("first".utf8))
                escaped.withLock { $0 = writer }
                try await Task.sleep(for: .seconds(3600))
            }
        ) { fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await Self.skipHead(client)
            #expect(try await client.chunk() == "first")
            let writer = try await wait(for: "the writer", read: { escaped.withLock { $0 } }) { $0 != nil }
            writer?.cut()
            #expect(try await client.chunk() == nil)
        }
    }
}
