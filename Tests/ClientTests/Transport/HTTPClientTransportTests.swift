import Dispatch
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync
@testable import PowerSyncHTTPClient

@Suite(.patient()) struct HTTPClientTransportTests {
    /// The service takes what it is sent and never answers, or stops in the middle of its answer.
    @Test("R13 A service that says nothing for 30 s is given up", arguments: ["/send", "/open", "/next"])
    func aServiceThatSaysNothingForThirtySecondsIsGivenUp(_ call: String) async throws {
        let clock = Lock(ContinuousClock.now)
        let server = try RawServer { connection in
            guard let request = connection.request() else { return }
            if request.hasPrefix("POST /next") { connection.send(.chunkedHead) }
            connection.waitForHangUp()
        }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        let transport = HTTPClientTransport(client: client)
        let request = SyncHTTPRequest(
            method: "POST", url: server.url(call), headers: [], body: Array("{}".utf8))
        let outcome = Lock<(any Error)?>(nil)
        let asking = Task {
            do {
                if call == "/send" {
                    _ = try await transport.send(request)
                } else {
                    _ = try await transport.open(request).next()
                }
            } catch {
                outcome.withLock { $0 = error }
            }
        }
        defer { asking.cancel() }
        let nobody = try RefusingPort()
        // When the silence begins for the client is not seen from here: the clock goes on until it is over.
        try await wait(for: "the silence to be noticed") {
            clock.withLock { $0 += HTTPClientTransport.idleTimeout }
            // Any transfer lets the client look at the clock; this one fails.
            _ = try? await client.send(HTTPClientRequest(url: "http://127.0.0.1:\(nobody.number)/"))
            return outcome.withLock { $0 != nil }
        }
        #expect(outcome.withLock { $0 as? SyncError }?.code == .silentConnection)
        #expect(HTTPClientTransport.idleTimeout == .seconds(30))
    }

    @Test func anAnswerThatComesByteByByteIsGivenUp() async throws {
        let clock = Lock(ContinuousClock.now)
        let (steps, sent) = (DispatchSemaphore(value: 0), Lock(0))
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            sent.withLock { $0 += 1 }
            for _ in 0..<2 {
                steps.wait()
                connection.chunk("x")
                sent.withLock { $0 += 1 }
            }
            connection.waitForHangUp()
        }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        let nobody = try RefusingPort()
        /// Lets the client look at the socket and the clock: any transfer does, and this one fails.
        func turn() async {
            _ = try? await client.send(HTTPClientRequest(url: "http://127.0.0.1:\(nobody.number)/"))
        }
        let asking = Task {
            try await HTTPClientTransport(client: client).send(
                SyncHTTPRequest(method: "GET", url: server.url(), headers: []))
        }
        defer { asking.cancel() }
        try await wait(for: "the head to be sent") { sent.withLock { $0 } == 1 }
        await turn()
        for step in 1...2 {
            clock.withLock { $0 += .seconds(25) }
            steps.signal()
            try await wait(for: "byte \(step) to be sent") { sent.withLock { $0 } == step + 1 }
            await turn()
        }
        // The connection has been silent for ten seconds alone.
        clock.withLock { $0 += .seconds(10) }
        await turn()
        let error = await #expect(throws: HTTPClientError.self) { try await wait(forEndOf: asking) }
        #expect(error?.code == .timedOut)
    }

    /// Its status is what counts, and the rest of the body may never come.
    @Test(arguments: ["", "x"])
    func aRefusalIsSeenWithoutTheEndOfItsBody(_ sent: String) async throws {
        let server = try RawServer { connection in
            guard connection.request() != nil else { return }
            connection.send("HTTP/1.1 401 Unauthorized\r\nContent-Length: 9\r\n\r\n\(sent)")
            if sent.isEmpty { return }
            connection.waitForHangUp()
        }
        let response = try await HTTPClientTransport().send(
            SyncHTTPRequest(method: "GET", url: server.url(), headers: []))
        #expect(response.status == 401)
        #expect(response.body == Array(sent.utf8))
    }
}
