import PowerSyncCompression
import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncMockService
import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Lines as the body of a response.
@Suite(.namesSeed, .patient())
struct HTTPLineSinkTests {
    /// A body that takes everything and notes in which goes it came.
    private final class Body: HTTPBodyWriter {
        struct State {
            /// Lengths of chunks that were begun.
            var begun: [Int] = []
            /// What was written at once: chunks, and parts of them.
            var goes: [[[[UInt8]]]] = []
        }

        let state = Lock(State())

        /// The bytes of each element of each go.
        var lengths: [[Int]] {
            state.withLock { $0.goes }.map { go in go.map { parts in Array(parts.joined()).count } }
        }

        func write(_ bytes: [UInt8]) async throws { try await write(chunks: [[bytes]]) }
        func write(chunks: [[[UInt8]]]) async throws { state.withLock { $0.goes.append(chunks) } }
        func beginChunk(of count: Int) throws { state.withLock { $0.begun.append(count) } }
    }

    /// A line of so many bytes.
    private static func line(_ count: Int, _ byte: UInt8 = UInt8(ascii: "x")) -> EncodedLine {
        let account = LineAccount()
        let bytes = [UInt8](repeating: byte, count: count)
        return EncodedLine(LinePiece.cut(bytes, account), account, plainBytes: count)
    }

    /// Runs a server whose one answer is what `stream` sends, and a client of it that has read the head.
    private static func serve(
        receiveBuffer: Int32? = nil, writeTimeout: Duration = TestOptions.deadline * 2,
        _ stream: @escaping @Sendable (HTTPLineSink) async throws -> Void,
        _ body: @Sendable (RawClient) async throws -> Void
    ) async throws {
        let poller = try Poller()
        let server = try HTTPServer(
            configuration: HTTPServerConfiguration(
                writeTimeout: writeTimeout, sendBufferBytes: 16 << 10), poller: poller)
        let handler: HTTPHandler = { _, _ in
            HTTPResponse(status: 200, body: .stream { writer in try await stream(HTTPLineSink(writer)) })
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run(handler) }
            defer { server.stop(grace: .zero) }
            let client = try RawClient(server.port, poller, receiveBuffer: receiveBuffer)
            try await client.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            while let line = try await client.line(), line != "\r\n" {}
            try await body(client)
        }
    }

    @Test func shortLinesLeaveTogetherAndEachIsAChunk() async throws {
        let body = Body()
        let sink = HTTPLineSink(body)
        try await sink.send([Self.line(10), Self.line(500), Self.line(LinePiece.most - 510), Self.line(1)])
        try await sink.send([])
        #expect(body.lengths == [[10, 500, LinePiece.most - 510], [1]])
        #expect(body.state.withLock { $0.begun.isEmpty })
    }

    @Test func aLongLineIsAChunkThatLeavesInPieces() async throws {
        let body = Body()
        let most = LinePiece.most
        try await HTTPLineSink(body).send([Self.line(10), Self.line(2 * most + 7), Self.line(20)])
        #expect(body.state.withLock { $0.begun } == [2 * most + 7])
        #expect(body.lengths == [[10], [most], [most], [7], [20]])
    }

    /// The parts of a shared line are the ones of the frame, wherever they leave.
    @Test func theBytesOfAFrameAreNotJoinedWithThoseOfTheLine() async throws {
        let body = Body()
        let frame = FrameFixture([SampleOperation(id: 1, checksum: Checksum(1), data: "{}")]).frame
        let encoder = LineEncoder(.raw, BlockCompressors())
        let line = try encoder.encode(frame, of: "b", after: 0, hasMore: false)
        try await HTTPLineSink(body).send([line, encoder.encode(.checkpointComplete(lastOpID: 1))])
        let goes = body.state.withLock { $0.goes }
        #expect(goes.count == 1 && goes[0].map(\.count) == [3, 1])
        let content = try frame.content(LineForm(.raw), BlockCompressors())
        #expect(goes[0][0][1] == content.pieces[0].bytes)
    }

    @Test(arguments: [nil, CompressionFormat.gzip, .zstd])
    func aClientThatReadsSlowlyGetsEveryLineAsAChunk(compression: CompressionFormat?) async throws {
        var random = SeededRandom(seed: 5)
        let compressors = BlockCompressors()
        let frames = (1...4).map { _ in FrameFixture(upTo: 900, &random) }
        let encoder = LineEncoder(.raw, compression: compression, compressors)
        let plain = LineEncoder(.raw, compressors)
        var lines: [EncodedLine] = []
        var expected: [[UInt8]] = []
        for fixture in frames {
            lines.append(encoder.encode(.tokenExpiresIn(20)))
            lines.append(try encoder.encode(fixture.frame, of: "b", after: 0, hasMore: false))
            expected.append(plain.encode(.tokenExpiresIn(20)).taken())
            expected.append(try plain.encode(fixture.frame, of: "b", after: 0, hasMore: false).taken())
        }
        if let end = encoder.finish() { lines.append(end) }
        let (sent, plainLines) = (lines, expected)
        try await Self.serve(receiveBuffer: 4 << 10) { sink in
            try await sink.send(sent)
        } _: { client in
            let decompressor = compression.map { Decompressor($0) }
            for line in plainLines {
                let chunk = try #require(try await client.chunkBytes())
                try #require(try decompressor?.decompress(chunk) ?? chunk == line)
            }
            if let decompressor {
                let end = try #require(try await client.chunkBytes())
                #expect(try decompressor.decompress(end).isEmpty)
                try decompressor.finish()
            }
            #expect(try await client.chunkBytes() == [])
        }
    }

    /// The system holds some of it for the client; the rest is ours, and counted.
    @Test func whatAClientDoesNotReadIsHeldAndCounted() async throws {
        let budget = LineBudget(limit: 1 << 30)
        let size = 1 << 20
        let line = Self.line(size)
        line.charge(to: budget.take(0))
        let isSent = Lock(false)
        try await Self.serve(receiveBuffer: 4 << 10) { sink in
            try await sink.send([line])
            isSent.withLock { $0 = true }
        } _: { client in
            #expect(budget.usedBytes > size / 2 && !isSent.withLock { $0 })
            while client.unread.utf8.count < 900_000 { try #require(try await client.read()) }
            // All but the piece that is being sent was given back.
            try await wait(for: "room", read: { budget.usedBytes }) {
                $0 <= size - 900_000 + LinePiece.most
            }
            #expect(try await client.chunkBytes()?.count == size)
            try await wait(for: "all to be given back", read: { budget.usedBytes }) { $0 == 0 }
        }
    }

    @Test func aClientThatReadsTooSlowlyEndsWhatIsSent() async throws {
        let failure = Lock<(any Error)?>(nil)
        try await Self.serve(receiveBuffer: 4 << 10, writeTimeout: .milliseconds(200)) { sink in
            do {
                try await sink.send([Self.line(16 << 20)])
            } catch {
                failure.withLock { $0 = error }
                throw error
            }
        } _: { _ in
            try await wait(for: "the end") { failure.withLock { $0 != nil } }
            #expect((failure.withLock { $0 } as? HTTPServerError)?.code == .writeTimeout)
        }
    }

    /// Short lines in one go, or a long one: the client sees that it did not get all.
    @Test(arguments: [1, 200])
    func aCutEndsWhatIsSentInItsMidst(count: Int) async throws {
        let escaped = Lock<HTTPLineSink?>(nil)
        let failure = Lock<(any Error)?>(nil)
        let most = LinePiece.most
        try await Self.serve(receiveBuffer: 4 << 10) { sink in
            escaped.withLock { $0 = sink }
            do {
                let length = count == 1 ? 16 << 20 : most
                try await sink.send([Self.line(5)] + (0..<count).map { _ in Self.line(length) })
            } catch {
                failure.withLock { $0 = error }
                throw error
            }
        } _: { client in
            #expect(try await client.chunk() == "xxxxx")
            let sink = try #require(escaped.withLock { $0 })
            #expect(failure.withLock { $0 == nil })
            sink.cut()
            try await wait(for: "the end of what is sent") { failure.withLock { $0 != nil } }
            #expect(failure.withLock { $0 } is LinesWereCut)
            var chunks = 0
            while let chunk = try await client.chunk() {
                #expect(!chunk.isEmpty, "the body has not come to its end")
                chunks += 1
            }
            #expect(chunks < count)
            await #expect(throws: LinesWereCut.self) { try await sink.send([Self.line(1)]) }
        }
    }
}
