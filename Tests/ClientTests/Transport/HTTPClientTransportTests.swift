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
}
