import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Known failures of other clients in connecting, clearing and dying (reliability 1.7, whose numbers these are).
///
/// R22 is in `HistoricFileTests`.
@Suite(.patient())
struct LifecycleReliabilityTests {
    // MARK: A kill

    enum Kill: CaseIterable, Sendable {
        case inAWrite, behindAWrite, behindAnUpload
    }

    /// Writes rows up to a moment, and copies the files as a kill would leave them then.
    private func write(until kill: Kill, _ folder: TemporaryDirectory, leaving copy: String) throws {
        let connection = try SQLiteConnection(path: folder.file())
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode = WAL; PRAGMA cache_size = 10")
        try SyncBench.prepare(connection)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try connection.run("BEGIN IMMEDIATE")
        // More than the cache holds: pages go into the file before there is a commit.
        for number in 0..<200 {
            try connection.run(
                "INSERT INTO items(id, col) VALUES (?1, ?2)",
                [.text("local \(number)"), .text(String(repeating: "x", count: 1_000))])
        }
        let store = SyncStore(connection: connection, now: 0)
        #expect(try store.target() == SyncStore.pendingTarget)
        #expect(try store.hasPendingUploads())
        if kill != .inAWrite { try connection.run("COMMIT") }
        if kill == .behindAnUpload { try connection.run("DELETE FROM ps_crud") }
        for ending in ["", "-wal", "-shm"] {
            try FileManager.default.copyItem(atPath: folder.file() + ending, toPath: copy + ending)
        }
        let log = FileManager.default.contents(atPath: copy + "-wal") ?? Data()
        #expect(!log.isEmpty)
        if kill == .inAWrite { connection.rollBack() }
    }

    @Test(
        "R7 Whoever was killed in a write, or behind it, applies what the service sends",
        arguments: Kill.allCases)
    func aKillHoldsNoCheckpointUp(_ kill: Kill) async throws {
        let folder = try TemporaryDirectory()
        let left = folder.file("left.db")
        try write(until: kill, folder, leaving: left)
        let rig = try await SyncRig(
            transport: ScriptedTransport(answers: [.writeCheckpoint(1)]), path: left)
        // The target and the entries of the queue are there together, or neither is.
        let isWritten = kill != .inAWrite
        #expect(
            try await rig.database.write { try $0.target() } == (isWritten ? SyncStore.pendingTarget : nil))
        let isQueued = try await rig.database.write { try $0.hasPendingUploads() }
        #expect(isQueued == (kill == .behindAWrite))
        try await SyncRig.run(rig) { rig in
            let stream = try await rig.stream(0)
            try await wait(for: "the write checkpoint") {
                try await rig.database.write { try $0.target() } == (isWritten ? 1 : nil)
            }
            #expect(rig.uploads == (isQueued ? 1 : 0))
            stream.send(
                SyncLines.checkpoint(
                    1, [.init("b", checksum: 5)], writeCheckpoint: isWritten ? 1 : nil),
                SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)), SyncLines.complete())
            try await wait(for: "the checkpoint to be applied") { try await rig.items() == ["remote"] }
        }
    }

    // MARK: One after the other

    private struct Uploads {
        var running = 0
        var most = 0
        var ids: [Int64] = []
    }

    @Test("R10 However connects and disconnects race, one loop syncs, and no transaction is uploaded twice")
    func oneLoopSyncsAtATime() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let gate = Gate()
        defer { gate.open() }
        let uploads = Lock(Uploads())
        let connector: @Sendable () -> TestConnector = {
            TestConnector { database in
                guard let transaction = try await database.getNextCrudTransaction() else { return }
                uploads.withLock { uploads in
                    uploads.running += 1
                    uploads.most = max(uploads.most, uploads.running)
                    uploads.ids += transaction.crud.map(\.clientId)
                }
                await gate.pass()
                uploads.withLock { $0.running -= 1 }
                // In a task that is not cancelled: the backend has it, whatever becomes of the connection.
                try await Task { try await transaction.complete() }.value
            }
        }
        try await bench.connect(connector())
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        let before = try #require(bench.status.lastSyncedAt)
        let times = Lock<[Date]>([])
        let flow = bench.status.asFlow()
        let following = Task {
            for await status in flow {
                if let time = status.lastSyncedAt { times.withLock { $0.append(time) } }
            }
        }
        defer { following.cancel() }
        try await wait(for: "the throttle of the first round") { clock.waiting.contains(.seconds(1)) }
        clock.advance(by: .seconds(1))
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await wait(for: "the upload, for whose end all others wait") { gate.arrivals == 1 }
        var wishes: [Task<Void, any Error>] = []
        for number in 1...4 {
            wishes.append(
                Task {
                    if number.isMultiple(of: 2) {
                        try await bench.connect(connector())
                    } else {
                        try await bench.database.disconnect()
                    }
                })
            try await wait(for: "wish \(number)") { bench.lifecycle.waiting == number }
        }
        gate.open()
        for wish in wishes { try await wait(forEndOf: wish) }
        let stream = try await bench.stream(1)
        try await wait(for: "the request for a write checkpoint") {
            bench.transport.requests.contains { $0.method == "GET" }
        }
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 1), SyncLines.complete(0))
        let last = try await wait(
            for: "the checkpoint", read: { bench.status.lastSyncedAt },
            until: { $0.map { $0 > before } == true })
        try await wait(for: "it to be told") { times.withLock { $0.last } == last }
        #expect(bench.transport.streams.map(\.isCancelled) == [true, false])
        #expect(uploads.withLock { $0.most } == 1)
        #expect(uploads.withLock { $0.ids } == [1])
        let told = times.withLock { $0 }
        #expect(told == told.sorted())
        try await bench.database.close()
    }

    // MARK: Connecting again

    @Test("R12 Connecting works after clearing, after quick cycles and after a call that hangs")
    func connectingWorksAfterAnything() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let gate = Gate()
        defer { gate.open() }
        for round in 0..<2 {
            try await bench.connect()
            bench.completeEmptyCheckpoint(try await bench.stream(round))
            try await bench.database.waitForFirstSync()
            try await bench.database.disconnectAndClear()
            #expect(bench.status.hasSynced == false)
        }
        let cycles = 100
        for _ in 0..<cycles {
            try await bench.connect()
            try await bench.database.disconnect()
        }
        try await bench.connect()
        try await wait(for: "the connection") { bench.status.connected }
        // Each asked once at most, and none of them goes on.
        let requests = bench.transport.requests.count
        #expect(requests <= 2 + cycles + 1)
        let stream = try #require(bench.transport.streams.last)
        stream.send(SyncLines.tokenExpires(in: 3600))
        try await wait(for: "the line to be handled") { stream.isIdle }
        #expect(bench.transport.requests.count == requests)
        #expect(bench.transport.streams.count { !$0.isCancelled } == 1)
        try await bench.database.disconnect()

        try await bench.connect(TestConnector(fetch: { _ in await gate.pass() }))
        try await wait(for: "the call that hangs") { gate.arrivals == 1 }
        let stopping = Task { try await bench.database.disconnect() }
        try await wait(for: "the patience with it") { clock.waiting.contains(.seconds(5)) }
        clock.advance(by: .seconds(5))
        try await wait(forEndOf: stopping)
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream(requests))
        try await bench.database.waitForFirstSync()
        try await bench.database.close()
    }

    @Test("R24 Another user of the same file sees and uploads nothing of the one before")
    func anotherUserBeginsAnew() async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        func sync(_ user: String, _ stream: ScriptedStream) async throws {
            stream.send(
                SyncLines.checkpoint(1, [.init("of \(user)", checksum: 5)]),
                SyncLines.data(
                    "of \(user)",
                    SyncLines.put(
                        1, "u", checksum: 5, type: "users", data: #"{"name":"row of \#(user)"}"#)),
                SyncLines.complete(1))
            try await database.waitForFirstSync()
            #expect(try await bench.users() == ["row of \(user)"])
        }
        let attempts = Lock(0)
        let alice = UserConnector(user: "alice") { _ in
            attempts.withLock { $0 += 1 }
            throw TestError(text: "backend is down")
        }
        try await database.connect(connector: alice, options: ConnectOptions(crudThrottle: 0))
        let first = try await bench.stream()
        try await sync("alice", first)
        try await database.execute("INSERT INTO users (id, name) VALUES ('a', 'written by alice')")
        try await wait(for: "the failed upload") { bench.status.uploadError != nil }

        try await database.disconnectAndClear()
        let failed = attempts.withLock { $0 }
        #expect(first.isCancelled)
        #expect(try await bench.users().isEmpty)
        #expect(try await database.getCrudBatch() == nil)
        #expect(bench.status.hasSynced == false && bench.status.lastSyncedAt == nil)
        #expect(!bench.status.connected && bench.status.anyError == nil)

        let sent = Lock<[String]>([])
        let bob = UserConnector(user: "bob") { database in
            guard let transaction = try await database.getNextCrudTransaction() else { return }
            sent.withLock { $0 += transaction.crud.map(\.id) }
            try await transaction.complete()
        }
        try await database.connect(connector: bob, options: ConnectOptions(crudThrottle: 0))
        let second = try await bench.stream(1)
        let streams = bench.transport.requests.filter { $0.url.hasSuffix("/sync/stream") }
        #expect(streams.map { $0.headers[0].value } == ["Token token of alice", "Token token of bob"])
        #expect(try bench.transport.body(1)["buckets"]?.text == "[]")
        try await sync("bob", second)
        try await database.execute("INSERT INTO users (id, name) VALUES ('b', 'written by bob')")
        try await wait(for: "the upload") { sent.withLock { $0 } == ["b"] }
        #expect(attempts.withLock { $0 } == failed)
        try await database.close()
    }
}

private struct UserConnector: PowerSyncBackendConnectorProtocol {
    let user: String
    let upload: @Sendable (any PowerSyncDatabaseProtocol) async throws -> Void

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: "https://powersynctest.example.org", token: "token of \(user)")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws { try await upload(database) }
}
