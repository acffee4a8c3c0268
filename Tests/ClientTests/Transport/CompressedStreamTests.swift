import Dispatch
import PowerSyncCompression
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Compressed answers over real sockets.
@Suite(.patient())
struct CompressedStreamTests {
    private func request(_ server: RawServer, _ path: String = "/") -> SyncHTTPRequest {
        SyncHTTPRequest(method: "GET", url: server.url(path), headers: [])
    }

    /// A server that gives the same answer to every request.
    private func server(_ coding: String, status: Int = 200, _ body: [UInt8]) throws -> RawServer {
        try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send(.head(compressedAs: coding, status: status))
            connection.chunk(body)
            connection.endChunks()
        }
    }

    private func compressed(_ bytes: [UInt8], as format: CompressionFormat) -> [UInt8] {
        let compressor = Compressor(format)
        return compressor.compress(bytes) + compressor.finish()
    }

    @Test(arguments: [true, false]) func answersAreAskedForAsTheyMayCome(isAccepted: Bool) async throws {
        let requests = Lock<[String]>([])
        let server = try RawServer { connection in
            while let request = connection.request() {
                requests.withLock { $0.append(request) }
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let transport = try HTTPClientTransport()
        var request = request(server)
        request.acceptsCompression = isAccepted
        // An answer that is not compressed is taken either way.
        #expect(try await transport.send(request).body == Array("ok".utf8))
        let stream = try await transport.open(request)
        var body: [UInt8] = []
        while let piece = try await stream.next() { body += piece }
        #expect(body == Array("ok".utf8))
        let sent = requests.withLock { $0 }
        #expect(sent.count == 2)
        for request in sent {
            #expect(request.contains("\r\nAccept-Encoding: zstd, gzip\r\n") == isAccepted, "\(request)")
            #expect(request.lowercased().contains("accept-encoding") == isAccepted, "\(request)")
        }
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func eachLineComesWhenItIsSent(format: CompressionFormat) async throws {
        let lines = ["{\"a\":1}\n", "{\"b\":2}\n"].map { Array($0.utf8) }
        let gate = DispatchSemaphore(value: 0)
        let server = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send(.head(compressedAs: format.rawValue))
            let compressor = Compressor(format)
            for line in lines {
                gate.wait()
                connection.chunk(compressor.compress(line))
            }
            gate.wait()
            connection.chunk(compressor.finish())
            connection.endChunks()
        }
        let stream = try await HTTPClientTransport().open(request(server))
        for line in lines {
            gate.signal()
            #expect(try await stream.next() == line)
        }
        gate.signal()
        #expect(try await stream.next() == nil)
    }

    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func aWholeAnswerIsDecompressed(format: CompressionFormat) async throws {
        let body = Array(#"{"data":{"write_checkpoint":"1"}}"#.utf8)
        let server = try server(format.rawValue, compressed(body, as: format))
        #expect(try await HTTPClientTransport().send(request(server)).body == body)
    }

    @Test func aCompressionThatNobodyAskedForIsRefusedInPlainWords() async throws {
        let server = try server("br", [1, 2, 3])
        let transport = try HTTPClientTransport()
        let request = request(server)
        for isStream in [true, false] {
            let error = await #expect(throws: SyncError.self) {
                if isStream {
                    _ = try await transport.open(request)
                } else {
                    _ = try await transport.send(request)
                }
            }
            #expect(error?.code == .unexpectedResponse)
            #expect(error?.message == "The answer is compressed as br, which was not asked for")
        }
    }

    /// Credentials are fetched anew for that status, whatever stands in the body.
    @Test(arguments: ["br", "gzip", "zstd"])
    func aRefusalIsSeenHoweverItsBodyIsCompressed(coding: String) async throws {
        let server = try server(coding, status: 401, [1, 2, 3])
        let transport = try HTTPClientTransport()
        #expect(try await transport.open(request(server)).status == 401)
        let response = try await transport.send(request(server))
        #expect(response.status == 401)
        #expect(response.body.isEmpty)
        let readable = try self.server("gzip", status: 503, compressed(Array("later".utf8), as: .gzip))
        #expect(try await transport.send(request(readable)).body == Array("later".utf8))
    }

    @Test func aStreamThatEndsBeforeItsCompressionIsAnErrorBehindItsLines() async throws {
        let line = Array("{\"token_expires_in\":20}\n".utf8)
        let server = try server("zstd", Compressor(.zstd).compress(line))
        let stream = try await HTTPClientTransport().open(request(server))
        #expect(try await stream.next() == line)
        let error = await #expect(throws: SyncError.self) { try await stream.next() }
        #expect(error?.code == .unexpectedResponse)
        #expect(error?.message == "The compressed answer ends too early")
    }

    @Test func aConnectionThatBreaksIsCutAndNotTakenForTheEnd() async throws {
        let line = Array("{\"token_expires_in\":20}\n".utf8)
        let server = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send(.head(compressedAs: "gzip"))
            let compressor = Compressor(.gzip)
            connection.chunk(compressor.compress(line))
            let half = compressor.compress(Array("half a line that does not arrive as a whole\n".utf8))
            connection.send("\(String(half.count, radix: 16))\r\n")
            connection.send(Array(half.prefix(half.count / 2)))
        }
        let stream = try await HTTPClientTransport().open(request(server))
        // Both parts may come at once.
        var received: [UInt8] = []
        let error = await #expect(throws: HTTPClientError.self) {
            while let bytes = try await stream.next() { received += bytes }
        }
        #expect(error?.code == .cut)
        #expect(received.starts(with: line))
    }

    @Test func aWholeAnswerHasALimitThatCountsWhatItUnpacksInto() async throws {
        let large = compressed([UInt8](repeating: 7, count: HTTPClientTransport.bodyLimit + 1), as: .zstd)
        #expect(large.count < 1_000)
        let server = try server("zstd", large)
        let error = await #expect(throws: SyncError.self) {
            try await HTTPClientTransport().send(request(server))
        }
        #expect(error?.code == .unexpectedResponse)
        #expect(error?.message == "The answer has more than 1048576 bytes")
        let refusing = try self.server("zstd", status: 500, large)
        #expect(try await HTTPClientTransport().send(request(refusing)).status == 500)
    }

    /// The barrier is that the client's one thread has served others many times since the sender was held up.
    @Test(arguments: [CompressionFormat.gzip, .zstd])
    func theSenderIsStoppedWhileNobodyAsks(format: CompressionFormat) async throws {
        // More than the window of either format, so that no repetition of it is found.
        var random = SeededRandom(seed: 3)
        let block = (0..<4 << 17).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        let blocks = 16
        let sent = Lock(0)
        let server = try RawServer { connection in
            guard let request = connection.request() else { return }
            guard request.hasPrefix("GET /large") else {
                return _ = connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            connection.send(.head(compressedAs: format.rawValue))
            let compressor = Compressor(format)
            for _ in 0..<blocks {
                connection.chunk(compressor.compress(block))
                sent.withLock { $0 += 1 }
            }
            connection.chunk(compressor.finish())
            connection.endChunks()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let transport = HTTPClientTransport(client: client)
        let stream = try await transport.open(request(server, "/large"))
        var received = try #require(try await stream.next()).count
        for _ in 0..<50 {
            #expect(try await transport.send(request(server, "/small")).body == Array("ok".utf8))
        }
        // What the two sockets' buffers hold, and no more: the rest of the body is still with the server.
        #expect(sent.withLock { $0 } < blocks / 4)
        while let piece = try await stream.next() {
            #expect(piece.count <= 64 << 10)
            received += piece.count
        }
        #expect(received == blocks * block.count)
    }

    /// Rows that hold mostly the same text, as rows may well do.
    @Test(arguments: [CompressionFormat.gzip, .zstd], [false, true])
    func aStreamThatUnpacksIntoAHundredTimesAsMuchIsSynced(
        format: CompressionFormat, isBinary: Bool
    ) async throws {
        let count = 400
        let text = String(repeating: "x", count: 10_000)
        let lines =
            [SyncLines.checkpoint(count, [.init("b", checksum: Int64(count), count: count)])]
            + (1...count).map {
                SyncLines.data("b", SyncLines.put($0, "r\($0)", checksum: 1, data: "{\"col\":\"\(text)\"}"))
            } + [SyncLines.complete(count)]
        let bytes = try lines.flatMap { isBinary ? try BSONWriter.document($0) : Array("\($0)\n".utf8) }
        let body = compressed(bytes, as: format)
        #expect(body.count * 100 <= bytes.count)
        let type = isBinary ? "application/vnd.powersync.bson-stream" : "application/x-ndjson"
        let server = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send(
                .head(compressedAs: format.rawValue).replacing("application/x-ndjson", with: type))
            for start in stride(from: 0, to: body.count, by: 1_000) {
                connection.chunk(Array(body[start..<min(start + 1_000, body.count)]))
            }
            // The stream stays open until the client leaves.
            connection.waitForHangUp()
        }
        let folder = try TemporaryDirectory()
        let database = PowerSyncDatabase(
            schema: Schema(Table(name: "items", columns: [.text("col")])), dbFilename: folder.file())
        try await database.connect(
            connector: TestConnector(endpoint: server.url()), options: ConnectOptions(retryDelay: 0.1))
        try await database.waitForFirstSync()
        let whole = try await database.get(
            sql: "SELECT count(*) FROM items WHERE col = ?", parameters: [text]
        ) { try $0.getInt(index: 0) }
        #expect(whole == count)
        #expect(server.connections == 1)
        try await database.close()
    }
}
