import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 I: what the tests beside their sources do not say of it.
@Suite(.patient())
struct CredentialsBehaviourTests {
    @Test("A token that lasts is kept, and for one that is over another is fetched", .behaviour(129))
    func aTokenThatIsOverIsFetchedAgain() async throws {
        let bench = try ConnectedBench()
        let connector = TestConnector()
        try await bench.connect(connector, options: ConnectOptions(retryDelay: 0))
        let stream = try await bench.stream()
        stream.send(SyncLines.tokenExpires(in: 4000))
        try await wait(for: "the line to be handled") { stream.isIdle }
        #expect(bench.status.connected)
        #expect(connector.fetches == 1)
        let flow = bench.status.asFlow()
        stream.send(SyncLines.tokenExpires(in: 0))
        var seen: [Bool] = []
        for await status in flow {
            if seen.last != status.connected { seen.append(status.connected) }
            if seen == [true, false, true] { break }
        }
        #expect(connector.fetches == 2)
        #expect(bench.transport.streams.count == 2)
        try await bench.database.close()
    }

    @Test(
        "Credentials that cannot be fetched show as an error, and are fetched again after the delay",
        .behaviour(131))
    func credentialsAreFetchedAgain() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let connector = TestConnector(fetch: { number in
            if number == 1 { throw TestError(text: "offline") }
        })
        try await bench.connect(connector, options: ConnectOptions(retryDelay: 0.2))
        try await wait(for: "the error") { bench.status.downloadError != nil }
        #expect(bench.status.downloadError as? TestError == TestError(text: "offline"))
        #expect(!bench.status.connected)
        try await wait(for: "the pause") { !clock.waiting.isEmpty }
        #expect(connector.fetches == 1)
        #expect(bench.transport.streams.isEmpty)
        // The retry delay, and what is lost of it in floating point.
        clock.advance(by: .milliseconds(201))
        _ = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        #expect(connector.fetches == 2)
        try await bench.database.close()
    }

    @Test("A new connection fetches credentials although those of the one before are good", .behaviour(134))
    func aNewConnectionFetchesCredentials() async throws {
        let bench = try ConnectedBench()
        let connector = TestConnector()
        for number in 0..<2 {
            try await bench.connect(connector)
            _ = try await bench.stream(number)
            try await wait(for: "the connection") { bench.status.connected }
            #expect(connector.fetches == number + 1)
        }
        try await bench.database.close()
    }
}
