import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Bodies that are read from a file as they are sent.
@Suite(.patient())
struct FileBodyTests {
    private struct Request: Sendable {
        var head: String
        var body: [UInt8]
    }

    private let folder: TemporaryDirectory
    private let received = Lock<[Request]>([])

    init() throws { folder = try TemporaryDirectory(prefix: "file-body-") }

    /// Reads a request with all of its body; nil at the end.
    private static func receive(_ connection: RawConnection) -> Request? {
        var bytes: [UInt8] = []
        var head: String?
        while head == nil {
            guard let more = connection.receive() else { return nil }
            bytes += more
            if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound {
                head = String(decoding: bytes[..<end], as: UTF8.self)
                bytes.removeFirst(end)
            }
        }
        let lines = head?.split(separator: "\r\n") ?? []
        let length = lines.first { $0.lowercased().hasPrefix("content-length: ") }.flatMap {
            Int($0.dropFirst("content-length: ".count))
        }
        while bytes.count < length ?? 0 {
            guard let more = connection.receive() else { return nil }
            bytes += more
        }
        return Request(head: head ?? "", body: bytes)
    }

    private static func answer(_ connection: RawConnection) {
        connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    }

    /// A server that notes and answers every request.
    private func server() throws -> RawServer {
        let received = received
        return try RawServer { connection in
            while let request = Self.receive(connection) {
                received.withLock { $0.append(request) }
                Self.answer(connection)
            }
        }
    }

    private func request(
        _ body: HTTPFileBody, _ url: String, method: String = "PUT", fields: HTTPFields = [:]
    ) -> HTTPClientRequest {
        var request = HTTPClientRequest(method: method, url: url)
        request.fields = fields
        request.file = body
        return request
    }

    // MARK: What is sent

    @Test(arguments: ["PUT", "POST", "PATCH"])
    func aFileIsSentAsItIsByTheMethodThatIsSaid(method: String) async throws {
        let (server, client) = (try server(), try HTTPClient())
        defer { client.close() }
        let bytes = BodyFile.bytes(3_000_001)
        let body = try BodyFile(bytes, in: folder).body
        let response = try await client.send(
            request(
                body, server.url("/x?y=z"), method: method,
                fields: ["if-none-match": "*", "x-amz-checksum-sha256": "abc="]))
        #expect(response.status == 200)
        let sent = try #require(received.withLock { $0.first })
        #expect(sent.body == bytes)
        #expect(sent.head.hasPrefix("\(method) /x?y=z HTTP/1.1\r\n"))
        #expect(sent.head.contains("\r\nContent-Length: 3000001\r\n"))
        #expect(sent.head.contains("\r\nif-none-match: *\r\n"))
        for name in ["expect", "transfer-encoding", "content-type"] {
            #expect(!sent.head.lowercased().contains("\r\n\(name):"), "\(name) was not asked for")
        }
    }

    @Test func aRegionIsSentAlone() async throws {
        let (server, client) = (try server(), try HTTPClient())
        defer { client.close() }
        let bytes = BodyFile.bytes(1_000_000)
        let path = try BodyFile(bytes, in: folder).path
        let regions = [0..<1, 0..<300_000, 300_000..<700_001, 999_999..<1_000_000, 0..<1_000_000]
        for region in regions {
            let body = HTTPFileBody(
                path: path, offset: Int64(region.lowerBound), length: Int64(region.count))
            #expect(try await client.send(request(body, server.url())).status == 200)
            let sent = try #require(received.withLock { $0.popLast() })
            #expect(sent.body == Array(bytes[region]))
            #expect(sent.head.contains("\r\nContent-Length: \(region.count)\r\n"))
        }
        #expect(server.connections == 1)
    }

    @Test func anEmptyRegionIsAnEmptyBody() async throws {
        let (server, client) = (try server(), try HTTPClient())
        defer { client.close() }
        let path = try BodyFile(BodyFile.bytes(100), in: folder).path
        for offset in [0, 50, 100] as [Int64] {
            let told = Lock<[Int64]>([])
            var request = request(HTTPFileBody(path: path, offset: offset, length: 0), server.url())
            request.onSent = { bytes in told.withLock { $0.append(bytes) } }
            #expect(try await client.send(request).status == 200)
            let sent = try #require(received.withLock { $0.popLast() })
            #expect(sent.body.isEmpty)
            #expect(sent.head.hasPrefix("PUT / ") && sent.head.contains("\r\nContent-Length: 0\r\n"))
            #expect(told.withLock { $0 } == [0])
        }
        #expect(server.connections == 1)
    }

    // MARK: Files that cannot be read

    @Test func aFileThatIsShorterThanSaidIsRefused() async throws {
        let (server, client) = (try server(), try HTTPClient())
        defer { client.close() }
        let path = try BodyFile(BodyFile.bytes(100), in: folder).path
        for (offset, length) in [(0, 101), (50, 51), (101, 0), (200, 10), (1, .max)] as [(Int64, Int64)] {
            let error = await #expect(throws: HTTPClientError.self) {
                try await client.send(
                    request(HTTPFileBody(path: path, offset: offset, length: length), server.url()))
            }
            #expect(error?.code == .unreadableFile, "\(length) bytes from \(offset)")
        }
        #expect(server.connections == 0, "the server has not heard of them")
    }

    @Test func whatIsNoFileIsRefused() async throws {
        let (server, client) = (try server(), try HTTPClient())
        defer { client.close() }
        let pipe = folder.path + "/pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [folder.path + "/missing", folder.path, pipe] {
            let error = await #expect(throws: HTTPClientError.self) {
                try await client.send(
                    request(HTTPFileBody(path: path, offset: 0, length: 0), server.url()))
            }
            #expect(error?.code == .unreadableFile)
            #expect(error?.message.hasPrefix(path) == true)
        }
        #expect(server.connections == 0)
    }

    @Test func aFileThatBecomesShorterEndsTheExchange() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let server = try RawServer { connection in
            _ = connection.receive()
            gate.wait()
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        // More than the buffers of both sockets hold.
        let file = try BodyFile(64 << 20, in: folder)
        let request = request(file.body, server.url())
        let sending = Task { try await client.send(request) }
        try await wait(for: "the beginning to arrive") { gate.arrivals == 1 }
        try file.resize(1 << 20)
        gate.open()
        let error = await #expect(throws: HTTPClientError.self) { try await wait(forEndOf: sending) }
        #expect(error?.code == .unreadableFile)
    }

    // MARK: Progress

    /// While the clock stands still nothing but the beginning and the end is told.
    @Test func progressIsToldNowAndThenAndAtTheEnd() async throws {
        let clock = Lock(ContinuousClock.now)
        // What is behind the steps is more than the buffers of both sockets hold.
        let (part, count, watched) = (8 << 20, 6, 3)
        let (steps, taken) = (BlockingSteps(), Lock(0))
        let server = try RawServer { connection in
            var received = 0
            for step in 1...count {
                steps.wait(for: step)
                while received < step * part, let bytes = connection.receive() { received += bytes.count }
                taken.withLock { $0 = step }
            }
            Self.answer(connection)
            connection.waitForHangUp()
        }
        defer { steps.reach(count) }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        let told = Lock<[Int64]>([])
        let length = Int64(count * part)
        var request = request(try BodyFile(count * part, in: folder).body, server.url())
        request.idleTimeout = .seconds(3600)
        request.onSent = { bytes in told.withLock { $0.append(bytes) } }
        let sending = Task { [request] in try await client.send(request) }
        defer { sending.cancel() }
        try await wait(for: "the beginning to be told") { told.withLock { $0.count } == 1 }
        for step in 1...watched {
            let before = told.withLock { $0 }
            steps.reach(step)
            try await wait(for: "step \(step)") { taken.withLock { $0 } == step }
            #expect(told.withLock { $0 } == before, "no time has passed")
            clock.withLock { $0 += .milliseconds(100) }
            try await wait(for: "it to be told") { told.withLock { $0.count } == step + 1 }
        }
        steps.reach(count)
        #expect(try await wait(forEndOf: sending).status == 200)
        let all = told.withLock { $0 }
        #expect(all.count == 1 + watched + 1 && all.last == length)
        #expect(all == Set(all).sorted(), "it grows")
    }

    @Test func progressIsToldOfABodyInMemoryToo() async throws {
        let (server, client) = (try server(), try HTTPClient())
        defer { client.close() }
        let told = Lock<[Int64]>([])
        var request = HTTPClientRequest(method: "POST", url: server.url())
        request.body = BodyFile.bytes(500_000)
        request.onSent = { bytes in told.withLock { $0.append(bytes) } }
        #expect(try await client.send(request).status == 200)
        #expect(told.withLock { $0.last } == 500_000)
    }

    @Test func anAnswerBeforeTheEndEndsTheSending() async throws {
        let server = try RawServer { connection in
            _ = connection.receive()
            connection.send("HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n")
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let told = Lock<[Int64]>([])
        let file = try BodyFile(256 << 20, in: folder)
        var request = request(file.body, server.url())
        request.onSent = { bytes in told.withLock { $0.append(bytes) } }
        #expect(try await client.send(request).status == 412)
        #expect(told.withLock { $0.last ?? 0 } < file.size)
    }

    // MARK: Descriptors

    @Test(.enabled("needs a system that tells which files are open") { Processes.areOpenFilesKnown })
    func theFileIsOpenNoLongerThanTheExchange() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let server = try RawServer { connection in
            _ = connection.receive()
            gate.wait()
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let file = try BodyFile(64 << 20, in: folder)
        // The last part of the folder's name is its own; what leads to it may be another name.
        let name = file.path.split(separator: "/").suffix(2).joined(separator: "/")
        func isOpen() throws -> Bool { try Processes.openFiles().contains { $0.hasSuffix(name) } }
        let request = request(file.body, server.url())
        let sending = Task { try await client.send(request) }
        try await wait(for: "the beginning to arrive") { gate.arrivals == 1 }
        #expect(try isOpen())
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: sending) }
        try await wait(for: "the file to be closed") { try !isOpen() }
        // Also behind an exchange that is over.
        let good = try self.server()
        let small = HTTPFileBody(path: file.path, offset: 0, length: 1000)
        #expect(try await client.send(self.request(small, good.url())).status == 200)
        try await wait(for: "the file to be closed again") { try !isOpen() }
    }

    // MARK: Kept connections

    /// A server that treats the second request of its first connection as it is told, and answers all others.
    private func server(
        second: @escaping @Sendable (RawConnection) -> Void
    ) throws -> RawServer {
        let (received, isFirst) = (received, Lock(true))
        return try RawServer { connection in
            let isSpecial = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            while let request = Self.receive(connection) {
                received.withLock { $0.append(request) }
                Self.answer(connection)
                if isSpecial { return second(connection) }
            }
        }
    }

    @Test func aKeptConnectionThatHasEndedIsReplaced() async throws {
        let server = try server(second: { _ in })
        let client = try HTTPClient()
        defer { client.close() }
        #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200)
        let bytes = BodyFile.bytes(600_000)
        let body = try BodyFile(bytes, in: folder).body
        #expect(try await client.send(request(body, server.url())).status == 200)
        #expect(received.withLock { $0.last?.body } == bytes)
        #expect(server.connections == 2)
    }

    /// Its end and the request pass each other; again and again, for whether reading or sending fails first is chance.
    @Test(arguments: 0..<10)
    func whatWentToAConnectionThatWasEndingIsSentAgainAsAWhole(round: Int) async throws {
        // Some of it is read, or nothing but the fact that it comes.
        let server = try server(second: { if round % 2 == 0 { _ = $0.receive() } else { $0.waitForBytes() } })
        let client = try HTTPClient()
        defer { client.close() }
        #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200)
        let bytes = BodyFile.bytes(900_000)
        var request = request(try BodyFile(bytes, in: folder).body, server.url())
        let told = Lock<[Int64]>([])
        request.onSent = { bytes in told.withLock { $0.append(bytes) } }
        #expect(try await client.send(request).status == 200)
        let sent = try #require(received.withLock { $0.last })
        #expect(sent.body == bytes)
        #expect(sent.head.hasPrefix("PUT / ") && sent.head.contains("\r\nContent-Length: 900000\r\n"))
        #expect(server.connections == 2)
        #expect(told.withLock { $0.last } == 900_000)
    }

    @Test func whatWentToAConnectionInUseIsNotSentAgain() async throws {
        let server = try server(second: { connection in
            var count = 0
            while count < 8 << 20, let bytes = connection.receive() { count += bytes.count }
        })
        let client = try HTTPClient()
        defer { client.close() }
        #expect(try await client.send(HTTPClientRequest(url: server.url())).status == 200)
        let body = try BodyFile(64 << 20, in: folder).body
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(request(body, server.url()))
        }
        #expect(error?.code == .cut)
        // libcurl may have made another connection before it asked for the beginning of the file, which it did not get.
        #expect(received.withLock { $0.count } == 1)
    }
}

/// Lets a thread go on step by step.
private final class BlockingSteps: Sendable {
    private let reached = Lock(0)
    private let gates = (0..<8).map { _ in BlockingGate() }

    func reach(_ step: Int) {
        let last = reached.withLock { last in
            defer { last = max(last, step) }
            return last
        }
        for gate in gates[min(last, step)..<step] { gate.open() }
    }

    func wait(for step: Int) { gates[step - 1].wait() }
}
