import Dispatch
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPClient

/// How long an answer may take once its request has gone out; on a clock that the test moves.
@Suite(.patient())
struct AnswerTimeoutTests {
    private static let limit = Duration.seconds(120)
    private static let step = Duration.seconds(40)

    /// Lets the thread of a client take a turn, after all it had to do before: any transfer does.
    private func turn(_ client: HTTPClient) async throws {
        let nobody = try RefusingPort()
        await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: "http://127.0.0.1:\(nobody.number)/"))
        }
    }

    @Test func anAnswerThatComesByteByByteIsGivenUp() async throws {
        let clock = Lock(ContinuousClock.now)
        let steps = DispatchSemaphore(value: 0)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            for _ in 0..<2 {
                steps.wait()
                connection.chunk("x")
            }
            connection.waitForHangUp()
        }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        let stream = try await client.open(
            HTTPClientRequest(
                url: server.url(), connectTimeout: TestOptions.deadline, idleTimeout: Self.step + .seconds(5),
                answerTimeout: Self.limit))
        // The time of the answer begins with the turn in which the request has gone out.
        try await turn(client)
        for _ in 0..<2 {
            clock.withLock { $0 += Self.step }
            steps.signal()
            #expect(try await stream.next() == Array("x".utf8))
        }
        let last = Task { try await stream.next() }
        try await wait(for: "the task to wait for the body") { stream.transfer.isAwaited }
        // The connection is not silent for as long as it may be.
        clock.withLock { $0 += Self.step - .seconds(1) }
        try await turn(client)
        #expect(stream.transfer.isAwaited)
        clock.withLock { $0 += .seconds(1) }
        try await turn(client)
        let error = await #expect(throws: HTTPClientError.self) { try await wait(forEndOf: last) }
        #expect(error?.code == .timedOut)
        #expect(
            error?.message == "The answer was not complete \(Self.limit) after the request had gone out")
    }

    /// More than the buffers of both sockets hold, so that the client sends until shortly before the end; an interim
    /// answer is not the answer.
    @Test(arguments: [false, true], [false, true])
    func aLargeBodyHasAllTheTimeInWhichItGetsOn(isToldToContinue: Bool, isFile: Bool) async throws {
        let clock = Lock(ContinuousClock.now)
        let (count, part) = (6, 8 << 20)
        let steps = DispatchSemaphore(value: 0)
        let taken = Lock(0)
        let server = try RawServer { connection in
            var received = 0
            if isToldToContinue {
                received += connection.receive()?.count ?? 0
                connection.send("HTTP/1.1 100 Continue\r\n\r\n")
            }
            for step in 1...count {
                steps.wait()
                while received < step * part, let bytes = connection.receive() { received += bytes.count }
                taken.withLock { $0 = step }
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            connection.waitForHangUp()
        }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        var request = HTTPClientRequest(
            method: "POST", url: server.url(), connectTimeout: TestOptions.deadline,
            idleTimeout: .seconds(3600), answerTimeout: Self.limit)
        let folder = try TemporaryDirectory(prefix: "answer-timeout-")
        defer { folder.remove() }
        if isFile {
            request.file = try BodyFile(count * part, in: folder).body
        } else {
            request.body = [UInt8](repeating: 7, count: count * part)
        }
        let sending = Task { [request] in try await client.send(request) }
        defer { sending.cancel() }
        for step in 1...count {
            clock.withLock { $0 += Self.step }
            steps.signal()
            try await wait(for: "step \(step)") { taken.withLock { $0 } == step }
        }
        #expect(Self.step * count > Self.limit)
        #expect(try await wait(forEndOf: sending).body == Array("ok".utf8))
    }

    /// CONNECT is not the request, and what the proxy says to it is not the answer.
    @Test(.enabled(if: TLSServer.isAvailable, "the program openssl plays the server"))
    func aLargeBodyHasThatTimeThroughATunnelToo() async throws {
        let clock = Lock(ContinuousClock.now)
        let (count, part) = (6, 8 << 20)
        let steps = DispatchSemaphore(value: 0)
        let taken = Lock(0)
        let server = try await TLSServer(for: "IP:127.0.0.1")
        let proxy = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send("HTTP/1.1 200 Connection established\r\n\r\n")
            var (received, step) = (0, 0)
            connection.relay(to: server.port) { bytes in
                received += bytes
                guard step < count, received > step * part else { return }
                taken.withLock { $0 = step }
                steps.wait()
                step += 1
            }
        }
        var configuration = HTTPClientConfiguration()
        configuration.proxy = proxy.url()
        configuration.authorities = .file(server.authority)
        let client = try HTTPClient(
            driving: CurlLoop(now: { clock.withLock { $0 } }, configuration: configuration))
        defer { client.close() }
        // The server answers the first line that begins so, wherever it stands.
        let body = [UInt8](repeating: 7, count: count * part) + Array("\nGET / HTTP/1.0\n".utf8)
        let request = HTTPClientRequest(
            method: "POST", url: server.url, body: body,
            connectTimeout: TestOptions.deadline, idleTimeout: .seconds(3600), answerTimeout: Self.limit)
        let sending = Task { try await client.send(request) }
        defer { sending.cancel() }
        for step in 1...count {
            clock.withLock { $0 += Self.step }
            steps.signal()
            guard step < count else { break }
            try await wait(for: "step \(step)") { taken.withLock { $0 } == step }
        }
        #expect(try await wait(forEndOf: sending).status == 200)
    }

    /// Where a request has no body, the time of its answer would begin with CONNECT.
    @Test func whatAProxyIsAskedIsNotTheRequest() async throws {
        let clock = Lock(ContinuousClock.now)
        let isShaking = Lock(false)
        let proxy = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send("HTTP/1.1 200 Connection established\r\n\r\n")
            // The handshake begins, and gets no answer.
            let hasBegun = connection.receive() != nil
            isShaking.withLock { $0 = hasBegun }
            connection.waitForHangUp()
        }
        var configuration = HTTPClientConfiguration()
        configuration.proxy = proxy.url()
        configuration.noProxy = "127.0.0.1"
        let loop = try CurlLoop(now: { clock.withLock { $0 } }, configuration: configuration)
        let client = try HTTPClient(driving: loop)
        defer { client.close() }
        let transfer = Transfer(
            HTTPClientRequest(
                url: "https://192.0.2.1/", connectTimeout: TestOptions.deadline, idleTimeout: .seconds(3600),
                answerTimeout: Self.limit), loop: loop)
        loop.submit(.add(transfer))
        let head = Task { try await transfer.head() }
        try await wait(for: "the handshake") { isShaking.withLock { $0 } && transfer.isAwaited }
        try await turn(client)
        clock.withLock { $0 += Self.limit + .seconds(1) }
        try await turn(client)
        #expect(transfer.isAwaited)
        transfer.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: head) }
    }
}
