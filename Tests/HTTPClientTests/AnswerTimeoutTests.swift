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

    /// More than the buffers of both sockets hold, so that the client sends until shortly before the end.
    @Test(arguments: [false, true])
    func aLargeBodyHasAllTheTimeInWhichItGetsOn(isFile: Bool) async throws {
        let clock = Lock(ContinuousClock.now)
        let (count, part) = (6, 8 << 20)
        let steps = DispatchSemaphore(value: 0)
        let taken = Lock(0)
        let server = try RawServer { connection in
            var received = 0
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
}
