import Foundation
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncHTTPClient

@Suite(.patient())
struct HTTPClientStreamTests {
    private func text(_ part: [UInt8]?) -> String? { part.map { String(decoding: $0, as: UTF8.self) } }

    @Test func headComesBeforeTheBodyAndEachChunkAsItIsSent() async throws {
        let gate = DispatchSemaphore(value: 0)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            for line in ["{\"a\":1}\n", "{\"b\":2}\n"] {
                gate.wait()
                connection.chunk(line)
            }
            gate.wait()
            connection.send("0\r\n\r\n")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(HTTPClientRequest(url: server.url()))
        #expect(stream.status == 200)
        #expect(stream.fields["Content-Type"] == "application/x-ndjson")
        gate.signal()
        #expect(text(try await stream.next()) == "{\"a\":1}\n")
        gate.signal()
        #expect(text(try await stream.next()) == "{\"b\":2}\n")
        gate.signal()
        #expect(try await stream.next() == nil)
        #expect(try await stream.next() == nil)
    }

    @Test func bodyThatBreaksOffInsideAChunkIsCut() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead + "10\r\nhalf a c")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(HTTPClientRequest(url: server.url()))
        var received = ""
        let error = await #expect(throws: HTTPClientError.self) {
            while let part = try await stream.next() { received += text(part) ?? "" }
        }
        #expect(error?.code == .cut)
        #expect(received == "half a c")
    }

    @Test func bodyShorterThanItsLengthIsCut() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: server.url()))
        }
        #expect(error?.code == .cut)
    }

    @Test func aCompressedBodyIsNotAskedForAndHandedOnAsItCame() async throws {
        let body = "this is no gzip at all"
        let requests = Lock<[String]>([])
        let server = try RawServer { connection in
            while let request = connection.request() {
                requests.withLock { $0.append(request) }
                connection.send(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n"
                        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            }
        }
        let client = try HTTPClient()
        defer { client.close() }
        let plain = try await client.send(HTTPClientRequest(url: server.url()))
        #expect(text(plain.body) == body)
        let asked = try await client.send(
            HTTPClientRequest(url: server.url(), fields: ["Accept-Encoding": "zstd, gzip"]))
        #expect(text(asked.body) == body)
        let sent = requests.withLock { $0 }
        #expect(sent.count == 2)
        #expect(sent.first?.lowercased().contains("accept-encoding") == false)
        #expect(sent.last?.contains("\r\nAccept-Encoding: zstd, gzip\r\n") == true)
    }

    /// The barrier is that the client's one thread has served others many times since the sender was held up.
    @Test func senderIsStoppedWhileNobodyReadsAndOtherTransfersGoOn() async throws {
        let total = 64 << 20
        let piece = 64 << 10
        let sent = Lock(0)
        let server = try RawServer { connection in
            guard let request = connection.request() else { return }
            guard request.hasPrefix("GET /large") else {
                return _ = connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let bytes = [UInt8](repeating: 7, count: piece)
            for _ in 0..<total / piece where connection.send(bytes) == piece {
                sent.withLock { $0 += piece }
            }
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(HTTPClientRequest(url: server.url("/large")))
        for _ in 0..<50 {
            let small = try await client.send(HTTPClientRequest(url: server.url("/small")))
            #expect(text(small.body) == "ok")
        }
        // What the two sockets' buffers hold, and no more: the rest of the body is still with the server.
        #expect(sent.withLock { $0 } < total / 4)
        var received = 0
        var largest = 0
        while let part = try await stream.next() {
            received += part.count
            largest = max(largest, part.count)
        }
        #expect(received == total)
        #expect(largest <= 1 << 20)
    }

    @Test func cancellingTheReadingTaskEndsItAndClosesTheConnection() async throws {
        let (hangUps, hungUp) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            connection.waitForHangUp()
            hungUp.yield()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(HTTPClientRequest(url: server.url()))
        let task = Task { try await stream.next() }
        try await wait(for: "the task to wait for the body") { stream.transfer.isAwaited }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await _ in hangUps { break }
    }

    @Test func cancellingWhileWaitingForTheHeadThrowsAndClosesTheConnection() async throws {
        let (hangUps, hungUp) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.waitForHangUp()
            hungUp.yield()
        }
        let loop = try CurlLoop()
        try loop.start()
        defer { loop.stop() }
        let transfer = Transfer(HTTPClientRequest(url: server.url()), loop: loop)
        loop.submit(.add(transfer))
        let task = Task { try await transfer.head().status }
        try await wait(for: "the server to be asked, and the task to wait") {
            server.connections == 1 && transfer.isAwaited
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await _ in hangUps { break }
    }

    @Test func aTaskThatIsCancelledAtOnceIsCancelled() async throws {
        let server = try RawServer { connection in connection.waitForHangUp() }
        let client = try HTTPClient()
        defer { client.close() }
        let url = server.url()
        for _ in 0..<50 {
            let task = Task { try await client.open(HTTPClientRequest(url: url)).status }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test func droppingTheStreamClosesTheConnection() async throws {
        let (hangUps, hungUp) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            connection.waitForHangUp()
            hungUp.yield()
        }
        let client = try HTTPClient()
        defer { client.close() }
        do {
            let stream = try await client.open(HTTPClientRequest(url: server.url()))
            #expect(stream.status == 200)
        }
        for await _ in hangUps { break }
    }

    @Test func silenceLongerThanTheIdleTimeoutEndsTheAnswer() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: server.url(), idleTimeout: .milliseconds(150)))
        }
        #expect(error?.code == .silent)
    }

    /// Lets the thread of a client take a turn, after all it had to do before: any transfer does.
    private func turn(_ client: HTTPClient) async throws {
        let nobody = try RefusingPort()
        await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: "http://127.0.0.1:\(nobody.number)/"))
        }
    }

    /// On a clock that the test moves.
    @Test func aRequestThatIsNotAnsweredEndsAfterOneIdleTimeoutAlthoughItsBodyWentOut() async throws {
        let clock = Lock(ContinuousClock.now)
        let hasRequest = Lock(false)
        let server = try RawServer { connection in
            _ = connection.request()
            hasRequest.withLock { $0 = true }
            connection.waitForHangUp()
        }
        let loop = try CurlLoop(now: { clock.withLock { $0 } })
        let client = try HTTPClient(driving: loop)
        defer { client.close() }
        let transfer = Transfer(
            HTTPClientRequest(
                method: "POST", url: server.url(), body: Array("{}".utf8), idleTimeout: .seconds(30)),
            loop: loop)
        loop.submit(.add(transfer))
        let head = Task { try await transfer.head().status }
        try await wait(for: "the request to be there, and the task to wait") {
            hasRequest.withLock { $0 } && transfer.isAwaited
        }
        // The turn in which the request went out is over then.
        try await turn(client)
        clock.withLock { $0 += .seconds(29) }
        try await turn(client)
        #expect(transfer.isAwaited)
        clock.withLock { $0 += .seconds(1) }
        try await turn(client)
        let error = await #expect(throws: HTTPClientError.self) { try await wait(forEndOf: head) }
        #expect(error?.code == .silent)
    }

    /// On a clock that the test moves.
    @Test func silenceCountsOnlyWhileSomebodyReads() async throws {
        let clock = Lock(ContinuousClock.now)
        let line = DispatchSemaphore(value: 0)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            line.wait()
            connection.chunk("x")
            connection.waitForHangUp()
        }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        let stream = try await client.open(HTTPClientRequest(url: server.url(), idleTimeout: .seconds(30)))
        // Whoever is busy with what came before cannot know whether more would have come.
        clock.withLock { $0 += .seconds(100) }
        try await turn(client)
        line.signal()
        #expect(text(try await stream.next()) == "x")
        clock.withLock { $0 += .seconds(100) }
        try await turn(client)
        let part = Task { try await stream.next() }
        try await wait(for: "the task to wait for the body") { stream.transfer.isAwaited }
        clock.withLock { $0 += .seconds(29) }
        try await turn(client)
        #expect(stream.transfer.isAwaited)
        clock.withLock { $0 += .seconds(1) }
        try await turn(client)
        let error = await #expect(throws: HTTPClientError.self) { try await wait(forEndOf: part) }
        #expect(error?.code == .silent)
    }

    /// On a clock that the test moves: each step is shorter than the time-out, the sum of two is longer.
    @Test func bytesNowAndThenKeepALongAnswerAlive() async throws {
        let clock = Lock(ContinuousClock.now)
        let step = Duration.seconds(40)
        let steps = DispatchSemaphore(value: 0)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            for _ in 0..<6 {
                steps.wait()
                connection.chunk("x")
            }
            connection.waitForHangUp()
        }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        let stream = try await client.open(
            HTTPClientRequest(
                url: server.url(), connectTimeout: TestOptions.deadline, idleTimeout: .seconds(60)))
        for _ in 0..<6 {
            clock.withLock { $0 += step }
            steps.signal()
            #expect(text(try await stream.next()) == "x")
        }
        let last = Task { try await stream.next() }
        try await wait(for: "the task to wait for the body") { stream.transfer.isAwaited }
        clock.withLock { $0 += step * 2 }
        try await turn(client)
        let error = await #expect(throws: HTTPClientError.self) { try await wait(forEndOf: last) }
        #expect(error?.code == .silent)
    }

    @Test func closingTheClientEndsItsStreams() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        let stream = try await client.open(HTTPClientRequest(url: server.url()))
        let part = Task { try await stream.next() }
        try await wait(for: "the task to wait for the body") { stream.transfer.isAwaited }
        client.close()
        let error = await #expect(throws: HTTPClientError.self) { try await part.value }
        #expect(error?.code == .closed)
        let late = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: server.url()))
        }
        #expect(late?.code == .closed)
    }
}
