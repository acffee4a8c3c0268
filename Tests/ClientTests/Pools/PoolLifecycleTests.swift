import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Who closes a pool of the app's own, and when.
@Suite(.patient())
struct PoolLifecycleTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    @Test func closingClosesThePoolOnce() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        let users = try bench.watchedUsers()
        try await users.wait(for: [])
        #expect(pool.listeners == 1)
        try await bench.connect()
        _ = try await bench.stream()
        try await bench.database.close()
        try await bench.database.close()
        #expect(pool.closings == 1)
        #expect(pool.areAllClosed, "statements of the SDK are gone")
        try await users.waitForEnd()
        try await wait(for: "nobody to follow") { pool.listeners == 0 }
        let error = await #expect(throws: PowerSyncError.self) { try await bench.users() }
        #expect(error?.code == .closed)
    }

    @Test func closingBeforeTheFirstUseClosesThePool() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        try await bench.database.close()
        try await bench.database.close()
        #expect(pool.closings == 1)
        #expect(pool.listeners == 0)
    }

    @Test func deletingDeletesNothing() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder, identifier: folder.file())
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('a', 'A')")
        // Where a file is known it lies beside the database from then on.
        try await bench.connect()
        _ = try await bench.stream()
        try await bench.database.close(deleteDatabase: true)
        #expect(pool.closings == 1)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["test.db"])
        let test = try TestDatabase(folder: folder)
        #expect(try await test.count("users") == 1)
        try await test.database.close()
    }

    @Test func aPoolThatCannotCloseSaysSo() async throws {
        let failure = TestError(text: "of the pool")
        let pool = try OwnPool(path: folder.file(), failingToClose: failure)
        let bench = ConnectedBench(on: pool, in: folder)
        #expect(try await bench.users() == [])
        await #expect(throws: failure) { try await bench.database.close() }
        #expect(bench.lifecycle.phase == .closed)
        // It is closed all the same.
        let error = await #expect(throws: PowerSyncError.self) { try await bench.users() }
        #expect(error?.code == .closed)
        try await bench.database.close()
        #expect(pool.closings == 1)
    }

    @Test func anOpeningThatFailsLeavesThePoolOpenForTheNextOne() async throws {
        let pool = try OwnPool(path: folder.file())
        let bench = ConnectedBench(on: pool, in: folder)
        let refusal = TestError(text: "not now")
        pool.refuse(refusal)
        await #expect(throws: refusal) { try await bench.users() }
        #expect(pool.closings == 0)
        try await wait(for: "nobody to follow") { pool.listeners == 0 }
        pool.refuse(nil)
        #expect(try await bench.users() == [])
        try await bench.database.close()
        #expect(pool.closings == 1)
    }

    /// As on connections of the SDK, which wait inside SQLite.
    @Test func openingWaitsForWhoeverHoldsTheFile() async throws {
        let pool = try OwnPool(path: folder.file())
        try await pool.own("PRAGMA busy_timeout = 0")
        let other = try SQLiteConnection(path: folder.file())
        try other.execute("BEGIN IMMEDIATE")
        var environment = SyncEnvironment.system()
        environment.opening.budget = TestOptions.deadline
        let bench = ConnectedBench(on: pool, in: folder, environment: environment)
        async let users = bench.users()
        try await wait(for: "the first failure in the log") { bench.log.has("in use") }
        try other.execute("ROLLBACK")
        #expect(try await users == [])
        other.close()
        try await bench.database.close()
    }

    // MARK: Several databases

    @Test func twoDatabasesOfOneIdentifierShareWhatTheyHave() async throws {
        let pool = try OwnPool(path: folder.file())
        let log = RecordingWriter(keeping: folder)
        let identifier = UUID().uuidString
        let (a, b) = (
            OpenedPowerSyncDatabase(
                schema: TestDatabase.schema, pool: pool, identifier: identifier,
                logger: DefaultLogger(writers: [log])),
            OpenedPowerSyncDatabase(
                schema: TestDatabase.schema, pool: pool, identifier: identifier,
                logger: DefaultLogger(writers: [log]))
        )
        #expect(log.warnings(containing: "Multiple PowerSync instances") == 1)
        let users = WatchedTexts(
            try a.watch("SELECT name FROM users") { try $0.getString(index: 0) })
        try await users.wait(for: [])
        try await b.execute("INSERT INTO users (id, name) VALUES ('b', 'of b')")
        try await users.wait(for: ["of b"])
        #expect(pool.listeners == 1, "one group, one follower")
        await #expect(throws: PowerSyncError.self) { try await a.close(deleteDatabase: true) }
        try await a.close()
        #expect(pool.closings == 0)
        #expect(try await b.get("SELECT count(*) FROM users") { try $0.getInt(index: 0) } == 1)
        try await b.close()
        #expect(pool.closings == 1)
        #expect(pool.areAllClosed)
    }

    @Test func databasesOfDifferentIdentifiersHaveNothingInCommon() throws {
        let groups = DatabaseGroups()
        let path = folder.file()
        let file = try DatabaseLocation(named: path)
        let pool = groups.group(at: .pool(identifier: path))
        #expect(groups.group(at: .pool(identifier: path)) === pool)
        #expect(groups.group(at: .pool(identifier: "another")) !== pool)
        #expect(groups.group(at: file) !== pool)
        #expect(groups.group(at: .memory) !== pool)
        #expect(pool.lock == nil && pool.external == nil)
    }

    @Test func thePoolOfTheSecondIsNotUsedAndIsClosedWithIt() async throws {
        let (first, second) = (try OwnPool(path: folder.file()), try OwnPool(path: folder.file()))
        let groups = DatabaseGroups()
        let a = ConnectedBench(on: first, in: folder, groups: groups)
        let b = ConnectedBench(on: second, in: folder, groups: groups)
        #expect(try await a.users() == [])
        try await b.database.execute("INSERT INTO users (id, name) VALUES ('b', 'of b')")
        #expect(try await a.users() == ["of b"])
        #expect(second.reads == 0 && second.listeners == 0)
        try await b.database.close()
        #expect(second.closings == 1 && first.closings == 0)
        #expect(try await a.users() == ["of b"])
        try await a.database.close()
        #expect(second.closings == 1 && first.closings == 1)
    }

    @Test func oneThatWasNeverUsedLeavesThePoolToTheOther() async throws {
        let pool = try OwnPool(path: folder.file())
        let groups = DatabaseGroups()
        let a = ConnectedBench(on: pool, in: folder, groups: groups)
        let b = ConnectedBench(on: pool, in: folder, groups: groups)
        try await a.database.close()
        #expect(pool.closings == 0)
        #expect(try await b.users() == [])
        try await b.database.close()
        #expect(pool.closings == 1)
    }

    @Test func lettingGoOfADatabaseLeavesThePoolOpenAndReadyForAnother() async throws {
        let pool = try OwnPool(path: folder.file())
        do {
            let bench = ConnectedBench(on: pool, in: folder)
            try await bench.database.execute("INSERT INTO users (id, name) VALUES ('a', 'A')")
        }
        try await wait(for: "it to be gone") { pool.listeners == 0 }
        #expect(pool.closings == 0)
        #expect(try await pool.ownTexts("SELECT name FROM users") == ["A"])
        let bench = ConnectedBench(on: pool, in: folder)
        let users = try bench.watchedUsers()
        try await users.wait(for: ["A"])
        try await bench.database.execute("INSERT INTO users (id, name) VALUES ('b', 'B')")
        try await users.wait(for: ["A", "B"])
        try await bench.database.close()
        #expect(pool.closings == 1 && pool.areAllClosed)
    }
}
