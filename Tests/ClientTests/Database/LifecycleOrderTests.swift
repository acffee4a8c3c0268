import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// What is asked for at the same time is done one after the other (client-api 2.1 to 2.6).
@Suite(.patient())
struct LifecycleOrderTests {
    private let closedMessage = "Attempted to use closed PowerSync database"

    private func lastRequestedStreams(_ bench: ConnectedBench) throws -> [String?] {
        let requests = bench.transport.requests.filter { $0.url.hasSuffix("/sync/stream") }
        let streams = try bench.transport.body(requests.count - 1)["streams"]?["subscriptions"]?.arrayValue
        return streams?.map { $0["stream"]?.stringValue } ?? []
    }

    // MARK: Connecting and closing

    @Test func closingWhileAConnectOpensTheFileLeavesNothingRunning() async throws {
        var environment = SyncEnvironment.system()
        environment.opening.budget = TestOptions.deadline
        let bench = try ConnectedBench(environment: environment)
        let other = try SQLiteConnection(path: bench.folder.file())
        try other.execute("CREATE TABLE plain (id); BEGIN IMMEDIATE; INSERT INTO plain VALUES (1)")
        let connecting = Task { try await bench.connect() }
        try await wait(for: "the first failure in the log") { bench.log.has("in use") }
        let closing = Task { try await bench.database.close() }
        try await wait(for: "the wish to close") { bench.lifecycle.waiting == 2 }
        other.close()
        let error = await #expect(throws: PowerSyncError.self) { try await wait(forEndOf: connecting) }
        #expect(error?.errorDescription == closedMessage)
        try await wait(forEndOf: closing)
        #expect(bench.transport.requests.isEmpty)
        #expect(bench.lifecycle.phase == .closed)
    }

    @Test func closingWhileAReconnectWaitsForAnUploadLeavesNothingRunning() async throws {
        let bench = try ConnectedBench(environment: SteppedClock().environment)
        let gate = Gate()
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
        try await bench.connect(TestConnector { _ in await gate.pass() })
        try await bench.stream().send(SyncLines.tokenExpires(in: 3600))
        try await wait(for: "the upload") { gate.arrivals == 1 }
        let connecting = Task { try await bench.connect() }
        try await wait(for: "syncing to end") { bench.lifecycle.phase == .stopping }
        let closing = Task { try await bench.database.close() }
        try await wait(for: "the wish to close") { bench.lifecycle.waiting == 2 }
        gate.open()
        let error = await #expect(throws: PowerSyncError.self) { try await wait(forEndOf: connecting) }
        #expect(error?.errorDescription == closedMessage)
        try await wait(forEndOf: closing)
        #expect(bench.transport.streams.count == 1)
        #expect(bench.lifecycle.phase == .closed)
    }

    /// As for a caller that looked before another one closed.
    @Test func nothingIsOpenedAfterClosing() async throws {
        let folder = try TemporaryDirectory()
        let test = try TestDatabase(folder: folder)
        let database = try #require(test.database as? LocalDatabase)
        try await database.close()
        let error = await #expect(throws: PowerSyncError.self) {
            try await database.group.submit(.open, of: database)
        }
        #expect(error?.errorDescription == closedMessage)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func watchingAClosedDatabaseThrows() async throws {
        let test = try TestDatabase()
        try await test.database.close()
        let error = #expect(throws: PowerSyncError.self) {
            try test.database.watch("SELECT name FROM users") { try $0.getString(index: 0) }
        }
        #expect(error?.errorDescription == closedMessage)
    }

    @Test func aDroppedDatabaseClosesItsConnections() async throws {
        var bench: ConnectedBench? = try ConnectedBench()
        let group = try #require(bench?.database.group)
        _ = try await bench?.users()
        #expect(group.loop.withLock { $0.connections != nil })
        bench = nil
        try await wait(for: "the connections to close and the loop to end") {
            group.loop.withLock { $0.connections == nil && !$0.isRunning }
        }
    }

    // MARK: Opening

    @Test func whoIsCancelledStopsWaitingForTheOpeningAndTheOthersDoNot() async throws {
        var environment = SyncEnvironment.system()
        environment.opening.budget = TestOptions.deadline
        let bench = try ConnectedBench(environment: environment)
        let other = try SQLiteConnection(path: bench.folder.file())
        try other.execute("CREATE TABLE plain (id); BEGIN IMMEDIATE; INSERT INTO plain VALUES (1)")
        let patient = Task { try await bench.users() }
        try await wait(for: "the first failure in the log") { bench.log.has("in use") }
        let hasty = Task { try await bench.users() }
        try await wait(for: "both to wait") { bench.lifecycle.waiting == 2 }
        hasty.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: hasty) }
        other.close()
        #expect(try await wait(forEndOf: patient) == [])
        try await bench.database.close()
    }

    @Test func anOpeningThatNobodyWaitsForIsCancelledAndTheNextOneBeginsAnew() async throws {
        var environment = SyncEnvironment.system()
        environment.opening.budget = TestOptions.deadline
        let bench = try ConnectedBench(environment: environment)
        let other = try SQLiteConnection(path: bench.folder.file())
        try other.execute("CREATE TABLE plain (id); BEGIN IMMEDIATE; INSERT INTO plain VALUES (1)")
        let only = Task { try await bench.users() }
        try await wait(for: "the first failure in the log") { bench.log.has("in use") }
        only.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: only) }
        try await wait(for: "the opening to end") { bench.lifecycle.phase == .closed }
        other.close()
        #expect(try await bench.users() == [])
        try await bench.database.close()
    }

    @Test func theStatementsOfASecondInstanceRunToo() async throws {
        let folder = try TemporaryDirectory()
        let first = try TestDatabase(folder: folder, initialStatements: ["CREATE TEMP TABLE own (id)"])
        _ = try await first.count("users")
        let second = try TestDatabase(
            folder: folder,
            initialStatements: [
                "CREATE TEMP TABLE own (id)", "PRAGMA foreign_keys = on", "PRAGMA cache_size = 10",
                "PRAGMA busy_timeout = 10",
            ])
        let read: @Sendable (any ConnectionContext) throws -> [Int] = { connection in
            try connection.get(
                sql: "SELECT * FROM pragma_foreign_keys, pragma_cache_size, pragma_busy_timeout",
                parameters: []
            ) { cursor in try (0..<3).map { try cursor.getInt(index: $0) } }
        }
        // Each once on each connection, and the SDK's own after them.
        #expect(try await second.database.readLock(callback: read) == [1, -51200, 30000])
        #expect(try await second.database.writeLock(callback: read) == [1, -51200, 30000])
        let third = try TestDatabase(folder: folder, initialStatements: ["SELECT * FROM usersfail"])
        let error = await #expect(throws: PowerSyncError.self) { try await third.count("users") }
        #expect(error?.errorDescription?.contains("no such table: usersfail") == true)
        #expect(try await first.count("users") == 0)
    }

    // MARK: Clearing and the schema

    @Test func aHandleIsRequestedAfterClearingAndConnectingAtTheSameTime() async throws {
        for _ in 0..<20 {
            let bench = try ConnectedBench()
            let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
            try await bench.connect()
            _ = try await bench.stream()
            async let clearing: Void = bench.database.disconnectAndClear()
            async let connecting: Void = bench.connect()
            _ = try await (clearing, connecting)
            // The one that came last counts.
            if bench.lifecycle.phase != .syncing { try await bench.connect() }
            try await wait(for: "the connection") { bench.status.connected }
            #expect(try lastRequestedStreams(bench) == ["a"])
            try await handle.unsubscribe()
            try await bench.database.close()
        }
    }

    @Test(.behaviour(93)) func theSchemaIsFixedFromConnectingToDisconnecting() async throws {
        let bench = try ConnectedBench(transport: ScriptedTransport(statuses: [500]))
        let database = bench.database
        func refuse() async {
            let error = await #expect(throws: PowerSyncError.self) {
                try await database.updateSchema(schema: Schema())
            }
            #expect(error?.errorDescription == "Cannot update schema while connected")
        }
        try await bench.connect()
        await refuse()
        // The next attempt comes after the retry delay.
        try await wait(for: "the failure") { bench.status.downloadError != nil && !bench.status.connecting }
        await refuse()
        #expect(try await bench.users() == [])
        try await database.disconnect()
        try await database.updateSchema(schema: Schema())
        await #expect(throws: PowerSyncError.self) { try await bench.users() }
        try await database.close()
    }

    // MARK: Several instances

    @Test func closingOneInstanceHoldsUpNobodyInTheOther() async throws {
        let folder = try TemporaryDirectory()
        let (a, b) = (try TestDatabase(folder: folder), try TestDatabase(folder: folder))
        _ = try await a.count("users")
        let gate = BlockingGate()
        async let reading: Void = b.database.readLock { _ in gate.wait() }
        async let writing: Void = b.database.writeLock { _ in gate.wait() }
        defer { gate.open() }
        try await wait(for: "the callbacks") { gate.arrivals == 2 }
        let closing = Task { try await a.database.close() }
        try await wait(forEndOf: closing)
        gate.open()
        _ = try await (reading, writing)
        try await b.database.close()
    }

    /// What ends syncing.
    enum Ending: CaseIterable, Sendable { case closing, disconnecting, clearing, connecting }

    @Test(arguments: Ending.allCases)
    func noEndOfSyncingWaitsForWhatTheAppReads(_ ending: Ending) async throws {
        let folder = try TemporaryDirectory()
        let (a, b) = (try ConnectedBench(folder: folder), try ConnectedBench(folder: folder))
        try await a.connect()
        a.completeEmptyCheckpoint(try await a.stream())
        try await b.database.waitForFirstSync()
        let gate = BlockingGate()
        let reading = (0..<DatabaseOpener.readerCount).map { _ in
            Task { try await b.database.readLock { _ in gate.wait() } }
        }
        defer { gate.open() }
        try await wait(for: "all that reads to be in use") { gate.arrivals == reading.count }
        // What is subscribed to and syncing has not come to, when it ends.
        let stream = b.database.syncStream(name: "s", params: nil)
        try await b.database.pool().write { connection in
            try connection.transaction {
                try SyncStore(connection: connection, now: WallClock.microseconds())
                    .subscribe(StreamKey(name: "s", params: nil))
            }
        }
        let ended = Task {
            switch ending {
            case .closing: try await a.database.close()
            case .disconnecting: try await a.database.disconnect()
            case .clearing: try await a.database.disconnectAndClear()
            case .connecting: try await a.connect()
            }
        }
        try await wait(forEndOf: ended)
        switch ending {
        case .closing, .disconnecting:
            #expect(!b.status.connected && b.status.forStream(stream: stream) == nil)
            gate.open()
            try await wait(for: "it to be shown") { b.status.forStream(stream: stream) != nil }
        case .clearing: #expect(b.status.hasSynced == false && b.status.syncStreams?.isEmpty == true)
        case .connecting: _ = try await a.stream(1)
        }
        gate.open()
        for task in reading { try await wait(forEndOf: task) }
        #expect(!a.log.has("Could not read") && !b.log.has("Could not read"))
        try await a.database.close()
        try await b.database.close()
    }

    /// The reading that was left for later does not outlive the connections.
    @Test func whatIsShownLaterEndsWithTheConnections() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        _ = try await bench.stream()
        let group = bench.database.group
        let pool = try #require(try await bench.database.pool() as? SQLitePool)
        let gate = BlockingGate()
        // Nobody's use of the instance, so that closing it does not wait for them.
        let reading = (0..<DatabaseOpener.readerCount).map { _ in
            Task { try await pool.read { _ in gate.wait() } }
        }
        defer { gate.open() }
        try await wait(for: "all that reads to be in use") { gate.arrivals == reading.count }
        try await bench.database.disconnect()
        let left = group.loop.withLock { $0.showing }
        let showing = try #require(left)
        try await wait(for: "the status to be read") { pool.waitingReads == 1 }
        let closing = Task { try await bench.database.close() }
        // Behind what was accepted the connections close.
        try await wait(for: "the reading to be given up") { showing.isCancelled && pool.waitingReads == 0 }
        gate.open()
        try await wait(forEndOf: closing)
        for task in reading { try await wait(forEndOf: task) }
        #expect(!bench.log.has("Could not read"))
    }

    @Test func closingOneInstanceWaitsForItsOwnCallbacks() async throws {
        let folder = try TemporaryDirectory()
        let (a, b) = (try TestDatabase(folder: folder), try TestDatabase(folder: folder))
        _ = try await b.count("users")
        let database = try #require(a.database as? LocalDatabase)
        let gate = BlockingGate()
        let isOver = Lock(false)
        async let reading: Void = database.readLock { _ in
            gate.wait()
            isOver.withLock { $0 = true }
        }
        defer { gate.open() }
        try await wait(for: "the callback") { gate.arrivals == 1 }
        let closing = Task {
            try await database.close()
            return isOver.withLock { $0 }
        }
        try await wait(for: "the instance to leave") {
            database.group.loop.withLock { loop in
                if case .leave = loop.reducer.work { true } else { false }
            }
        }
        gate.open()
        #expect(try await wait(forEndOf: closing))
        try await reading
        #expect(try await b.count("users") == 0)
        try await b.database.close()
    }

    @Test func anInstanceThatIsMadeWhileTheFilesAreRemovedFindsANewFile() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(folder: folder)
        try await a.insertUser("A")
        let database = try #require(a.database as? LocalDatabase)
        let gate = BlockingGate()
        async let writing: Void = database.writeLock { _ in gate.wait() }
        defer { gate.open() }
        try await wait(for: "the callback") { gate.arrivals == 1 }
        let closing = Task { try await database.close(deleteDatabase: true) }
        try await wait(for: "the instance to leave") { database.isClosed }
        let b = try TestDatabase(folder: folder)
        let counting = Task { try await b.count("users") }
        try await wait(for: "both wishes") {
            database.group.loop.withLock { $0.reducer.waitingCount == 2 }
        }
        gate.open()
        try await writing
        try await wait(forEndOf: closing)
        #expect(try await wait(forEndOf: counting) == 0)
        try await b.insertUser("B")
        try await b.database.close()
        // What it wrote is in a file that is there.
        #expect(try await TestDatabase(folder: folder).count("users") == 1)
    }

    @Test func anInstanceThatJoinsShowsTheNewestStatus() async throws {
        for _ in 0..<200 {
            let group = DatabaseGroup(location: .memory)
            let first = DatabaseInstance(of: group)
            async let updating: Void = Self.update(group.status)
            async let joining = Self.join(group)
            let member = await joining
            await updating
            #expect(member.status.current.snapshot.iteration.appliedCheckpointRequestID == 50)
            // The first one that shows the status begins anew.
            withExtendedLifetime(first) {}
        }
    }

    private static func update(_ status: SharedStatus) async {
        for id in 1...50 {
            status.update { snapshot in
                snapshot.iteration.appliedCheckpointRequestID = Int64(id)
                return true
            }
        }
    }

    private static func join(_ group: DatabaseGroup) async -> DatabaseInstance {
        let member = DatabaseInstance(of: group)
        _ = group.join(member)
        return member
    }
}
