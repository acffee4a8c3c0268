import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct LifecycleTests {
    private let closedMessage = "Attempted to use closed PowerSync database"

    private func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    @Test func makingADatabaseTouchesNoFile() throws {
        let folder = try TemporaryDirectory()
        let test = try TestDatabase(folder: folder, name: "deep/er/test.db")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        #expect(test.database.currentStatus.hasSynced == nil)
        #expect(test.database.currentStatus.syncStreams == nil)
    }

    @Test func dataSurvivesClosingAndOpeningAgain() async throws {
        let folder = try TemporaryDirectory()
        let first = try TestDatabase(folder: folder, name: "deep/er/test.db")
        try await first.insertUser("A")
        try await first.database.close()
        let second = try TestDatabase(folder: folder, name: "deep/er/test.db")
        #expect(try await second.count("users") == 1)
        #expect(second.database.currentStatus.hasSynced == false)
        #expect(second.database.currentStatus.syncStreams?.isEmpty == true)
        try await second.database.close()
    }

    /// Else the first official JavaScript SDK that opens the file makes the keys of all operations NULL.
    @Test func theFileSaysThatItsKeysAreRight() async throws {
        let test = try TestDatabase()
        let mark = "SELECT value FROM ps_kv WHERE key = 'powersync_js_migrated_subkeys'"
        #expect(try await test.database.getAll(mark) { try $0.getString(index: 0) } == ["1"])
        for isSoft in [false, true] {
            try await test.database.disconnectAndClear(clearLocal: true, soft: isSoft)
            #expect(try await test.database.getAll(mark) { try $0.getString(index: 0) } == ["1"])
        }
        try await test.database.close()
    }

    @Test func aFileThatIsThereIsNeverMadeAnew() throws {
        let folder = try TemporaryDirectory()
        let path = folder.file("deep/test.db")
        try DatabaseOpener.prepareFile(path)
        try Data("content".utf8).write(to: URL(fileURLWithPath: path), options: [])
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        // As the second of two processes does, for which the file was not there a moment ago.
        try DatabaseOpener.prepareFile(path)
        let after = try FileManager.default.attributesOfItem(atPath: path)
        #expect(after[.systemFileNumber] as? UInt64 == attributes[.systemFileNumber] as? UInt64)
        #expect(FileManager.default.contents(atPath: path) == Data("content".utf8))
    }

    @Test func connectionsAreSetUpAsThePromiseSays() async throws {
        let test = try TestDatabase(initialStatements: ["PRAGMA foreign_keys = on"])
        let sql =
            "SELECT * FROM pragma_journal_mode, pragma_foreign_keys, pragma_synchronous, pragma_cache_size, pragma_busy_timeout"
        let read: @Sendable (any ConnectionContext) throws -> [String] = { connection in
            try connection.get(sql: sql, parameters: []) { cursor in
                try (0..<5).map { try cursor.getString(index: $0) }
            }
        }
        let expected = ["wal", "1", "1", "-51200", "30000"]
        #expect(try await test.database.readLock(callback: read) == expected)
        #expect(try await test.database.writeLock(callback: read) == expected)
        #expect(try await test.database.get("PRAGMA user_version") { try $0.getInt(index: 0) } == 1)
        #expect(try await test.database.getPowerSyncVersion() == "0.5.3/swift")
    }

    @Test func filesBelongToTheUserAlone() async throws {
        let test = try TestDatabase(name: "own/test.db")
        try await test.insertUser("A")
        for (path, mode) in [("own", 0o700), ("own/test.db", 0o600), ("own/test.db-wal", 0o600)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: test.folder.file(path))
            #expect(attributes[.posixPermissions] as? Int == mode, "\(path)")
        }
    }

    @Test func failingInitialStatementFailsTheOpenAndTheNextCallTriesAgain() async throws {
        let test = try TestDatabase(initialStatements: ["SELECT * FROM usersfail"])
        for _ in 0..<2 {
            let error = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
            #expect(error?.errorDescription?.contains("no such table: usersfail") == true)
        }
        try await test.database.close()
    }

    @Test func aKeyWithoutACipherIsRefused() async throws {
        let test = try TestDatabase(initialStatements: ["pragma key = 'secret'"])
        let error = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
        #expect(error?.errorDescription?.contains("encryption") == true)
        #expect(error?.errorDescription?.contains("secret") == false)
    }

    @Test func emptyNameIsRefusedAtTheFirstUse() async throws {
        let database = PowerSyncDatabase(schema: Schema(), dbFilename: "", logger: DefaultLogger(writers: []))
        await #expect(throws: PowerSyncError.self) { try await database.execute("SELECT 1") }
        try await database.close()
    }

    @Test func directoryThatCannotBeMadeIsAnErrorOfTheFirstUse() async throws {
        let folder = try TemporaryDirectory()
        try Data().write(to: URL(fileURLWithPath: folder.file("file")))
        let test = try TestDatabase(folder: folder, name: "file/test.db")
        let error = await #expect(throws: PowerSyncError.self) { try await test.count("users") }
        #expect(
            error?.errorDescription?.contains("Could not open database \(folder.file("file/test.db"))")
                == true)
        #expect(error?.errorDescription?.contains("code 14") == true)
    }

    @Test func firstCallsAtTheSameTimeOpenOnce() async throws {
        for name in ["test.db", ":memory:"] {
            let test = try TestDatabase(name: name)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<16 { group.addTask { try await test.insertUser("\(index)") } }
                try await group.waitForAll()
            }
            // Two databases in memory would share the rows out between them.
            #expect(try await test.count("users") == 16)
            #expect(test.log.lines.count { $0.message.contains("Opened connection. SQLite version") } == 1)
            try await test.database.close()
        }
    }

    @Test func databaseInMemoryReadsWhatItWrites() async throws {
        let test = try TestDatabase(name: ":memory:")
        var results = try test.database.watch("SELECT name FROM users") { try $0.getString(index: 0) }
            .makeAsyncIterator()
        #expect(try await results.next() == [])
        try await test.insertUser("A")
        #expect(try await results.next() == ["A"])
        #expect(try await test.database.getNextCrudTransaction()?.crud.count == 1)
        let other = try TestDatabase(name: ":memory:")
        #expect(try await other.count("users") == 0)
        #expect(other.log.warnings(containing: "Multiple PowerSync instances") == 0)
    }

    @Test func everyCallAfterCloseIsRefusedAndClosingAgainIsNot() async throws {
        let test = try TestDatabase()
        try await test.insertUser("A")
        try await test.database.close()
        try await test.database.close()
        let database = test.database
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await database.execute("SELECT 1") },
            { _ = try await database.getAll("SELECT 1") { _ in 1 } },
            { try await database.writeTransaction { _ in } }, { try await database.waitForFirstSync() },
            { try await database.disconnect() }, { try await database.updateSchema(schema: Schema()) },
            { try await database.disconnectAndClear() }, { _ = try await database.getCrudBatch() },
            { _ = try await database.syncStream(name: "a", params: nil).subscribe() },
            { try await database.syncStream(name: "a", params: nil).unsubscribeAll() },
            { try await database.connect(connector: TestConnector()) },
            { _ = try await database.readTransaction { _ in 1 } },
            { _ = try await database.getNextCrudTransaction() },
            { for try await _ in database.getCrudTransactions() {} },
        ]
        for call in calls {
            let error = await #expect(throws: PowerSyncError.self) { try await call() }
            #expect(error?.errorDescription == closedMessage)
        }
    }

    @Test(arguments: [true, false]) func closingWaitsForARunningCallback(_ writes: Bool) async throws {
        let test = try TestDatabase()
        let database = test.database
        let (gate, isOver, isClosed) = (BlockingGate(), Lock(false), Lock(false))
        // Whatever fails on the way, no thread of the database goes on waiting.
        defer { gate.open() }
        let callback: @Sendable (any ConnectionContext) throws -> Void = { _ in
            gate.wait()
            isOver.withLock { $0 = true }
        }
        let work = Task {
            if writes {
                try await database.writeLock(callback: callback)
            } else {
                try await database.readLock(callback: callback)
            }
        }
        try await wait(for: "the callback to begin") { gate.arrivals == 1 }
        let closing = Task {
            try await database.close()
            isClosed.withLock { $0 = true }
        }
        try await wait(for: "closing to begin") {
            do {
                try await database.disconnect()
                return false
            } catch {
                return true
            }
        }
        // A close that did not wait would be over before all this is.
        let other = try TestDatabase()
        try await other.insertUser("A")
        try await other.database.close()
        #expect(!isClosed.withLock { $0 })
        gate.open()
        try await wait(forEndOf: closing)
        #expect(isOver.withLock { $0 })
        try await wait(forEndOf: work)
    }

    @Test func closingWakesWhoWaitsForTheFirstSync() async throws {
        let test = try TestDatabase()
        _ = try await test.count("users")
        let status = try #require(test.database.currentStatus as? LiveSyncStatus)
        let waiter = Task { try await test.database.waitForFirstSync() }
        // Who comes after closing is refused with the same text, so it must not come too late.
        try await wait(for: "somebody to wait") { status.feed.waiterCount == 1 }
        try await test.database.close()
        let error = await #expect(throws: PowerSyncError.self) { try await wait(forEndOf: waiter) }
        #expect(error?.errorDescription == closedMessage)
    }

    @Test func plainCloseKeepsTheFilesAndDeletingRemovesThemAll() async throws {
        let folder = try TemporaryDirectory()
        let first = try TestDatabase(folder: folder)
        try await first.insertUser("A")
        try await first.database.close()
        #expect(exists(folder.file()))
        try await first.database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty, "also later")
        let second = try TestDatabase(folder: folder)
        try await second.insertUser("B")
        #expect(exists(folder.file("test.db-wal")))
        try await second.database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func deletingWithoutOpeningRemovesTheFiles() async throws {
        let folder = try TemporaryDirectory()
        let first = try TestDatabase(folder: folder)
        try await first.insertUser("A")
        try await first.database.close()
        try await TestDatabase(folder: folder).database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test(arguments: ["", "no database", "SQLite format 3\0 and nothing of one"])
    func deletingRemovesAFileThatIsNoDatabase(content: String) async throws {
        let folder = try TemporaryDirectory()
        let text = content.padding(toLength: content.isEmpty ? 0 : 8192, withPad: "x", startingAt: 0)
        try text.write(toFile: folder.file(), atomically: true, encoding: .utf8)
        try await TestDatabase(folder: folder).database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    /// Another process may have it open, nobody could tell.
    ///
    /// In a process of its own, for the limit of descriptors.
    @Test func aFileThatCannotBeLookedAtIsNotDeleted() async {
        await #expect(processExitsWith: .success) {
            let folder = try TemporaryDirectory()
            // The process ends before the last database lets go of it.
            defer { folder.remove() }
            let test = try TestDatabase(folder: folder)
            try await test.insertUser("A")
            try await test.database.close()
            let location = try DatabaseLocation(named: folder.file())
            let before = DescriptorLimit.soft
            try DescriptorLimit.set(0)
            #expect(throws: PowerSyncError.self) {
                try DatabaseRemoval.removeFiles(at: location, initialStatements: [])
            }
            try DescriptorLimit.set(before)
            #expect(try await TestDatabase(folder: folder).count("users") == 1)
        }
    }

    /// One of them may have the key of a file that another process uses.
    @Test func aFileWhoseInitialStatementsFailIsNotDeleted() async throws {
        let folder = try TemporaryDirectory()
        let first = try TestDatabase(folder: folder, initialStatements: ["PRAGMA foreign_keys = on"])
        try await first.insertUser("A")
        try await first.database.close()
        let second = try TestDatabase(folder: folder, initialStatements: ["SELECT * FROM usersfail"])
        let error = await #expect(throws: PowerSyncError.self) {
            try await second.database.close(deleteDatabase: true)
        }
        #expect(error?.code == .fileAccess)
        #expect(error?.errorDescription?.contains("no such table: usersfail") == true)
        let third = try TestDatabase(folder: folder)
        #expect(try await third.count("users") == 1)
        try await third.database.close()
        try await first.database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test func whatAnInitialStatementAttachesStaysAsItIs() async throws {
        let (folder, others) = (try TemporaryDirectory(), try TemporaryDirectory())
        let other = try SQLiteConnection(path: others.file())
        try other.execute("PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
        let test = try TestDatabase(
            folder: folder, initialStatements: ["ATTACH '\(others.file())' AS other"])
        try await test.insertUser("A")
        try await test.database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        #expect(try other.one("PRAGMA journal_mode") { $0.string(0) } == "wal")
        other.close()
    }

    @Test(.enabled(if: Processes.areOpenFilesKnown))
    func droppingTheLastReferenceLetsGoOfTheFile() async throws {
        let folder = try TemporaryDirectory()
        let isOpen: @Sendable () throws -> Bool = {
            try Processes.openFiles().contains { $0.hasPrefix(folder.path) }
        }
        do {
            let test = try TestDatabase(folder: folder)
            try await test.insertUser("A")
            #expect(try isOpen())
        }
        try await wait(for: "the file to be let go of") { try !isOpen() }
        let second = try TestDatabase(folder: folder)
        #expect(try await second.count("users") == 1)
        #expect(second.log.warnings(containing: "Multiple PowerSync instances") == 0)
    }

    /// Does not give up before the test has done its part.
    private static let patient: SyncEnvironment = {
        var environment = SyncEnvironment.system()
        environment.opening.budget = TestOptions.deadline
        return environment
    }()

    @Test(.behaviour(174)) func openingWaitsForAnotherProcessToLetGo() async throws {
        let folder = try TemporaryDirectory()
        let (held, holder) = try hold(folder.file())
        let test = try TestDatabase(folder: folder, environment: Self.patient)
        async let count = test.count("users")
        // From the first failure on it is retried.
        try await wait(for: "the first failure in the log") { test.log.has("in use") }
        holder.signal()
        #expect(try await count == 0)
        #expect(try await test.database.get("PRAGMA journal_mode") { try $0.getString(index: 0) } == "wal")
        held.wait()
    }

    @Test(.behaviour(175)) func openingGivesUpAfterFiveSeconds() async throws {
        let folder = try TemporaryDirectory()
        let (held, holder) = try hold(folder.file())
        defer {
            holder.signal()
            held.wait()
        }
        let clock = SteppedClock()
        let test = try TestDatabase(folder: folder, environment: clock.environment)
        let opening = Task { try await test.count("users") }
        var waits: [Duration] = []
        // With the next wait it would have been longer.
        while clock.now < .milliseconds(4810) {
            try await wait(for: "the wait after try \(waits.count + 1)") { !clock.waiting.isEmpty }
            waits += clock.waiting
            clock.advance(by: clock.waiting[0])
        }
        let error = await #expect(throws: PowerSyncError.self) { try await wait(forEndOf: opening) }
        #expect(error?.code == .databaseBusy)
        #expect(Array(waits.prefix(6)) == [10, 20, 40, 80, 160, 250].map(Duration.milliseconds))
        #expect(clock.now == .milliseconds(4810))
    }

    @Test(.behaviour(176)) func waitingForTheFileCanBeCancelled() async throws {
        let folder = try TemporaryDirectory()
        let (held, holder) = try hold(folder.file())
        defer {
            holder.signal()
            held.wait()
        }
        let test = try TestDatabase(folder: folder, environment: Self.patient)
        let opening = Task { try await test.count("users") }
        try await wait(for: "the first failure in the log") { test.log.has("in use") }
        // Without the cancellation it would give up with SQLite's error.
        opening.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: opening) }
    }

    /// Holds a write lock in rollback-journal mode, as another process would, until the second one is
    /// signalled.
    private func hold(_ path: String) throws -> (ended: DispatchSemaphore, release: DispatchSemaphore) {
        let (held, release, ended) = (
            DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
        )
        Thread {
            defer { ended.signal() }
            do {
                let connection = try SQLiteConnection(path: path)
                try connection.execute(
                    "CREATE TABLE plain (id); BEGIN IMMEDIATE; INSERT INTO plain VALUES (1)")
                held.signal()
                release.wait()
                connection.close()
            } catch {
                Issue.record(error)
                held.signal()
            }
        }.start()
        held.wait()
        return (ended, release)
    }
}
