import Dispatch
import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// A database on a pool of the app's own does what it does on connections of the SDK.
@Suite(.patient())
struct BorrowedPoolTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func insert(_ name: String, into database: any PowerSyncDatabaseProtocol) async throws {
        try await database.execute(
            sql: "INSERT INTO users (id, name) VALUES (uuid(), ?)", parameters: [name])
    }

    // MARK: Tables

    @Test func theSchemaIsThereAndWritesThroughViewsAreQueued() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        try await insert("A", into: bench.database)
        // Through triggers, which call functions of the core on this connection.
        try await pool.own("INSERT INTO users (id, name) VALUES ('b', ?)", [.string("B")])
        #expect(try await bench.users() == ["A", "B"])
        #expect(try await pool.ownTexts("SELECT name FROM users ORDER BY name") == ["A", "B"])
        let queue = try #require(try await bench.database.getCrudBatch())
        #expect(queue.crud.map(\.op) == [.put, .put])
        #expect(queue.crud.last?.opData?["name"] == "B")
        #expect(try await pool.ownTexts("SELECT count(*) FROM ps_crud") == ["2"])
        try await queue.complete()
        #expect(try await bench.database.getCrudBatch() == nil)
        try await bench.database.close()
    }

    @Test func aNewSchemaReachesEveryConnection() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(
            on: pool, in: folder, schema: Schema(Table(name: "users", columns: [.text("name")])))
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('a', 'A')")
        // Both readers have compiled it for the old tables.
        for _ in 0..<4 { #expect(try await bench.users() == ["A"]) }
        try await bench.database.updateSchema(
            schema: Schema(Table(name: "users", columns: [.text("name"), .text("email")])))
        try await bench.database.execute("UPDATE users SET email = 'a@example.org'")
        for _ in 0..<4 {
            let rows = try await bench.database.getAll("SELECT * FROM users") {
                try $0.getString(name: "email")
            }
            #expect(rows == ["a@example.org"])
        }
        try await bench.connect()
        await #expect(throws: PowerSyncError.self) { try await bench.database.updateSchema(schema: Schema()) }
        try await bench.database.close()
    }

    @Test func theSettingsOfTheAppStay() async throws {
        let pool = try OwnPool(path: folder.file())
        for pragma in ["user_version = 7", "cache_size = 77", "busy_timeout = 777"] {
            try await pool.own("PRAGMA \(pragma)")
        }
        let bench = ConnectedBench(on: pool, in: folder)
        try await insert("A", into: bench.database)
        let kept = try await bench.database.writeLock { context in
            try ["user_version", "cache_size", "busy_timeout"].map { name in
                try context.get(sql: "PRAGMA \(name)", parameters: []) { try $0.getInt(index: 0) }
            }
        }
        #expect(kept == [7, 77, 777])
        try await bench.database.close()
    }

    // MARK: Changes

    @Test(arguments: [OwnPool.Telling.names, .marker])
    func aWatchHearsOfWritesThroughPowerSyncAndPastIt(_ telling: OwnPool.Telling) async throws {
        let pool = try OwnPool(path: folder.file(), telling: telling)
        let bench = ConnectedBench(on: pool, in: folder)
        let users = try bench.watchedUsers()
        try await users.wait(for: [])
        try await insert("A", into: bench.database)
        try await users.wait(for: ["A"])
        try await pool.own("INSERT INTO users (id, name) VALUES ('b', 'B')")
        try await users.wait(for: ["A", "B"])
        try await bench.database.disconnectAndClear()
        try await users.wait(for: [])
        try await bench.database.close()
        try await users.waitForEnd()
    }

    @Test func onlyTheTablesThatThePoolNamesCount() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        let users = try bench.watchedUsers()
        try await users.wait(for: [])
        // Watches are told in their order, so this one comes last.
        let lists = WatchedTexts(
            try bench.database.watch("SELECT name FROM lists") { try $0.getString(index: 0) })
        try await lists.wait(for: [])
        try await wait(for: "both to wait") { bench.database.changes.waitingCount == 2 }
        let before = users.results.count
        try await pool.own("INSERT INTO lists (id, name) VALUES ('l', 'list')")
        try await lists.wait(for: ["list"])
        try await wait(for: "both to wait again") { bench.database.changes.waitingCount == 2 }
        #expect(users.results.count == before)
        try await bench.database.close()
    }

    @Test func aFailedWriteTellsWhatItHadCommitted() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        let users = try bench.watchedUsers()
        try await users.wait(for: [])
        let failure = TestError(text: "of the app")
        await #expect(throws: failure) {
            try await bench.database.writeLock { context in
                try context.execute(
                    sql: "INSERT INTO users (id, name) VALUES ('a', 'kept')", parameters: [])
                throw failure
            }
        }
        try await users.wait(for: ["kept"])
        try await wait(for: "the watch to wait") { bench.database.changes.waitingCount == 1 }
        let before = users.results.count
        await #expect(throws: failure) {
            try await bench.database.writeTransaction { transaction in
                try transaction.execute(sql: "DELETE FROM users", parameters: [])
                throw failure
            }
        }
        try await insert("later", into: bench.database)
        try await users.wait(for: ["kept", "later"])
        #expect(users.results.count == before + 1, "nothing is told of what was rolled back")
        try await bench.database.close()
    }

    @Test func aTransactionThatACallbackLeavesOpenIsRolledBack() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        try await bench.database.writeLock { context in
            try context.execute(sql: "BEGIN", parameters: [])
            try context.execute(sql: "INSERT INTO users (id, name) VALUES ('a', 'A')", parameters: [])
        }
        #expect(bench.log.has("left a transaction open"))
        #expect(try await bench.users() == [])
        try await bench.database.close()
    }

    // MARK: Sync

    @Test(arguments: [OwnPool.Telling.names, .marker])
    func itSyncsInBothDirections(_ telling: OwnPool.Telling) async throws {
        let pool = try OwnPool(path: folder.file(), telling: telling)
        let bench = ConnectedBench(on: pool, in: folder)
        let users = try bench.watchedUsers()
        try await users.wait(for: [])
        let connector = TestConnector()
        try await bench.connect(connector, options: ConnectOptions(crudThrottle: 0.001))
        let stream = try await bench.stream()
        stream.send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"synced"}"#)),
            SyncLines.complete(1))
        try await bench.database.waitForFirstSync()
        try await users.wait(for: ["synced"])
        // Rows of the service are not queued.
        #expect(try await bench.database.getCrudBatch() == nil)
        try await insert("through", into: bench.database)
        try await pool.own("INSERT INTO users (id, name) VALUES ('p', 'past')")
        try await wait(for: "both to be uploaded") { connector.entries.count == 2 }
        #expect(connector.entries.map { $0.opData?["name"] } == ["through", "past"])
        try await users.wait(for: ["past", "synced", "through"])
        try await wait(for: "the request for a write checkpoint") {
            bench.transport.requests.contains { $0.url.contains("/write-checkpoint2.json?client_id=") }
        }
        try await bench.database.disconnect()
        #expect(!bench.status.connected && bench.status.anyError == nil)
        try await bench.database.close()
        #expect(pool.areAllClosed)
    }

    /// Of a pool that knows no tables: syncing writes when it looks at subscriptions, and would do so without end.
    @Test func aMarkerForWhatSyncingItselfWritesLeadsToNothing() async throws {
        let pool = try OwnPool(path: folder.file(), telling: .marker)
        let bench = ConnectedBench(on: pool, in: folder)
        let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        try await bench.connect()
        let stream = try await bench.stream()
        // Nothing is stored for it, and no subscription renewed.
        let line = #"{"something_new":{}}"#
        stream.send(line)
        try await wait(for: "the line to be taken") { stream.isIdle }
        // The first marker after a change is news. Each is followed by two reads, and some are the uploader's.
        let first = pool.reads
        for _ in 0..<10 { pool.tell(OwnPool.marker) }
        try await wait(for: "the first to be looked at") { pool.reads >= first + 12 }
        stream.send(line)
        try await wait(for: "the line to be taken") { stream.isIdle }
        let (reads, renewals) = (pool.reads, pool.updates(of: "ps_stream_subscriptions"))
        for _ in 0..<50 { pool.tell(OwnPool.marker) }
        try await wait(for: "all to be looked at") { pool.reads >= reads + 100 }
        // What comes from the app is done before what comes from the service.
        stream.send(line)
        try await wait(for: "the line to be taken") { stream.isIdle }
        #expect(pool.updates(of: "ps_stream_subscriptions") == renewals)
        #expect(bench.transport.streams.count == 1)
        try await handle.unsubscribe()
        try await bench.database.close()
    }

    @Test func aSubscriptionThatIsStoredPastPowerSyncIsRequested() async throws {
        let pool = try OwnPool(path: folder.file(), telling: .marker)
        let bench = ConnectedBench(on: pool, in: folder)
        try await bench.connect()
        _ = try await bench.stream()
        try await pool.write { lease in
            for sql in [
                "BEGIN",
                #"SELECT powersync_control('subscriptions', '{"subscribe":{"stream":{"name":"a","params":null}}}')"#,
                "COMMIT",
            ] { _ = try lease.execute(sql: sql, parameters: []) }
        }
        _ = try await bench.stream(1)
        let requested = try bench.transport.body(1)["streams"]?["subscriptions"]?.arrayValue
        #expect(requested?.map { $0["stream"]?.stringValue } == ["a"])
        try await bench.database.close()
    }

    @Test func anotherProcessThatHasSyncedShowsInTheStatus() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        #expect(try await bench.users() == [])
        #expect(bench.status.hasSynced == false)
        try await pool.own("INSERT INTO ps_sync_state (priority, last_synced_at) VALUES (2147483647, 1)")
        pool.tell(OwnPool.marker)
        try await wait(for: "the status") { bench.status.hasSynced == true }
        try await bench.database.close()
    }

    // MARK: Pools that lend nothing for a while

    /// Else each failure would follow the one before without a pause, until the pool lends again.
    @Test func aPauseThatWasCutShortShortensNoOther() async throws {
        let (clock, pool) = (SteppedClock(), try OwnPool(path: folder.file()))
        let bench = ConnectedBench(
            on: pool, in: folder, transport: ScriptedTransport(statuses: [503]),
            environment: clock.environment)
        func failures() -> Int {
            bench.log.lines.count { $0.message.hasPrefix("Sync iteration failed") }
        }
        func pause(after count: Int) async throws {
            try await wait(for: "failure \(count)", read: failures) { $0 >= count }
            try await wait(for: "the pause") { clock.waiting.contains(.seconds(5)) }
            #expect(failures() == count)
        }
        try await bench.connect(options: ConnectOptions(checkpointMode: .requests()))
        try await pause(after: 1)
        pool.refuse(TestError(text: "gone"))
        // It ends this pause, since it waits for a stream.
        let request = Task { try await bench.database.requestCheckpoint() }
        try await pause(after: 2)
        clock.advance(by: .seconds(5))
        try await pause(after: 3)
        pool.refuse(nil)
        clock.advance(by: .seconds(5))
        _ = try await wait(forEndOf: request)
        #expect(failures() == 3)
        try await bench.database.close()
    }

    /// As of a user who signs out without a network: the next connection, which would end it, does not come.
    @Test func anIterationIsOverThatEndedWithoutAConnection() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        func resync() async throws {
            try await bench.database.writeTransaction {
                _ = try $0.execute(sql: "SELECT powersync_trigger_resync(0)", parameters: [])
            }
        }
        await #expect(throws: PowerSyncError.self) { try await resync() }
        pool.refuse(TestError(text: "gone"))
        try await bench.database.disconnect()
        pool.refuse(nil)
        try await resync()
        try await bench.database.disconnectAndClear(soft: true)
        #expect(bench.status.hasSynced == false)
        try await bench.database.close()
    }

    /// Nobody can ask such a pool whether it is free.
    @Test func aLockWithoutTimeWaitsAMomentForAPool() async throws {
        let (clock, pool) = (SteppedClock(), try OwnPool(path: folder.file()))
        let bench = ConnectedBench(on: pool, in: folder, environment: clock.environment)
        let database = bench.database
        _ = try await bench.users()
        // The clock stands still: what is free is lent in no time.
        try await database.writeLock(timeout: 0) { _ in }
        try await database.readLock(timeout: 0) { _ in }
        let gate = BlockingGate()
        defer { gate.open() }
        let holding = Task { try await pool.write { _ in gate.wait() } }
        try await wait(for: "the app to hold the connection") { gate.arrivals == 1 }
        let ran = Lock(false)
        let writing = Task {
            try await database.writeLock(timeout: 0) { _ in ran.withLock { $0 = true } }
        }
        try await wait(for: "the moment") { !clock.waiting.isEmpty }
        clock.advance(by: .seconds(1))
        // Whoever waits is let go whatever the pool does.
        let error = await #expect(throws: PowerSyncError.self) { try await wait(forEndOf: writing) }
        #expect(error?.code == .databaseBusy)
        gate.open()
        try await holding.value
        #expect(!ran.withLock { $0 })
        try await database.close()
    }

    // MARK: Waiting

    /// A pool whose connection that writes is in use until the test lets it go.
    private final class HeldPool: Sendable {
        let pool: OwnPool
        private let release: DispatchSemaphore
        private let holder: Task<Void, any Error>

        init(_ pool: OwnPool) async throws {
            let (held, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            self.pool = pool
            self.release = release
            holder = Task {
                try await pool.write { _ in
                    held.signal()
                    release.wait()
                }
            }
            try await wait(for: "the connection to be held") { held.wait(timeout: .now()) == .success }
        }

        deinit { release.signal() }

        /// Lets the connection go, and waits until the pool has come to what was asked for before.
        func letGo() async throws {
            release.signal()
            try await holder.value
            try await pool.own("SELECT 1")
        }
    }

    @Test func aLockIsWaitedForNoLongerThanItsTimeWhateverThePoolDoes() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        #expect(try await bench.users() == [])
        let held = try await HeldPool(pool)
        let ran = Lock(false)
        let error = await #expect(throws: PowerSyncError.self) {
            try await bench.database.writeLock(timeout: 0.01) { _ in ran.withLock { $0 = true } }
        }
        #expect(error?.code == .databaseBusy)
        try await held.letGo()
        #expect(!ran.withLock { $0 }, "what was given up does not run later")
        try await bench.database.close()
    }

    enum Access: CaseIterable { case write, read, all }

    @Test(arguments: Access.allCases)
    func whoeverWaitsIsCancelledWhateverThePoolDoes(_ access: Access) async throws {
        let pool = try OwnPool(path: folder.file(), readers: 0)
        let bench = ConnectedBench(on: pool, in: folder)
        let borrowed = try await bench.database.pool()
        let held = try await HeldPool(pool)
        let ran = Lock(false)
        let waiting = Task {
            let run: @Sendable () -> Void = { ran.withLock { $0 = true } }
            switch access {
            case .write: try await borrowed.write { _ in run() }
            case .read: try await borrowed.read { _ in run() }
            case .all: try await borrowed.all { _, _ in run() }
            }
        }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await held.letGo()
        #expect(!ran.withLock { $0 })
        try await bench.database.close()
    }

    @Test func whatRunsIsNotCancelled() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        let borrowed = try await bench.database.pool()
        let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let running = Task {
            try await borrowed.write { _ in
                begun.signal()
                end.wait()
                return 1
            }
        }
        defer { end.signal() }
        try await wait(for: "it to begin") { begun.wait(timeout: .now()) == .success }
        running.cancel()
        end.signal()
        #expect(try await running.value == 1)
        try await bench.database.close()
    }

    // MARK: Pools of all kinds

    @Test func aPoolOfOneConnectionInMemoryServes() async throws {
        let pool = try OwnPool(path: ":memory:", readers: 0)
        let bench = ConnectedBench(on: pool, in: folder)
        let users = try bench.watchedUsers()
        try await users.wait(for: [])
        try await insert("A", into: bench.database)
        try await users.wait(for: ["A"])
        let names = try await bench.database.readTransaction {
            try $0.getAll(sql: "SELECT name FROM users", parameters: []) { try $0.getString(index: 0) }
        }
        #expect(names == ["A"])
        try await bench.database.close()
        #expect(pool.areAllClosed)
    }

    @Test func aPoolMayLendConnectionsToReadFromInATransaction() async throws {
        let pool = try OwnPool(path: folder.file(), readsInTransactions: true)
        let bench = ConnectedBench(on: pool, in: folder)
        // Before there is a local write, which would hold the checkpoint up.
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        let users = try bench.watchedUsers()
        try await users.wait(for: [])
        try await insert("A", into: bench.database)
        try await users.wait(for: ["A"])
        // The pool would throw if its transaction had been ended.
        #expect(try await bench.users() == ["A"])
        #expect(!bench.log.has("left a transaction open"))
        await #expect(throws: PowerSyncError.self) {
            try await bench.database.readTransaction { _ in }
        }
        try await bench.database.close()
    }

    @Test func eachConnectionIsMadeReadyOnce() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        let borrowed = try await bench.database.pool()
        let writer = try await borrowed.write { ObjectIdentifier($0) }
        let again = try await borrowed.all { writer, readers in
            ([writer] + readers).map { ObjectIdentifier($0) }
        }
        #expect(again.count == 3 && again.first == writer && Set(again).count == 3)
        for _ in 0..<4 {
            let reader = try await borrowed.read { ObjectIdentifier($0) }
            #expect(again.dropFirst().contains(reader))
        }
        try await bench.database.close()
    }

    /// Which raw tables there are only the connection knows that has applied the schema.
    @Test func aWriterThatThePoolOpensAnewRemembersTheSchema() async throws {
        let pool = try OwnPool(path: folder.file())
        try await pool.own("CREATE TABLE raw (id TEXT PRIMARY KEY, name TEXT)")
        let bench = ConnectedBench(
            on: pool, in: folder,
            schema: Schema(RawTable(name: "raw", schema: RawTableSchema(), clear: "DELETE FROM raw")))
        try await bench.database.execute("INSERT INTO raw VALUES ('a', 'mine')")
        try await pool.reopenWriter()
        try await bench.connect()
        let stream = try await bench.stream()
        stream.send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
            SyncLines.data(
                "b", SyncLines.put(1, "r", checksum: 5, type: "raw", data: #"{"name":"synced"}"#)),
            SyncLines.complete(1))
        try await bench.database.waitForFirstSync()
        #expect(try await pool.ownTexts("SELECT name FROM raw ORDER BY name") == ["mine", "synced"])
        try await pool.reopenWriter()
        await #expect(throws: PowerSyncError.self, "the iteration goes on, whatever connection writes") {
            try await bench.database.writeTransaction {
                try $0.execute(sql: "SELECT powersync_trigger_resync(0)", parameters: [])
            }
        }
        try await bench.database.disconnectAndClear()
        #expect(try await pool.ownTexts("SELECT name FROM raw") == [])
        try await bench.database.close()
    }
}
