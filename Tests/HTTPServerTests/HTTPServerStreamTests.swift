import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct HTTPServerStreamTests {
    private func stream(_ write: @escaping @Sendable (any HTTPBodyWriter) async throws -> Void) -> HTTPHandler
    {
        { _, _ in HTTPResponse(status: 200, body: .stream(write)) }
    }

    @Test func eachWriteIsOneChunkAndTheConnectionIsUsedAgain() async throws {
        try await ServerFixture.with(
            stream { writer in
                for text in ["one", "two", "three"] { try await writer.write(Array(text.utf8)) }
            }
        ) { fixture in
            let client = try fixture.connect()
            for _ in 0..<3 {
                try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await client.line() == "HTTP/1.1 200 OK\r\n")
                while let line = try await client.line(), line != "\r\n" {}
                for text in ["one", "two", "three", ""] { #expect(try await client.chunk() == text) }
            }
        }
    }

    @Test(arguments: [0, 1])
    func aChunkMayBeWrittenInPieces(minorVersion: Int) async throws {
        let pieces = ["one", "", "two"]
        try await ServerFixture.with(
            stream { writer in
                for _ in 0..<2 {
                    try writer.beginChunk(of: 6)
                    #expect(throws: HTTPServerError.self) { try writer.beginChunk(of: 1) }
                    for piece in pieces { try await writer.write(Array(piece.utf8)) }
                }
                try writer.beginChunk(of: 0)
                try await writer.write(Array("three".utf8))
            }
        ) { fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.\(minorVersion)\r\nHost: h\r\n\r\n")
            while let line = try await client.line(), line != "\r\n" {}
            if minorVersion == 0 {
                #expect(try await client.rest() == "onetwoonetwothree")
            } else {
                for text in ["onetwo", "onetwo", "three", ""] { #expect(try await client.chunk() == text) }
            }
        }
    }

    @Test func aChunkHasTheBytesThatItWasBegunWith() async throws {
        let code = Lock<HTTPServerError.Code?>(nil)
        try await ServerFixture.with(
            { request, _ in
                HTTPResponse(
                    status: 200,
                    body: .stream { writer in
                        try writer.beginChunk(of: 3)
                        try await writer.write(Array("on".utf8))
                        if request.path == "/few" { return }
                        do {
                            try await writer.write(Array("ee".utf8))
                        } catch let error as HTTPServerError {
                            code.withLock { $0 = error.code }
                        }
                        try await writer.write(Array("e".utf8))
                    })
            }) { fixture in
                let client = try fixture.connect()
                let response = try await client.get("/many")
                #expect(response.body == "one" && response.isComplete)
                #expect(code.withLock { $0 } == .misuse)
                #expect(try await !client.get("/few").isComplete)
            }
    }

    @Test func aStreamWithoutAWriteIsAnEmptyBody() async throws {
        try await ServerFixture.with(stream { _ in }) { fixture in
            let client = try fixture.connect()
            for _ in 0..<2 {
                let response = try await client.get("/")
                #expect(response.status == 200)
                #expect(response.body == "")
                #expect(response.isComplete)
            }
        }
    }

    @Test func aChunkArrivesBeforeTheNextIsWritten() async throws {
        let gate = Gate()
        try await ServerFixture.with(
            stream { writer in
                try await writer.write(Array("first".utf8))
                await gate.pass()
                try await writer.write(Array("second".utf8))
            }
        ) { fixture in
            defer { gate.open() }
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            while let line = try await client.line(), line != "\r\n" {}
            #expect(try await client.chunk() == "first")
            gate.open()
            #expect(try await client.chunk() == "second")
            #expect(try await client.chunk() == "")
        }
    }

    /// That the writer is held up shows in what it fails with: it was not let go before the time for that was over.
    @Test func aWriterIsHeldUpWhileTheClientDoesNotRead() async throws {
        let written = Lock(0)
        let failure = Lock<(any Error)?>(nil)
        let count = 1024  // 64 MiB
        try await ServerFixture.with(
            .patient { $0.writeTimeout = .milliseconds(200) },
            stream { writer in
                do {
                    for _ in 0..<count {
                        try await writer.write([UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10))
                        written.withLock { $0 += 1 }
                    }
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
            #expect(written.withLock { $0 } < count / 4, "the kernel's buffers hold a few megabytes")
        }
    }

    @Test func aWriterGoesOnWhenTheClientReadsAtLast() async throws {
        let written = Lock(0)
        let chunk = [UInt8](repeating: UInt8(ascii: "x"), count: 64 << 10)
        let count = 192  // 12 MiB, more than the buffers of any system hold
        try await ServerFixture.with(
            stream { writer in
                for _ in 0..<count {
                    try await writer.write(chunk)
                    written.withLock { $0 += 1 }
                }
            }
        ) { fixture in
            let client = try fixture.connect(receiveBuffer: 32 << 10)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            try await wait(for: "more than the client's buffer") { written.withLock { $0 } > 1 }
            let response = try await client.response()
            #expect(response.isComplete)
            #expect(response.body.utf8.count == count * chunk.count)
            #expect(written.withLock { $0 } == count)
        }
    }

    @Test func aParkedStreamGoesWhenItsClientLeaves() async throws {
        let ended = Lock(0)
        try await ServerFixture.with(
            stream { writer in
                try await writer.write([1])
                do {
                    try await Task.sleep(for: .seconds(3600))
                } catch {
                    ended.withLock { $0 += 1 }
                    throw error
                }
            }
        ) { fixture in
            var clients = try (0..<200).map { _ in try fixture.connect() }
            for client in clients { try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }
            for client in clients { #expect(try await client.read()) }
            #expect(fixture.server.connectionCount == 200)
            clients = []
            try await wait(for: "the last connection to go") { fixture.server.connectionCount == 0 }
            #expect(ended.withLock { $0 } == 200)
        }
    }

    @Test func aWriterLearnsThatItsClientHasLeft() async throws {
        let failure = Lock<(any Error)?>(nil)
        try await ServerFixture.with(
            stream { writer in
                do {
                    while true { try await writer.write([UInt8](repeating: 0, count: 10_000)) }
                } catch {
                    failure.withLock { $0 = error }
                    throw error
                }
            }
        ) { fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await client.read())
            client.leave()
            try await wait(for: "the writer to fail") { failure.withLock { $0 != nil } }
            let error = failure.withLock { $0 }
            #expect(error is CancellationError || (error as? HTTPServerError)?.code == .peerGone)
        }
    }

    @Test func anErrorBeforeTheFirstWriteIsA500() async throws {
        struct Broken: Error {}
        try await ServerFixture.with(stream { _ in throw Broken() }) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(response.status == 500)
            #expect(response.has("connection: close"))
            #expect(try await client.rest() == "")
        }
    }

    @Test func anErrorAfterAWriteLeavesTheBodyVisiblyIncomplete() async throws {
        struct Broken: Error {}
        try await ServerFixture.with(
            stream { writer in
                try await writer.write(Array("some".utf8))
                throw Broken()
            }
        ) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(response.body == "some")
            #expect(!response.isComplete)
        }
    }

    @Test func twoWritersAtATimeAndLateOnesAreRefused() async throws {
        let escaped = Lock<(any HTTPBodyWriter)?>(nil)
        let codes = Lock<Set<HTTPServerError.Code>>([])
        try await ServerFixture.with(
            stream { writer in
                escaped.withLock { $0 = writer }
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<2 {
                        group.addTask {
                            do {
                                try await writer.write([UInt8](repeating: 65, count: 16 << 20))
                            } catch {
                                codes.withLock {
                                    if let error = error as? HTTPServerError { $0.insert(error.code) }
                                }
                            }
                        }
                    }
                }
            }
        ) { fixture in
            let client = try fixture.connect()
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            // Nobody reads, so the first of them cannot be done before the second comes.
            try await wait(for: "one of them to be refused") { codes.withLock { !$0.isEmpty } }
            let response = try await client.response()
            #expect(response.isComplete)
            #expect(response.body.utf8.count == 16 << 20)
            #expect(codes.withLock { $0 } == [.misuse])
            let writer = try #require(escaped.withLock { $0 })
            let error = await #expect(throws: HTTPServerError.self) { try await writer.write([1]) }
            #expect(error?.code == .misuse)
        }
    }

    /// The number of its descriptor may be another connection's by then.
    @Test(arguments: ["", "some"])
    func aWriterThatOutlivesAFailedBodyIsRefused(text: String) async throws {
        struct Broken: Error {}
        let escaped = Lock<(any HTTPBodyWriter)?>(nil)
        try await ServerFixture.with(
            stream { writer in
                escaped.withLock { $0 = writer }
                if !text.isEmpty { try await writer.write(Array(text.utf8)) }
                throw Broken()
            }
        ) { fixture in
            let client = try fixture.connect()
            let response = try await client.get("/")
            #expect(response.status == (text.isEmpty ? 500 : 200) && response.body == text)
            let writer = try #require(escaped.withLock { $0 })
            let error = await #expect(throws: HTTPServerError.self) { try await writer.write([1]) }
            #expect(error?.code == .misuse)
        }
    }
}
