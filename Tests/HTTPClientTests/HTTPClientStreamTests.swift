import Foundation
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.timeLimit(.minutes(1)))
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

    @Test func senderIsStoppedWhileNobodyReads() async throws {
        let total = 64 << 20
        let beforePause = Lock<Int?>(nil)
        let (paused, pausedSignal) = AsyncStream.makeStream(of: Int.self)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            let bytes = [UInt8](repeating: 7, count: total)
            let sent = connection.send(bytes, patience: 0.3)
            beforePause.withLock { $0 = sent }
            pausedSignal.yield(sent)
            _ = connection.send(Array(bytes[sent...]), patience: 30)
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(HTTPClientRequest(url: server.url()))
        var pauses = paused.makeAsyncIterator()
        let sent = try #require(await pauses.next())
        // What the two sockets' buffers hold, and no more: the rest of the body is still with the server.
        #expect(sent < total / 4)
        #expect(beforePause.withLock { $0 } == sent)
        var received = 0
        var largest = 0
        while let part = try await stream.next() {
            received += part.count
            largest = max(largest, part.count)
        }
        #expect(received == total)
        #expect(largest <= 1 << 20)
    }

    @Test func otherTransfersGoOnWhileOneIsPaused() async throws {
        let server = try RawServer { connection in
            guard let request = connection.request() else { return }
            if request.hasPrefix("GET /large") {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 33554432\r\n\r\n")
                _ = connection.send([UInt8](repeating: 1, count: 33_554_432), patience: 30)
            } else {
                connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        }
        let client = try HTTPClient()
        defer { client.close() }
        let large = try await client.open(HTTPClientRequest(url: server.url("/large")))
        let small = try await client.send(HTTPClientRequest(url: server.url("/small")))
        #expect(text(small.body) == "ok")
        large.cancel()
    }

    @Test func cancellingTheReadingTaskEndsItAtOnceAndClosesTheConnection() async throws {
        let (hangUps, hungUp) = AsyncStream.makeStream(of: Void.self)
        let (starts, started) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            connection.waitForHangUp()
            hungUp.yield()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let url = server.url()
        let task = Task {
            let stream = try await client.open(HTTPClientRequest(url: url))
            started.yield()
            return try await stream.next()
        }
        for await _ in starts { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        for await _ in hangUps { break }
    }

    @Test func cancellingWhileWaitingForTheHeadThrowsCancellationError() async throws {
        let (arrivals, arrived) = AsyncStream.makeStream(of: Void.self)
        let server = try RawServer { connection in
            _ = connection.request()
            arrived.yield()
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let url = server.url()
        let task = Task { try await client.open(HTTPClientRequest(url: url)).status }
        for await _ in arrivals { break }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
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

    @Test func silenceLongerThanTheIdleTimeoutTimesOut() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            connection.waitForHangUp()
        }
        let client = try HTTPClient()
        defer { client.close() }
        let stream = try await client.open(
            HTTPClientRequest(url: server.url(), idleTimeout: .milliseconds(150)))
        let error = await #expect(throws: HTTPClientError.self) { try await stream.next() }
        #expect(error?.code == .timedOut)
    }

    @Test func bytesNowAndThenKeepALongAnswerAlive() async throws {
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            for _ in 0..<6 {
                // The gap between two parts is what this test is about: 6 of them exceed the timeout, one
                // does not.
                usleep(200_000)
                connection.chunk("x")
            }
            connection.send("0\r\n\r\n")
        }
        let client = try HTTPClient()
        defer { client.close() }
        let response = try await client.send(
            HTTPClientRequest(url: server.url(), idleTimeout: .seconds(1)))
        #expect(text(response.body) == "xxxxxx")
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
        client.close()
        let error = await #expect(throws: HTTPClientError.self) { try await part.value }
        #expect(error?.code == .closed)
        let late = await #expect(throws: HTTPClientError.self) {
            try await client.send(HTTPClientRequest(url: server.url()))
        }
        #expect(late?.code == .closed)
    }
}
