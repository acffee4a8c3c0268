import PowerSyncCompression
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncBenchmarks

@Suite(.patient()) struct LineReaderTests {
    private static let head =
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n"
    private static let end = "{\"checkpoint_complete\":{\"last_op_id\":\"2\"}}\n"

    private static func checkpoint(_ more: String = "") -> String {
        "{\"checkpoint\":{\"last_op_id\":\"2\"\(more),\"buckets\":[],\"streams\":[]}}\n"
    }

    private static func data(_ ids: String...) -> String {
        let operations = ids.enumerated().map { number, id in
            Operation(
                id: Int64(number + 1), kind: .put, objectType: "items", objectID: id, checksum: Checksum(1),
                data: "{}")
        }
        let line = SyncLine.data(DataLine(bucket: "1#all|0[]", operations: OperationList(operations)))
        return String(decoding: line.encoded(), as: UTF8.self) + "\n"
    }

    /// Answers each stream with a script, while a reader reads it.
    private func reading(
        _ script: @escaping @Sendable (RawConnection) -> Void, _ body: (LineReader, Int) async throws -> Void
    ) async throws {
        let server = try RawServer(script)
        let reader = try LineReader()
        defer { reader.stop() }
        try await body(reader, server.port)
    }

    private func complete(_ stream: ReadStream) async throws -> ReadStream.Progress {
        try await wait(
            for: "a first sync", read: { stream.progress },
            until: { $0.complete != nil || $0.failure != nil })
    }

    @Test func aFirstSyncIsCountedAndWhatComesBehindItIsNot() async throws {
        let gate = BlockingGate()
        let requests = Lock<[String]>([])
        try await reading { connection in
            guard let request = connection.request() else { return }
            requests.withLock { $0.append(request) }
            connection.send(Self.head)
            connection.send("\r\n")
            // Lines are cut by chunks, and chunks by packets.
            let text = Self.checkpoint() + Self.data("a", "b") + Self.end
            for piece in [text.prefix(70), text.dropFirst(70)] { connection.chunk(String(piece)) }
            gate.wait()
            connection.chunk(Self.data("c"))
            connection.chunk("{\"checkpoint_diff\":{\"last_op_id\":\"3\",\"write_checkpoint\":\"7\",")
            connection.chunk("\"removed_buckets\":[],\"updated_buckets\":[]}}\n")
            connection.waitForHangUp()
        } _: { reader, port in
            let before = ContinuousClock.now
            let stream = reader.open(StreamRequest(port: port, client: "one"))
            let progress = try await complete(stream)
            let moments = [progress.opened, progress.checkpoint, progress.complete].compactMap { $0 }
            #expect(moments.count == 3 && moments == moments.sorted() && before <= moments[0])
            #expect(progress.operations == 2)
            #expect(progress.firstSync == moments[2] - moments[0])

            // What came before it was awaited does not count.
            stream.expect("b")
            #expect(stream.arrival == nil && stream.arrival(ofWriteCheckpoint: 7) == nil)
            stream.expect("c")
            let opened = ContinuousClock.now
            gate.open()
            try await wait(for: "the write checkpoint") { stream.arrival(ofWriteCheckpoint: 7) != nil }
            let arrival = try #require(stream.arrival)
            #expect(opened <= arrival && arrival <= .now)
            #expect(stream.progress.operations == 2 && stream.progress.failure == nil)
        }
        let request = try #require(requests.withLock { $0.first })
        #expect(request.hasPrefix("POST /sync/stream HTTP/1.1\r\n"))
        #expect(request.hasSuffix("\r\n\r\n{\"raw_data\":true,\"client_id\":\"one\",\"buckets\":[]}"))
        #expect(request.contains("\r\nAuthorization: Token ey"))
        #expect(!request.contains("Accept-Encoding"))
    }

    @Test func compressedLinesAreTheSame() async throws {
        try await reading { connection in
            guard let request = connection.request(), request.contains("\r\nAccept-Encoding: gzip\r\n") else {
                return
            }
            let compressor = Compressor(.gzip)
            connection.send(Self.head)
            connection.send("Content-Encoding: gzip\r\n\r\n")
            for line in [Self.checkpoint(), Self.data("a"), Self.end] {
                connection.chunk(compressor.compress(Array(line.utf8)))
            }
            connection.waitForHangUp()
        } _: { reader, port in
            let progress = try await complete(reader.open(StreamRequest(port: port, acceptsGzip: true)))
            #expect(progress.failure == nil && progress.operations == 1)
        }
    }

    @Test(arguments: [
        ("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "the answer has the status 500"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "the answer is not in chunks"),
        (head + "\r\n0\r\n\r\n", "the stream has ended"),
        (head + "\r\n", "the connection was closed"),
        (head + "\r\n3\r\n{}\n\r\n", "a line needs a key"),
    ])
    func whyNothingMoreComesIsTold(answer: String, reason: String) async throws {
        try await reading { connection in
            guard connection.request() != nil else { return }
            connection.send(answer)
            if !reason.hasPrefix("the connection") { connection.waitForHangUp() }
        } _: { reader, port in
            let progress = try await complete(reader.open(StreamRequest(port: port)))
            #expect(progress.failure == reason && progress.complete == nil)
        }
    }

    @Test func manyStreamsAreOpenedAFewAtATime() async throws {
        let count = LineReader.openings + 10
        let gate = BlockingGate()
        let answered = Lock(0)
        try await reading { connection in
            guard connection.request() != nil else { return }
            answered.withLock { $0 += 1 }
            gate.wait()
            connection.send(Self.head + "\r\n")
            connection.chunk(Self.checkpoint() + Self.end)
            connection.waitForHangUp()
        } _: { reader, port in
            let streams = reader.open((0..<count).map { StreamRequest(port: port, client: "\($0)") })
            try await wait(for: "the first ones") { answered.withLock { $0 } == LineReader.openings }
            #expect(streams[LineReader.openings...].allSatisfy { $0.progress.opened == nil })
            gate.open()
            for stream in streams { #expect(try await complete(stream).failure == nil) }
        }
    }

    @Test func aStreamThatIsClosedEndsItsConnection() async throws {
        let ended = Lock(0)
        try await reading { connection in
            guard connection.request() != nil else { return }
            connection.send(Self.head + "\r\n")
            connection.chunk(Self.checkpoint() + Self.end)
            connection.waitForHangUp()
            ended.withLock { $0 += 1 }
        } _: { reader, port in
            let streams = reader.open((0..<3).map { StreamRequest(port: port, client: "\($0)") })
            for stream in streams { _ = try await complete(stream) }
            reader.close(Array(streams[..<2]))
            try await wait(for: "two connections to end") { ended.withLock { $0 } == 2 }
            reader.stop()
            try await wait(for: "the last connection to end") { ended.withLock { $0 } == 3 }
        }
    }
}
