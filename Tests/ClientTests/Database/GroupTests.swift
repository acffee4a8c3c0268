import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct GroupTests {
    @Test(.behaviour(177, 178)) func secondInstanceIsWarnedOfAndSharesConnections() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(folder: folder)
        let b = try TestDatabase(folder: folder, name: "x/../test.db")
        #expect(
            a.log.warnings(
                containing: "Multiple PowerSync instances for the same database have been detected.") == 0)
        #expect(
            b.log.warnings(
                containing: "Multiple PowerSync instances for the same database have been detected.") == 1)
        var results = try a.database.watch("SELECT count(*) FROM users") { try $0.getInt(index: 0) }
            .makeAsyncIterator()
        #expect(try await results.next() == [0])
        try await b.insertUser("from b")
        #expect(try await results.next() == [1])
    }

    @Test func aSchemaThatASecondInstanceBringsIsFollowedByTheWatchesOfTheFirst() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(
            folder: folder, schema: Schema(Table(name: "users", columns: [.text("name")])))
        let results = try a.database.watch("SELECT count(*) FROM users") { try $0.getInt(index: 0) }
        let seen = Lock<[Int]>([])
        let watching = Task { for try await counts in results { seen.withLock { $0 += counts } } }
        try await wait(for: "the first result") { seen.withLock { $0 == [0] } }
        let b = try TestDatabase(
            folder: folder, schema: Schema(Table(name: "users", columns: [.text("name")], localOnly: true)))
        try await b.database.execute("INSERT INTO users (id, name) VALUES ('1', 'B')")
        try await wait(for: "what b has written") { seen.withLock { $0.last == 1 } }
        try await a.database.close()
        try await b.database.close()
        try await wait(forEndOf: watching)
    }

    /// The connections are those of both.
    @Test func aStatementThatFailsForASecondInstanceLeavesTheFirstAsItWas() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(folder: folder)
        let timeout = "SELECT timeout FROM pragma_busy_timeout"
        try await a.insertUser("A")
        let before = try await a.database.writeLock {
            try $0.get(sql: timeout, parameters: []) { try $0.getInt(index: 0) }
        }
        let b = try TestDatabase(
            folder: folder,
            initialStatements: [
                "CREATE TEMP TABLE own (id)", "PRAGMA busy_timeout = 0; SELECT * FROM missing",
            ])
        await #expect(throws: PowerSyncError.self) { try await b.count("users") }
        let after = try await a.database.writeLock {
            try $0.get(sql: timeout, parameters: []) { try $0.getInt(index: 0) }
        }
        #expect(before == after && after > 0)
        try await a.database.execute("CREATE TABLE missing (id)")
        #expect(try await b.count("users") == 1, "what has run is not run again")
        try await a.database.close()
        try await b.database.close()
    }

    @Test func aStatementOfASecondInstanceThatIsOnlySpelledAlikeRunsToo() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(folder: folder, initialStatements: ["CREATE TEMP TABLE \u{e9} (id)"])
        let b = try TestDatabase(folder: folder, initialStatements: ["CREATE TEMP TABLE e\u{301} (id)"])
        #expect(try await a.count("\u{e9}") == 0)
        #expect(try await b.count("e\u{301}") == 0)
        try await a.database.close()
        try await b.database.close()
    }

    @Test(.behaviour(177)) func noWarningOnceTheFirstIsClosed() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(folder: folder)
        try await a.insertUser("A")
        try await a.database.close()
        let b = try TestDatabase(folder: folder)
        #expect(b.log.warnings(containing: "Multiple PowerSync instances") == 0)
        #expect(try await b.count("users") == 1)
        try await b.database.close()
    }

    @Test func closingOneLeavesTheOtherAtWork() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(folder: folder)
        let b = try TestDatabase(folder: folder)
        try await a.insertUser("A")
        try await b.insertUser("B")
        var results = try a.database.watch("SELECT name FROM users") { try $0.getString(index: 0) }
            .makeAsyncIterator()
        #expect(try await results.next()?.count == 2)
        await #expect(throws: PowerSyncError.self) { try await a.database.close(deleteDatabase: true) }
        try await a.database.close()
        #expect(try await results.next() == nil)
        try await b.insertUser("C")
        #expect(try await b.count("users") == 3)
        let c = try TestDatabase(folder: folder)
        #expect(c.log.warnings(containing: "Multiple PowerSync instances") == 1)
        try await b.database.close()
        #expect(try await c.count("users") == 3)
        try await c.database.close()
    }

    @Test(.behaviour(179)) func writesOfAnotherProcessReachTheWatchAndItsEntriesTheUploads() async throws {
        let bench = try ConnectedBench()
        let connector = TestConnector()
        try await bench.connect(connector)
        let stream = try await bench.stream()
        bench.completeEmptyCheckpoint(stream)
        try await bench.database.waitForFirstSync()
        var results = try bench.database.watch("SELECT name FROM users") { try $0.getString(index: 0) }
            .makeAsyncIterator()
        #expect(try await results.next() == [])
        // A connection of its own is to SQLite what another process is.
        let other = try SQLiteConnection(path: bench.folder.file())
        other.setBusyTimeout(TestOptions.deadline)
        try CoreExtension.install(on: other)
        try other.transaction { try other.run("INSERT INTO users (id, name) VALUES ('o', 'other')") }
        other.close()
        #expect(try await results.next() == ["other"])
        try await wait(for: "the upload") { connector.uploads == 1 }
        try await bench.database.close()
    }

    @Test func statusOfOneIsTheStatusOfAll() async throws {
        let folder = try TemporaryDirectory()
        let a = try TestDatabase(folder: folder)
        let b = try TestDatabase(folder: folder)
        _ = try await a.count("users")
        _ = try await b.count("users")
        let database = try #require(a.database as? LocalDatabase)
        database.group.status.update { snapshot in
            snapshot.iteration.connected = true
            return true
        }
        #expect(a.database.currentStatus.connected)
        #expect(b.database.currentStatus.connected)
        let c = try TestDatabase(folder: folder)
        #expect(c.database.currentStatus.connected)
    }
}
