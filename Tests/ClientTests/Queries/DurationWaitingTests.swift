import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct DurationWaitingTests {
    @Test func everyNumberIsATimeThatCanBeWaitedFor() {
        let expected: [(Double, Duration)] = [
            (0.25, .milliseconds(250)), (86_400, .seconds(86_400)), (0, .zero), (-1, .zero),
            (Double.nan, .zero),
            (-Double.infinity, .zero), (Double.leastNonzeroMagnitude, .zero), (Double.infinity, .longestWait),
            (Double.greatestFiniteMagnitude, .longestWait), (1e30, .longestWait),
        ]
        for (seconds, duration) in expected {
            #expect(Duration(waiting: seconds) == duration, "\(seconds)")
        }
    }

    @Test(arguments: ["inf", "1e308", "nan", "-1"])
    func aWatchTakesAnyThrottle(_ text: String) async throws {
        let throttle = try #require(Double(text))
        let test = try TestDatabase()
        var results = try test.database.watch(
            options: WatchOptions(sql: "SELECT name FROM users", throttle: throttle) {
                try $0.getString(index: 0)
            }
        ).makeAsyncIterator()
        #expect(try await results.next() == [])
        try await test.database.close()
    }

    /// The upload begins, and its throttle with it.
    @Test(arguments: ["inf", "1e308", "nan", "-1"])
    func connectingTakesAnyDelays(_ text: String) async throws {
        let delay = try #require(Double(text))
        let bench = try ConnectedBench()
        let connector = TestConnector()
        try await bench.database.execute("INSERT INTO users (id, name) VALUES (uuid(), 'A')")
        try await bench.connect(connector, options: ConnectOptions(crudThrottle: delay, retryDelay: delay))
        let stream = try await bench.stream()
        bench.completeEmptyCheckpoint(stream)
        try await wait(for: "the upload") { connector.entries.count == 1 }
        try await bench.database.close()
    }
}
