import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

@Suite(.patient())
struct ConnectTests {
    @Test(.behaviour(72)) func syncedRowsAppearAndTheStatusTellsSo() async throws {
        let start = Date()
        let bench = try ConnectedBench()
        let database = bench.database
        var results = try database.watch("SELECT name FROM users") { try $0.getString(index: 0) }
            .makeAsyncIterator()
        #expect(try await results.next() == [])
        async let first: Void = database.waitForFirstSync()
        try await bench.connect()
        let stream = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        stream.send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5, priority: 1)]),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"synced"}"#)))
        try await wait(for: "the progress of the download") {
            bench.status.downloadProgress?.downloadedOperations == 1
        }
        #expect(bench.status.downloading)
        #expect(bench.status.downloadProgress?.totalOperations == 1)
        #expect(bench.status.downloadProgress?.fraction == 1)
        #expect(
            bench.status.downloadProgress?.untilPriority(priority: BucketPriority(0)).totalOperations == 0)
        #expect(
            bench.status.downloadProgress?.untilPriority(priority: BucketPriority(1)).totalOperations == 1)
        #expect(bench.status.hasSynced == false)
        stream.send(SyncLines.complete(1))
        try await first
        #expect(bench.status.hasSynced == true)
        let synced = try #require(bench.status.lastSyncedAt)
        // It is kept in microseconds.
        #expect(synced >= start.addingTimeInterval(-0.001) && synced <= Date())
        #expect(bench.status.statusForPriority(BucketPriority(1)).hasSynced == true)
        #expect(try await results.next() == ["synced"])
        // Rows of the service are not queued for upload.
        #expect(try await database.getCrudBatch() == nil)
        try await database.close()
    }

    @Test(.behaviour(89, 90, 91, 92, 136)) func requestCarriesTheOptions() async throws {
        let bench = try ConnectedBench()
        try await bench.connect(
            options: ConnectOptions(
                params: ["foo": .string("bar")], appMetadata: ["app_version": "1.0.0"],
                includeDefaultStreams: false))
        _ = try await bench.stream()
        let body = try bench.transport.body(0)
        #expect(body["parameters"] == .object([JSONMember("foo", .string("bar"))]))
        #expect(body["app_metadata"] == .object([JSONMember("app_version", .string("1.0.0"))]))
        #expect(body["streams"]?["include_defaults"] == .bool(false))
        let request = bench.transport.requests[0]
        #expect(request.method == "POST")
        #expect(request.url == "https://powersynctest.example.org/sync/stream")
        #expect(request.headers.contains(SyncHTTPHeader("Authorization", "Token test-token")))
        #expect(request.headers.contains { $0.name == "User-Agent" && $0.value.contains("powersync-swift/") })
        try await bench.database.close()
    }

    @Test(.behaviour(95)) func disconnectingAndConnectingAgainWorksAnyNumberOfTimes() async throws {
        let bench = try ConnectedBench()
        let connector = TestConnector()
        for round in 0..<3 {
            try await bench.connect(connector)
            let stream = try await bench.stream(round)
            try await wait(for: "the connection") { bench.status.connected }
            try await bench.database.disconnect()
            #expect(!bench.status.connected && !bench.status.connecting)
            #expect(bench.status.anyError == nil)
            #expect(stream.isCancelled)
        }
        #expect(connector.fetches == 3)
        try await bench.database.disconnect()
        try await bench.database.close()
    }

    @Test(.behaviour(98)) func lastOfManyConnectsWinsAndNoneBetweenOpensAStream() async throws {
        let bench = try ConnectedBench(environment: SteppedClock().environment)
        let gate = Gate()
        defer { gate.open() }
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.connect(TestConnector { _ in await gate.pass() })
        try await bench.stream().send(SyncLines.tokenExpires(in: 3600))
        try await wait(for: "the upload, for whose end all others wait") { gate.arrivals == 1 }
        var connecting: [Task<Void, any Error>] = []
        for number in 1...10 {
            connecting.append(
                Task {
                    try await bench.connect(options: ConnectOptions(params: ["a": .int(number)]))
                })
            try await wait(for: "wish \(number)") { bench.lifecycle.waiting == number }
        }
        gate.open()
        for task in connecting { try await wait(forEndOf: task) }
        _ = try await bench.stream(1)
        try await wait(for: "the connection") { bench.status.connected }
        #expect(try bench.transport.body(1)["parameters"]?["a"] == .number("10"))
        #expect(bench.transport.streams.map(\.isCancelled) == [true, false])
        try await bench.database.close()
        #expect(!bench.transport.streams.contains { !$0.isCancelled })
    }

    @Test(.behaviour(94)) func cancellingTheTaskThatConnectedKeepsSyncing() async throws {
        let bench = try ConnectedBench()
        let task = Task {
            try await bench.connect()
            // Goes on until it is cancelled.
            let never = AsyncStream<Void> { _ in }
            for await _ in never {}
        }
        let stream = try await bench.stream()
        task.cancel()
        try await task.value
        stream.send(SyncLines.checkpoint(0, [.init("b", count: 0)]))
        try await wait(for: "the download") { bench.status.downloading || stream.isCancelled }
        #expect(bench.status.downloading)
        stream.send(SyncLines.complete(0))
        try await wait(for: "its end") { bench.status.hasSynced == true || stream.isCancelled }
        #expect(bench.status.hasSynced == true && bench.status.connected)
        try await bench.database.close()
    }

    @Test(.behaviour(111))
    func localWriteIsUploadedThenReplacedByTheServiceWithNothingBetween() async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        try await database.execute("INSERT INTO users (id, name) VALUES ('u', 'local write')")
        var results = try database.watch(
            options: WatchOptions(sql: "SELECT name FROM users", throttle: 0) { try $0.getString(index: 0) }
        ).makeAsyncIterator()
        #expect(try await results.next() == ["local write"])
        let connector = TestConnector()
        try await bench.connect(connector)
        let stream = try await bench.stream()
        stream.send(SyncLines.tokenExpires(in: 3600))
        try await wait(for: "the request for a write checkpoint") {
            bench.transport.requests.contains { $0.url.contains("/write-checkpoint2.json?client_id=") }
        }
        #expect(connector.uploads == 1)
        stream.send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)], writeCheckpoint: 1),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"from server"}"#)),
            SyncLines.complete(1))
        var seen: [[String]] = []
        while let names = try await results.next() {
            seen.append(names)
            if names == ["from server"] { break }
        }
        #expect(seen.allSatisfy { $0 == ["local write"] || $0 == ["from server"] })
        #expect(seen.last == ["from server"])
        try await wait(for: "the upload") { !bench.status.uploading }
        try await database.close()
    }

    @Test func writeWhileConnectedIsUploadedWithoutBeingAsked() async throws {
        let bench = try ConnectedBench()
        let connector = TestConnector()
        try await bench.connect(connector)
        let stream = try await bench.stream()
        bench.completeEmptyCheckpoint(stream)
        try await bench.database.waitForFirstSync()
        #expect(connector.uploads == 0)
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await wait(for: "the upload") { connector.uploads == 1 }
        try await bench.database.close()
    }

    @Test func uploadErrorShowsAndGoesWithTheNextSuccess() async throws {
        let bench = try ConnectedBench()
        let attempts = Lock(0)
        let connector = TestConnector { database in
            let isFirst = attempts.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { throw TestError(text: "backend is down") }
            try await database.getNextCrudTransaction()?.complete()
        }
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        let flow = bench.status.asFlow()
        try await bench.connect(connector, options: ConnectOptions(crudThrottle: 0, retryDelay: 0.05))
        let stream = try await bench.stream()
        stream.send(SyncLines.tokenExpires(in: 3600))
        var sawError = false
        for await status in flow {
            if let error = status.uploadError as? TestError {
                #expect(error == TestError(text: "backend is down"))
                #expect(status.anyError is TestError)
                sawError = true
            } else if sawError, status.uploadError == nil {
                break
            }
        }
        #expect(sawError)
        try await bench.database.close()
    }

    @Test func disconnectingFromInsideAnUploadDoesNotWaitForItself() async throws {
        let bench = try ConnectedBench()
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.connect(TestConnector { try await $0.disconnect() })
        let stream = try await bench.stream()
        stream.send(SyncLines.tokenExpires(in: 3600))
        try await wait(for: "the end of the connection") { stream.isCancelled && !bench.status.connected }
        try await bench.connect()
        _ = try await bench.stream(1)
        try await bench.database.close()
    }

    @Test(.behaviour(88)) func clearingEndsTheStreamFirst() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let stream = try await bench.stream()
        bench.completeEmptyCheckpoint(stream)
        try await bench.database.waitForFirstSync()
        try await bench.database.disconnectAndClear(soft: true)
        #expect(stream.isCancelled)
        #expect(bench.status.hasSynced == false)
        #expect(!bench.status.connected)
        try await bench.database.close()
    }

    @Test func whatWasSyncedIsKnownAfterOpeningAgainAndStaysWhileConnecting() async throws {
        let folder = try TemporaryDirectory()
        let first = try ConnectedBench(folder: folder)
        try await first.connect()
        first.completeEmptyCheckpoint(try await first.stream())
        try await first.database.waitForFirstSync()
        try await first.database.close()
        let second = try ConnectedBench(folder: folder)
        try await second.database.waitForFirstSync()
        try await second.database.waitForFirstSync(priority: 3)
        let flow = second.status.asFlow()
        try await second.connect()
        for await status in flow {
            #expect(status.hasSynced == true)
            if status.connected { break }
        }
        try await second.database.close()
    }

    @Test func instanceThatDidNotConnectSharesTheStreamAndDoesNotEndIt() async throws {
        let folder = try TemporaryDirectory()
        let a = try ConnectedBench(folder: folder)
        let b = try ConnectedBench(folder: folder)
        _ = try await b.users()
        try await a.connect()
        let stream = try await a.stream()
        try await wait(for: "the connection") { b.status.connected }
        try await b.database.close()
        a.completeEmptyCheckpoint(stream)
        try await a.database.waitForFirstSync()
        #expect(!stream.isCancelled)
        let c = try ConnectedBench(folder: folder)
        _ = try await c.users()
        try await a.database.close()
        #expect(stream.isCancelled)
        #expect(!c.status.connected)
        try await c.database.close()
    }

    @Test func syncWorksInMemory() async throws {
        let bench = try ConnectedBench(name: ":memory:")
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        try await bench.database.close()
    }

    @Test func theAppDecidesWhetherAnswersMayComeCompressed() async throws {
        let choices: [(configuration: SyncClientConfiguration?, accepted: Bool)] = [
            (nil, true), (SyncClientConfiguration(), true),
            (SyncClientConfiguration(acceptsCompression: true), true),
            (SyncClientConfiguration(acceptsCompression: false), false),
        ]
        for (configuration, accepted) in choices {
            let bench = try ConnectedBench()
            try await bench.connect(options: ConnectOptions(clientConfiguration: configuration))
            _ = try await bench.stream()
            #expect(bench.transport.requests.map(\.acceptsCompression) == [accepted])
            try await bench.database.close()
        }
    }

    @Test func requestsAreLoggedAsAskedAndNeverTheToken() async throws {
        for (level, wanted, unwanted) in [
            (
                SyncRequestLogLevel.all,
                ["with header", "with body: {", "Response line: {\"checkpoint_complete\""], [""]
            ),
            (.headers, ["with header"], ["with body", "Response line"]),
            (.body, ["with body: {", "Response line: {\"checkpoint_complete\""], ["with header"]),
            (.info, ["sending request"], ["with header", "with body", "Response line"]),
        ] {
            let bench = try ConnectedBench()
            let logged = Lock<[String]>([])
            let logger = SyncRequestLoggerConfiguration(requestLevel: level) { line in
                logged.withLock { $0.append(line) }
            }
            try await bench.connect(
                options: ConnectOptions(clientConfiguration: SyncClientConfiguration(requestLogger: logger)))
            bench.completeEmptyCheckpoint(try await bench.stream())
            try await bench.database.waitForFirstSync()
            try await bench.database.close()
            let lines = logged.withLock { $0 }
            #expect(lines.first == "Starting request to POST https://powersynctest.example.org/sync/stream")
            #expect(lines.contains("Got response code 200 on https://powersynctest.example.org/sync/stream"))
            for text in wanted { #expect(lines.contains { $0.contains(text) }, "\(level): \(text)") }
            for text in unwanted where !text.isEmpty {
                #expect(!lines.contains { $0.contains(text) }, "\(level): \(text)")
            }
            #expect(!lines.contains { $0.contains("test-token") })
        }
    }
}
