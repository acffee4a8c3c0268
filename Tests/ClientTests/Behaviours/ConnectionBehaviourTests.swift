import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-api 7 G: what the tests beside their sources do not say of it.
@Suite(.patient(), .namesSeed)
struct ConnectionBehaviourTests {
    /// Waits until the status has gone from connected over disconnected to connected.
    private func followReconnect(_ flow: AsyncStream<any SyncStatusData>) async {
        var seen: [Bool] = []
        for await status in flow {
            if seen.last != status.connected { seen.append(status.connected) }
            if seen == [true, false, true] { break }
        }
    }

    @Test("Connecting again goes through a disconnection", .behaviour(96))
    func connectingAgainDisconnects() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let first = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        let flow = bench.status.asFlow()
        try await bench.connect()
        _ = try await bench.stream(1)
        await followReconnect(flow)
        #expect(bench.status.connected)
        #expect(first.isCancelled)
        #expect(bench.transport.streams.count == 2)
        try await bench.database.close()
    }

    @Test("A stream that the service ends is followed by another one", .behaviour(97))
    func anEndedStreamIsFollowedByAnother() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        try await bench.connect()
        let stream = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        stream.end()
        try await wait(for: "the end of the connection") { !bench.status.connected }
        try await wait(for: "the pause") { clock.waiting.contains(.seconds(5)) }
        #expect(bench.transport.streams.count == 1)
        clock.advance(by: .seconds(5))
        _ = try await bench.stream(1)
        try await wait(for: "the connection") { bench.status.connected }
        #expect(bench.status.anyError == nil)
        try await bench.database.close()
    }

    /// That ten which wait at the same time open one stream says `ConnectTests`.
    @Test(
        "Of ten connects with random gaps the last one counts, and no stream of the others stays open",
        .behaviour(98))
    func theLastOfManyConnectsCounts() async throws {
        try await forEachSeed(3) { random in
            let bench = try ConnectedBench()
            var connecting: [Task<Void, any Error>] = []
            for number in 1...9 {
                connecting.append(
                    Task { try await bench.connect(options: ConnectOptions(params: ["a": .int(number)])) })
                // The gap is what is tested; nothing is expected of it.
                try await ContinuousClock().sleep(for: .milliseconds(random.below(11)))
            }
            // Which of tasks begins last nobody knows: the tenth comes behind all of them.
            for task in connecting { try await wait(forEndOf: task) }
            try await bench.connect(options: ConnectOptions(params: ["a": .int(10)]))
            try await wait(for: "the connection with the last parameters") {
                let count = bench.transport.streams.count
                guard count > 0, bench.status.connected else { return false }
                return try bench.transport.body(count - 1)["parameters"]?["a"] == .number("10")
            }
            let streams = bench.transport.streams
            #expect(streams.count <= 10)
            #expect(streams.dropLast().allSatisfy { $0.isCancelled })
            #expect(streams.last?.isCancelled == false)
            try await bench.database.close()
            #expect(bench.transport.streams.count == streams.count)
        }
    }

    @Test("A watch may connect with other parameters each time", .behaviour(99))
    func aWatchMayConnect() async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        let watching = Task {
            for try await counts in try database.watch(
                "SELECT count(*) FROM drafts", mapper: { try $0.getInt(index: 0) })
            {
                try await bench.connect(options: ConnectOptions(params: ["a": .int(counts.first ?? -1)]))
            }
        }
        for number in 0...2 {
            _ = try await bench.stream(number)
            #expect(try bench.transport.body(number)["parameters"]?["a"] == .number("\(number)"))
            if number == 2 { break }
            try await database.execute("INSERT INTO drafts (id, text) VALUES (uuid(), 'x')")
        }
        try await wait(for: "the connection") { bench.status.connected }
        #expect(bench.transport.streams.map(\.isCancelled) == [true, true, false])
        #expect(bench.status.anyError == nil)
        try await database.close()
        try await wait(forEndOf: watching)
        #expect(!bench.log.lines.contains { $0.severity == .error })
    }

    /// Iterations of the SDK are none of SQL commands, so that no command ends one.
    ///
    /// With the official core it does, and the SDK has to connect again at once.
    @Test(
        "A stop command from outside does not hold syncing up, however long the retry delay is",
        .behaviour(100))
    func aStopCommandHoldsNothingUp() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        try await bench.connect(options: ConnectOptions(retryDelay: 60))
        _ = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        try await bench.database.writeTransaction { transaction in
            _ = try transaction.getOptional(sql: "SELECT powersync_control('stop', NULL)", parameters: []) {
                $0.getStringOptional(index: 0)
            }
        }
        // Nobody moves the clock.
        bench.completeEmptyCheckpoint(try #require(bench.transport.streams.last))
        try await bench.database.waitForFirstSync()
        #expect(bench.status.connected)
        #expect(bench.status.anyError == nil)
        #expect(!clock.waiting.contains(.seconds(60)))
        try await bench.database.close()
    }

    /// What a logger of requests gets while a local write is uploaded and a checkpoint comes.
    private func logged(_ level: SyncRequestLogLevel) async throws -> [String] {
        let bench = try ConnectedBench()
        let logged = Lock<[String]>([])
        let logger = SyncRequestLoggerConfiguration(requestLevel: level) { line in
            logged.withLock { $0.append(line) }
        }
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.connect(
            options: ConnectOptions(clientConfiguration: SyncClientConfiguration(requestLogger: logger)))
        let stream = try await bench.stream()
        try await wait(for: "the request for a write checkpoint") {
            bench.transport.requests.contains { $0.method == "GET" }
        }
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 1), SyncLines.complete(0))
        try await bench.database.waitForFirstSync()
        try await bench.database.close()
        return logged.withLock { $0 }
    }

    @Test("The log of requests has the request and each line as they are", .behaviour(101))
    func theLogHasRequestsAndLines() async throws {
        let lines = try await logged(.all)
        #expect(lines.contains("Starting request to POST https://powersynctest.example.org/sync/stream"))
        #expect(lines.contains(#"Response line: {"checkpoint_complete":{"last_op_id":"0"}}"#))
        #expect(lines.contains(#"  Response: {"data":{"write_checkpoint":"1"}}"#))
    }

    @Test(
        "At the level info there are no headers and bodies, at the level none there is nothing",
        .behaviour(102))
    func levelsLeaveOut() async throws {
        let info = try await logged(.info)
        #expect(info.contains("Starting request to POST https://powersynctest.example.org/sync/stream"))
        #expect(info.contains("Got response code 200 on https://powersynctest.example.org/sync/stream"))
        for text in ["with header", "with body", "Response line", "  Response", "End of response"] {
            #expect(!info.contains { $0.hasPrefix(text) }, "\(text)")
        }
        #expect(try await logged(.none).isEmpty)
    }

    @Test("The next request names the buckets that are there, with their positions", .behaviour(103))
    func theNextRequestNamesPositions() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            stream.send(
                SyncLines.checkpoint(20, [.init("a", count: 4), .init("b", count: 4)]),
                SyncLines.data("a", SyncLines.put(10, "r1")))
            try await wait(for: "the first operation") {
                await rig.status.downloading?.first?.downloadedOperations == 1
            }
            stream.send(SyncLines.data("b", SyncLines.put(6, "r2")))
            try await wait(for: "the second operation") {
                await rig.status.downloading?.first?.downloadedOperations == 2
            }
            #expect(try rig.transport.body(0)["buckets"]?.text == "[]")
            stream.end()
            try await wait(for: "the pause") { rig.clock.waiting.contains(.seconds(5)) }
            rig.clock.advance(by: .seconds(5))
            _ = try await rig.stream(1)
            #expect(
                try rig.transport.body(1)["buckets"]?.text
                    == #"[{"name":"a","after":"10"},{"name":"b","after":"6"}]"#)
        }
    }

    @Test("A database in memory syncs down and up", .behaviour(109)) func memorySyncsBothWays() async throws {
        let bench = try ConnectedBench(name: ":memory:")
        let connector = TestConnector()
        try await bench.connect(connector)
        let stream = try await bench.stream()
        stream.send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"synced"}"#)),
            SyncLines.complete(1))
        try await bench.database.waitForFirstSync()
        #expect(try await bench.users() == ["synced"])
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('l', 'local')")
        try await wait(for: "the upload") { connector.entries.map(\.id) == ["l"] }
        try await bench.database.close()
    }
}
