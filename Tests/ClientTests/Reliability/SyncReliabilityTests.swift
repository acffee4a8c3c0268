import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync
@testable import PowerSyncHTTPClient

/// Known failures of other clients in downloading (reliability 1.7, whose numbers these are).
///
/// R15 is in `StreamBehaviourTests`.
@Suite(.patient())
struct SyncReliabilityTests {
    private static let count = 3

    /// The lines of a checkpoint with three users.
    private static let head = SyncLines.checkpoint(
        count, [.init("b", checksum: 5 * Int64(count), priority: 1, count: count)])
    private static let rows = (1...count).map { number in
        SyncLines.data(
            "b",
            SyncLines.put(number, "u\(number)", checksum: 5, type: "users", data: #"{"name":"\#(number)"}"#))
    }

    /// Whether a database has the users of the checkpoint.
    private func hasAll(_ bench: ConnectedBench) async throws -> Bool {
        try await bench.users() == ["1", "2", "3"]
    }

    @Test("R9 All rows are read, whatever the connection does after the first sync")
    func rowsStayWhileConnectingAgain() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let first = try await bench.stream()
        first.send(Self.head)
        for row in Self.rows { first.send(row) }
        first.send(SyncLines.complete(Self.count))
        try await bench.database.waitForFirstSync()
        #expect(try await hasAll(bench))
        let counts = Lock<Set<Int>>([])
        let results = try bench.database.watch(
            options: WatchOptions(sql: "SELECT count(*) FROM users", throttle: 0) {
                try $0.getInt(index: 0)
            })
        let watching = Task { for try await count in results { counts.withLock { $0.formUnion(count) } } }
        try await wait(for: "the first result") { counts.withLock { !$0.isEmpty } }
        for round in 1...5 {
            try await bench.database.disconnect()
            #expect(try await hasAll(bench))
            try await bench.connect()
            #expect(try await hasAll(bench))
            let stream = try await bench.stream(round)
            // The service goes on behind what is there, and sends none of it again.
            #expect(try bench.transport.body(round)["buckets"]?.text == #"[{"name":"b","after":"3"}]"#)
            stream.send(Self.head)
            try await wait(for: "the checkpoint to be followed") { stream.isIdle }
            #expect(try await hasAll(bench))
            stream.send(SyncLines.partial(1, Self.count))
            try await wait(for: "its first part to be applied") { stream.isIdle }
            #expect(try await hasAll(bench))
            let before = try #require(bench.status.lastSyncedAt)
            stream.send(SyncLines.complete(Self.count))
            try await wait(for: "it to be applied") { bench.status.lastSyncedAt.map { $0 > before } == true }
            #expect(try await hasAll(bench))
        }
        try await bench.database.close()
        try await wait(forEndOf: watching)
        #expect(counts.withLock { $0 } == [Self.count])
    }

    @Test("R11 Who waits for the first sync goes on when the rows can be read, and not before")
    func theFirstSyncIsOverWhenTheRowsAreThere() async throws {
        let bench = try ConnectedBench()
        let pool = try #require(try await bench.database.pool() as? SQLitePool)
        let waiting = [nil, Int32(1)].map { priority in
            Task {
                if let priority {
                    try await bench.database.waitForFirstSync(priority: priority)
                } else {
                    try await bench.database.waitForFirstSync()
                }
                return try await bench.users()
            }
        }
        let status = try #require(bench.status as? LiveSyncStatus)
        try await wait(for: "both to wait") { status.feed.waiterCount == 2 }
        try await bench.connect()
        let stream = try await bench.stream()
        stream.send(Self.head)
        for row in Self.rows { stream.send(row) }
        try await wait(for: "the download") {
            bench.status.downloadProgress?.downloadedOperations == Int32(Self.count)
        }
        // With the line that completes the checkpoint in its hands, the client cannot write.
        let gate = BlockingGate()
        async let writing: Void = bench.database.writeLock { _ in gate.wait() }
        defer { gate.open() }
        try await wait(for: "the writer to be held") { gate.arrivals == 1 }
        stream.send(SyncLines.complete(Self.count))
        try await wait(for: "applying to wait for the writer") { pool.waitingWrites > 0 }
        #expect(bench.status.hasSynced == false)
        #expect(status.feed.waiterCount == 2)
        gate.open()
        try await writing
        for task in waiting { #expect(try await wait(forEndOf: task) == ["1", "2", "3"]) }
        try await bench.database.close()
    }

    @Test("R13 A refused token never shows as connected, and no rejection or silence is the last attempt")
    func neitherRejectionsNorSilenceEndSyncing() async throws {
        let refusals = [401, 403, 401, 400, 404, 500]
        let rig = try await SyncRig(transport: ScriptedTransport(statuses: refusals))
        try await SyncRig.run(rig) { rig in
            for (attempt, status) in refusals.enumerated() {
                _ = try await rig.stream(attempt)
                try await wait(for: "the pause") { rig.clock.waiting.contains(.seconds(5)) }
                #expect((await rig.status.downloadError as? SyncError)?.status == status)
                #expect(!rig.snapshots.contains { $0.connected })
                rig.clock.advance(by: .seconds(5))
            }
            let stream = try await rig.stream(refusals.count)
            // Each refused token was replaced, and no other one.
            let tokens = rig.transport.requests.map { $0.headers[0].value }
            #expect(tokens == [1, 2, 2, 3, 3, 3, 3].map { "Token token-\($0)" })
            try await wait(for: "the connection") { await rig.status.connected }
            // A dead socket, as the transport finds it after 30 s.
            stream.fallSilent()
            let next = try await rig.stream(refusals.count + 1)
            next.send(SyncLines.checkpoint(0, []), SyncLines.complete(0))
            try await wait(for: "the error to go") { await rig.status.downloadError == nil }
            #expect(await rig.status.connected)
        }
    }

    @Test("R14 What ends after its stream is not told to an iteration that is over")
    func whatComesTooLateIsNoError() async throws {
        let (uploading, fetching) = (Gate(), Gate())
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.writeCheckpoint(1)]),
            fetch: { number in
                if number == 2 { await fetching.pass() }
                return SyncCredentials(endpoint: "https://service.test", token: "token-\(number)")
            },
            upload: { _, pool in
                await uploading.pass()
                try await pool.write { try $0.run("DELETE FROM ps_crud") }
            })
        try await rig.writeLocally()
        try await SyncRig.run(rig) { rig in
            defer {
                uploading.open()
                fetching.open()
            }
            let stream = try await rig.stream(0)
            stream.send(
                SyncLines.checkpoint(0, []), SyncLines.complete(0), SyncLines.tokenExpires(in: 10))
            try await wait(for: "the upload and the prefetch") {
                uploading.arrivals == 1 && fetching.arrivals == 1 && rig.isSynced
            }
            stream.end()
            try await wait(for: "the pause") { rig.clock.waiting.contains(.seconds(5)) }
            // All of it belongs to the stream that is over.
            fetching.open()
            uploading.open()
            try await wait(for: "the upload to end") { await !rig.status.uploading }
            rig.coordinator.subscriptionsChanged()
            rig.coordinator.triggerUpload()
            rig.clock.advance(by: .seconds(5))
            let next = try await rig.stream(1)
            try await wait(for: "the write checkpoint") {
                try await rig.database.write { try $0.target() } == 1
            }
            next.send(SyncLines.checkpoint(0, [], writeCheckpoint: 1), SyncLines.complete(0))
            try await wait(for: "the checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(rig.transport.streams.count == 2)
            #expect(!rig.snapshots.contains { $0.downloadError != nil || $0.uploadError != nil })
            #expect(!rig.log.contains { $0.contains("No iteration is active") })
        }
    }

    @Test("R20 A stream that says something now and then lasts for days")
    func aStreamLastsAsLongAsItGetsOn() async throws {
        try await SyncRig.run(try await SyncRig()) { rig in
            let stream = try await rig.stream(0)
            try await rig.restThrottle()
            let days = 10
            stream.send(SyncLines.checkpoint(days, [.init("b", count: days)]))
            for day in 1...days {
                rig.clock.advance(by: .seconds(86_400))
                stream.send(SyncLines.data("b", SyncLines.put(day, "r\(day)")))
                try await wait(for: "day \(day)") {
                    await rig.status.downloading?.first?.downloadedOperations == Int64(day)
                }
            }
            stream.send(SyncLines.complete(days))
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            #expect(rig.transport.streams.count == 1)
            #expect(try await rig.items().count == days)
            #expect(!rig.snapshots.contains { $0.downloadError != nil })
        }
    }

    @Test("R20 The transport counts the time without a byte, not that of the stream")
    func theTransportCountsSilenceAlone() async throws {
        let clock = Lock(ContinuousClock.now)
        let (steps, lines) = (250, DispatchSemaphore(value: 0))
        let server = try RawServer { connection in
            _ = connection.request()
            connection.send(.chunkedHead)
            for _ in 0..<steps {
                lines.wait()
                connection.chunk("x")
            }
            connection.waitForHangUp()
        }
        let client = try HTTPClient(driving: CurlLoop(now: { clock.withLock { $0 } }))
        defer { client.close() }
        let stream = try await HTTPClientTransport(client: client).open(
            SyncHTTPRequest(method: "POST", url: server.url("/sync/stream"), headers: [], body: []))
        defer { stream.cancel() }
        // Two hours and more.
        for step in 1...steps {
            clock.withLock { $0 += HTTPClientTransport.idleTimeout - .seconds(1) }
            lines.signal()
            #expect(try await stream.next() == Array("x".utf8), "step \(step)")
        }
    }
}
