import Dispatch
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Waits that end after a time, and what an app can ask for beside the official API (client-api 5.4, 5.5).
@Suite(.patient())
struct LimitTests {
    private func code(of body: () async throws -> Void) async -> PowerSyncError.Code? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? PowerSyncError)?.code ?? .other
        }
    }

    // MARK: Status

    @Test func aStatusIsWaitedForUntilItIsThere() async throws {
        let bench = try ConnectedBench()
        let waiting = Task {
            try await bench.database.waitForStatus(timeout: 3600) { $0.hasSynced == true }
        }
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await waiting.value
        #expect(bench.status.hasSynced == true)
        try await bench.database.waitForStatus { $0.connected }
        try await bench.database.waitForFirstSync(timeout: 3600)
        try await bench.database.waitForFirstSync(priority: BucketPriority(3), timeout: 3600)
        try await bench.database.close()
    }

    @Test func aWaitEndsWhenItsTimeIsOver() async throws {
        let bench = try ConnectedBench()
        #expect(await code { try await bench.database.waitForFirstSync(timeout: 0.01) } == .timedOut)
        #expect(
            await code {
                try await bench.database.waitForFirstSync(priority: BucketPriority(1), timeout: 0.01)
            } == .timedOut)
        #expect(
            await code { try await bench.database.waitForStatus(timeout: 0) { $0.connected } } == .timedOut)
        try await bench.database.close()
        #expect(await code { try await bench.database.waitForFirstSync(timeout: 3600) } == .closed)
    }

    @Test func aWaitThatIsCancelledSaysSo() async throws {
        let bench = try ConnectedBench()
        let waiting = Task { try await bench.database.waitForFirstSync(timeout: 3600) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await bench.database.close()
    }

    /// Which of two that are over at once comes first nobody knows, so many tries.
    @Test func whatIsSoAlreadyNeedsNoTime() async throws {
        let bench = try ConnectedBench()
        // Opening is no part of the time.
        try await bench.database.waitForStatus(timeout: 0) { $0.hasSynced == false }
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        for limit in [0.0, -1, -Double.infinity, .nan] {
            for _ in 0..<100 {
                try await bench.database.waitForFirstSync(timeout: limit)
                try await bench.database.waitForFirstSync(priority: BucketPriority(3), timeout: limit)
                try await bench.database.waitForStatus(timeout: limit) { $0.connected }
            }
            #expect(
                await code { try await bench.database.waitForStatus(timeout: limit) { $0.uploading } }
                    == .timedOut)
        }
        try await bench.database.close()
        #expect(await code { try await bench.database.waitForFirstSync(timeout: 0) } == .closed)
    }

    @Test func aLimitOfNothingAsksOnceAndDoesNotWait() async throws {
        let (asked, waited) = (Lock(0), Lock(0))
        let late = PowerSyncError(.timedOut)
        for limit in [0.0, -1, .nan] {
            let error = await code {
                try await WaitLimit(limit, late: late, sleep: { _ in }).wait(
                    unless: {
                        asked.withLock { $0 += 1 }
                        return false
                    },
                    { waited.withLock { $0 += 1 } })
            }
            #expect(error == .timedOut)
        }
        #expect(asked.withLock { $0 } == 3 && waited.withLock { $0 } == 0)
        try await WaitLimit(0, late: late).wait(unless: { true }, {})
    }

    @Test func whatComesWithTheEndOfTheTimeHasCome() async throws {
        let (clock, gate) = (SteppedClock(), Gate())
        let late = PowerSyncError(.timedOut)
        let waiting = Task {
            try await WaitLimit(1, late: late, sleep: clock.environment.sleep).wait(unless: { false }) {
                // As what was there before it could be cancelled.
                await gate.pass()
            }
        }
        try await wait(for: "it to wait") { gate.arrivals == 1 && !clock.waiting.isEmpty }
        clock.advance(by: .seconds(1))
        gate.open()
        try await wait(forEndOf: waiting)
    }

    @Test func theTimeOfAWaitIsThatOfTheClock() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        let waiting = Task { try await bench.database.waitForFirstSync(timeout: 7) }
        try await wait(for: "it to wait") { clock.waiting.contains(.seconds(7)) }
        clock.advance(by: .seconds(7))
        #expect(await code { try await wait(forEndOf: waiting) } == .timedOut)
        try await bench.database.close()
    }

    @Test func aConditionThatTakesItsTimeHoldsUpNobodyElse() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        let (executor, gate) = (ThreadExecutor(), BlockingGate())
        defer { withExtendedLifetime(executor) { gate.open() } }
        let waiting = Task(executorPreference: executor) {
            try await bench.database.waitForStatus(timeout: nil) { status in
                gate.wait()
                return !status.connected
            }
        }
        try await wait(for: "the condition to be asked") { gate.arrivals == 1 }
        let ending = Task { try await bench.database.disconnect() }
        try await wait(forEndOf: ending)
        #expect(!bench.status.connected)
        gate.open()
        try await wait(forEndOf: waiting)
        try await bench.database.close()
    }

    // MARK: Connecting

    @Test func connectingWaitsForTheConnection() async throws {
        let bench = try ConnectedBench()
        try await bench.database.connect(
            connector: TestConnector(), options: nil, waitForConnection: true)
        #expect(bench.status.connected)
        try await bench.database.close()
    }

    @Test func connectingThrowsTheFirstErrorAndNoneOfBefore() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(
            transport: ScriptedTransport(statuses: [503]), environment: clock.environment)
        #expect(
            await code {
                try await bench.database.connect(
                    connector: TestConnector(), options: nil, waitForConnection: true)
            } == .serviceUnavailable)
        // It is tried again all the same.
        try await wait(for: "the pause") { clock.waiting.contains(.seconds(5)) }
        try await bench.database.connect(
            connector: TestConnector(), options: nil, waitForConnection: true)
        #expect(bench.status.connected)
        // The error is shown until a checkpoint is applied, and it is not one of this connection.
        #expect(bench.status.downloadError != nil)
        try await bench.database.close()
    }

    @Test func connectingIsOverWhenTheDatabaseIsDisconnected() async throws {
        let bench = try ConnectedBench()
        // Until it is cancelled.
        let connector = TestConnector(fetch: { _ in try await AsyncFlag().wait() })
        let connecting = Task {
            try await bench.database.connect(
                connector: connector, options: nil, waitForConnection: true)
        }
        try await wait(for: "somebody to wait") {
            bench.database.group.status.progress.state.waiterCount == 1
        }
        try await bench.database.disconnect()
        #expect(await code { try await connecting.value } == .invalidState)
        try await bench.database.close()
    }

    // MARK: The upload queue

    @Test func anUploadCanBeAskedFor() async throws {
        let clock = SteppedClock()
        let bench = try ConnectedBench(environment: clock.environment)
        try await bench.connect()
        bench.completeEmptyCheckpoint(try await bench.stream())
        try await bench.database.waitForFirstSync()
        let coordinator = try #require(bench.database.group.coordinator)
        try await wait(for: "the throttle of the first round") { clock.waiting.contains(.seconds(1)) }
        clock.advance(by: .seconds(1))
        try await wait(for: "the uploader to rest") { coordinator.uploads.isAwaited }
        try await bench.database.triggerCrudUpload()
        try await wait(for: "the throttle of another round") { clock.waiting.contains(.seconds(1)) }
        try await bench.database.close()
        #expect(await code { try await bench.database.triggerCrudUpload() } == .closed)
    }

    @Test func whatIsWrittenOfflineIsUploadedWhereTheAppWantsThat() async throws {
        let clock = SteppedClock()
        for isWanted in [false, true] {
            let bench = try ConnectedBench(
                transport: ScriptedTransport(
                    statuses: Array(repeating: 503, count: 9), answers: [.status(503)]),
                environment: clock.environment)
            let connector = TestConnector()
            var options = ConnectOptions()
            options.uploadWhileDisconnected = isWanted
            try await bench.connect(connector, options: options)
            try await wait(for: "the pause") { clock.waiting.contains(.seconds(5)) }
            try await bench.database.execute("INSERT INTO users (id, name) VALUES ('u', 'A')")
            if isWanted {
                // It has looked at the queue once when it connected.
                try await wait(for: "the throttle") { clock.waiting.contains(.seconds(1)) }
                clock.advance(by: .seconds(1))
                try await wait(for: "the upload") { connector.uploads == 1 }
            } else {
                let coordinator = try #require(bench.database.group.coordinator)
                try await wait(for: "the write to be passed over") {
                    coordinator.uploads.isAwaited && !coordinator.uploads.isRaised
                }
                #expect(connector.uploads == 0)
            }
            try await bench.database.close()
        }
    }

    @Test func theQueueIsCounted() async throws {
        let test = try TestDatabase()
        #expect(try await test.database.getUploadQueueStats() == UploadQueueStats(count: 0, size: nil))
        #expect(
            try await test.database.getUploadQueueStats(includeSize: true)
                == UploadQueueStats(count: 0, size: 0))
        try await test.insertUser("é", id: "1")
        try await test.insertUser("b", id: "2")
        let entries = try await test.database.getAll("SELECT data FROM ps_crud") {
            try $0.getString(index: 0)
        }
        let size = entries.reduce(0) { $0 + Int64($1.utf8.count) + 20 }
        #expect(
            try await test.database.getUploadQueueStats(includeSize: true)
                == UploadQueueStats(count: 2, size: size))
        try await test.database.close()
    }

    // MARK: Locks

    @Test func aLockIsWaitedForNoLongerThanItsTime() async throws {
        let test = try TestDatabase()
        let database = test.database
        let (held, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let holder = Task {
            try await database.writeLock { _ in
                held.signal()
                release.wait()
            }
        }
        defer { release.signal() }
        try await wait(for: "the lock to be held") { held.wait(timeout: .now()) == .success }
        let ran = Lock(false)
        #expect(
            await code {
                try await database.writeLock(timeout: 0.01) { _ in ran.withLock { $0 = true } }
            } == .databaseBusy)
        // Readers are free.
        let one = try await database.readLock(timeout: 3600) {
            try $0.get(sql: "SELECT 1", parameters: []) { try $0.getInt(index: 0) }
        }
        #expect(one == 1)
        release.signal()
        try await holder.value
        let changed = try await database.writeLock(timeout: 3600) {
            try $0.execute(sql: "DELETE FROM ps_untyped", parameters: [])
        }
        #expect(changed == 0)
        // What was given up does not run later: the writer has passed it by now.
        #expect(!ran.withLock { $0 })
        try await test.database.close()
    }

    /// Which of two that are over at once comes first nobody knows, so many tries.
    @Test func aLockThatNobodyHasNeedsNoTime() async throws {
        for name in ["test.db", ":memory:"] {
            // The first one opens the database as well.
            let test = try TestDatabase(name: name)
            for number in 1...500 {
                let limit = number % 2 == 0 ? 0.0 : -1
                try await test.database.writeLock(timeout: limit) { _ in }
                let one = try await test.database.readLock(timeout: limit) {
                    try $0.get(sql: "SELECT 1", parameters: []) { try $0.getInt(index: 0) }
                }
                #expect(one == 1)
            }
            try await test.database.close()
            #expect(await code { try await test.database.writeLock(timeout: 0) { _ in } } == .closed)
        }
    }

    @Test func aLockWithoutTimeWaitsForNobody() async throws {
        let test = try TestDatabase()
        let database = test.database
        _ = try await test.count("users")
        let (writer, readers) = (BlockingGate(), BlockingGate())
        let writing = Task { try await database.writeLock { _ in writer.wait() } }
        let reading = (0..<4).map { _ in Task { try await database.readLock { _ in readers.wait() } } }
        defer {
            writer.open()
            readers.open()
        }
        try await wait(for: "all connections to be held") { writer.arrivals == 1 && readers.arrivals == 4 }
        let ran = Lock(0)
        let run: @Sendable (any ConnectionContext) throws -> Void = { _ in ran.withLock { $0 += 1 } }
        #expect(await code { try await database.writeLock(timeout: 0, callback: run) } == .databaseBusy)
        #expect(await code { try await database.readLock(timeout: 0, callback: run) } == .databaseBusy)
        readers.open()
        for task in reading { try await task.value }
        try await database.readLock(timeout: 0, callback: run)
        #expect(await code { try await database.writeLock(timeout: .nan, callback: run) } == .databaseBusy)
        writer.open()
        try await writing.value
        try await database.writeLock(timeout: 0, callback: run)
        #expect(ran.withLock { $0 } == 2)
        try await test.database.close()
    }

    /// Its time is that of the connection alone.
    @Test func openingIsNoPartOfTheTimeOfALock() async throws {
        let clock = SteppedClock()
        let folder = try TemporaryDirectory()
        let other = try SQLiteConnection(path: folder.file())
        try other.execute("CREATE TABLE plain (id); BEGIN IMMEDIATE; INSERT INTO plain VALUES (1)")
        let test = try TestDatabase(folder: folder, environment: clock.environment)
        let writing = Task { try await test.database.writeLock(timeout: 0.001) { _ in } }
        try await wait(for: "the first failure in the log") { test.log.has("in use") }
        try await wait(for: "another try to be waited for") { !clock.waiting.isEmpty }
        other.close()
        clock.advance(by: .milliseconds(100))
        try await wait(forEndOf: writing)
        try await test.database.close()
    }

    @Test func whatHasBegunIsNotEndedByItsTime() async throws {
        let (clock, gate) = (SteppedClock(), Gate())
        let running = Task {
            try await LimitedLock(1, sleep: clock.environment.sleep).run { begin in
                try begin()
                await gate.pass()
                return 2
            }
        }
        try await wait(for: "it to begin") { gate.arrivals == 1 && !clock.waiting.isEmpty }
        clock.advance(by: .seconds(1))
        gate.open()
        #expect(try await running.value == 2)
    }

    @Test func whatComesTooLateDoesNotBegin() async throws {
        let (clock, gate, begun) = (SteppedClock(), Gate(), Gate())
        begun.open()
        let lock = LimitedLock(1, sleep: clock.environment.sleep)
        let running = Task {
            try await lock.run { begin in
                // As a lock that comes all the same.
                await gate.pass()
                try begin()
                await begun.pass()
            }
        }
        try await wait(for: "it to wait") { gate.arrivals == 1 && !clock.waiting.isEmpty }
        clock.advance(by: .seconds(1))
        try await wait(for: "its time to be over") { lock.isOver }
        gate.open()
        #expect(await code { try await running.value } == .databaseBusy)
        #expect(begun.arrivals == 0)
    }
}

/// Runs each job on a thread of its own: what blocks in one holds up no other task.
private final class ThreadExecutor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        do {
            try DetachedThread.start { unowned.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch {
            preconditionFailure("no thread for a task: \(error)")
        }
    }
}
