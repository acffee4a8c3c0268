import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct WatchTests {
    private static let names = "SELECT name FROM users ORDER BY name"

    private func watch(
        _ test: TestDatabase, _ sql: String = names, throttle: TimeInterval = 0
    ) throws -> AsyncThrowingStream<[String], any Error> {
        try test.database.watch(
            options: WatchOptions(sql: sql, throttle: throttle) { try $0.getString(index: 0) })
    }

    @Test(.behaviour(37)) func firstResultComesAtOnceAlsoIfEmptyThenOneAfterEachChange() async throws {
        let test = try TestDatabase()
        var results = try watch(test).makeAsyncIterator()
        #expect(try await results.next() == [])
        try await test.insertUser("User 1")
        #expect(try await results.next() == ["User 1"])
        try await test.insertUser("User 2")
        #expect(try await results.next() == ["User 1", "User 2"])
    }

    /// A write has been told when it returns: who begins to watch then is not told of it.
    @Test func aWatchMadeRightAfterAWriteGetsItsResultOnce() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? LocalDatabase)
        for index in 1...25 {
            try await test.insertUser("User \(index)")
            do {
                let watched = Collected(try watch(test))
                try await wait(for: "the first result") { !watched.results.isEmpty }
                try await wait(for: "the watch to wait") { database.changes.waitingCount == 1 }
                try await test.insertUser("User \(index) again")
                try await wait(for: "the second result") { watched.results.last?.count == 2 * index }
                #expect(watched.results.map(\.count) == [2 * index - 1, 2 * index])
            }
            try await wait(for: "the watch to be gone") { database.changes.watcherCount == 0 }
        }
    }

    @Test func whatWasWrittenBeforeTheFirstReadingMakesNoSecondResult() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? LocalDatabase)
        let results = try watch(test)
        try await test.insertUser("A")
        let watched = Collected(results)
        try await wait(for: "the first result") { !watched.results.isEmpty }
        try await wait(for: "the watch to wait") { database.changes.waitingCount == 1 }
        try await test.insertUser("B")
        try await wait(for: "the second result") { watched.results.last == ["A", "B"] }
        #expect(watched.results == [["A"], ["A", "B"]])
    }

    @Test(.behaviour(39)) func changesWithinTheThrottleMakeOneResultAndTheLastIsNeverLost() async throws {
        let clock = SteppedClock()
        let test = try TestDatabase(environment: clock.environment)
        let watched = Collected(try watch(test, throttle: 0.2))
        try await wait(for: "the first result") { !watched.results.isEmpty }
        clock.advance(by: .milliseconds(50))
        for index in 1...5 { try await test.insertUser("User \(index)") }
        try await wait(for: "the rest of the throttle") { clock.waiting == [.milliseconds(150)] }
        clock.advance(by: .milliseconds(150))
        try await wait(for: "the second result") { watched.results.count > 1 }
        try await test.insertUser("User 6")
        try await wait(for: "the throttle") { clock.waiting == [.milliseconds(200)] }
        clock.advance(by: .milliseconds(199))
        try await test.insertUser("User 7")
        clock.advance(by: .milliseconds(1))
        try await wait(for: "the third result") { watched.results.count > 2 }
        #expect(watched.results.map(\.count) == [0, 5, 7])
    }

    @Test func slowConsumerGetsTheNewestResultAlone() async throws {
        let test = try TestDatabase()
        var results = try watch(test).makeAsyncIterator()
        #expect(try await results.next() == [])
        for index in 0..<25 { try await test.insertUser("User \(index)") }
        var received = 0
        while let names = try await results.next() {
            received += 1
            if names.count == 25 { break }
        }
        #expect(received <= 2)
    }

    @Test func everyWriterIsSeenHoweverTheyInterleave() async throws {
        let test = try TestDatabase()
        let results = try watch(test, throttle: 0.001)
        async let last = {
            var counts: [Int] = []
            for try await names in results {
                counts.append(names.count)
                if names.count == 200 { break }
            }
            return counts
        }()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask { for index in 0..<50 { try await test.insertUser("\(task)-\(index)") } }
            }
            try await group.waitForAll()
        }
        let counts = try await last
        // Results never go back in time, and the last one is there.
        #expect(counts == counts.sorted())
        #expect(counts.last == 200)
    }

    /// Writes a list and returns when every watch that was there has been told, and has done what comes of it.
    private func insertListAndWait(_ test: TestDatabase) async throws {
        let database = try #require(test.database as? LocalDatabase)
        // Watches are told in their order, so this one comes last.
        var lists = try watch(test, "SELECT name FROM lists").makeAsyncIterator()
        #expect(try await lists.next() == [])
        let others = database.changes.watcherCount - 1
        try await test.database.execute("INSERT INTO lists (id, name) VALUES (uuid(), 'list')")
        #expect(try await lists.next() == ["list"])
        try await wait(for: "the others to wait again") { database.changes.waitingCount == others }
    }

    @Test func onlyTablesOfTheQueryCount() async throws {
        let test = try TestDatabase()
        let users = Collected(try watch(test))
        try await wait(for: "the first result") { !users.results.isEmpty }
        try await insertListAndWait(test)
        try await test.insertUser("A")
        try await wait(for: "the user") { users.results.last == ["A"] }
        #expect(users.results == [[], ["A"]])
    }

    @Test(arguments: [
        "SELECT name FROM users WHERE id IN (SELECT name FROM lists)",
        "WITH l AS (SELECT name FROM lists) SELECT users.name FROM users, l",
        "SELECT name FROM lists UNION ALL SELECT name FROM users",
    ])
    func tablesOfJoinsSubqueriesAndExpressionsAreFound(_ sql: String) async throws {
        let test = try TestDatabase()
        let tables = try await test.database.readLock {
            try WatchedTables.resolve(sql: sql, parameters: [], on: $0)
        }
        #expect(tables == ["ps_data__users", "ps_data__lists"])
    }

    /// As the documentation says.
    @Test(arguments: [
        "CREATE TABLE odd (name TEXT PRIMARY KEY) WITHOUT ROWID", "CREATE VIRTUAL TABLE odd USING fts5(name)",
    ])
    func tablesWhoseChangesSQLiteDoesNotReportAreNotFollowed(_ sql: String) async throws {
        let test = try TestDatabase()
        try await test.database.execute(sql)
        let odd = Collected(try watch(test, "SELECT name FROM odd"))
        try await wait(for: "the first result") { !odd.results.isEmpty }
        try await test.database.execute("INSERT INTO odd (name) VALUES ('A')")
        try await insertListAndWait(test)
        #expect(odd.results == [[]])
        #expect(try await test.count("odd") == 1)
    }

    @Test func parametersAreThoseOfTheCall() async throws {
        let test = try TestDatabase()
        var results = try test.database.watch(
            sql: "SELECT count(*) FROM users WHERE name = ?", parameters: ["A"]
        ) { try $0.getInt(index: 0) }.makeAsyncIterator()
        #expect(try await results.next() == [0])
        try await test.insertUser("A")
        #expect(try await results.next() == [1])
    }

    @Test func rolledBackChangesMakeNoResult() async throws {
        let test = try TestDatabase()
        let users = Collected(try watch(test))
        try await wait(for: "the first result") { !users.results.isEmpty }
        await #expect(throws: TestError.self) {
            try await test.database.writeTransaction { transaction in
                try transaction.execute(sql: "INSERT INTO users (id, name) VALUES ('x', 'X')", parameters: [])
                throw TestError(text: "stop")
            }
        }
        try await insertListAndWait(test)
        try await test.insertUser("A")
        try await wait(for: "the user") { users.results.last == ["A"] }
        #expect(users.results == [[], ["A"]])
    }

    @Test(.behaviour(25)) func writeLockThatFailsStillTellsWhatItCommitted() async throws {
        let test = try TestDatabase()
        var results = try watch(test).makeAsyncIterator()
        #expect(try await results.next() == [])
        await #expect(throws: TestError.self) {
            try await test.database.writeLock { connection in
                try connection.execute(
                    sql: "INSERT INTO users (id, name) VALUES ('x', 'test user')", parameters: [])
                throw TestError(text: "stop")
            }
        }
        #expect(try await results.next() == ["test user"])
    }

    @Test(.behaviour(35, 42)) func invalidQueryThrowsOnceThenEnds() async throws {
        let test = try TestDatabase()
        var results = try watch(test, "SELECT name FROM usersfail ORDER BY id").makeAsyncIterator()
        let error = await #expect(throws: PowerSyncError.self) { try await results.next() }
        #expect(error?.errorDescription?.contains("EXPLAIN SELECT name FROM usersfail ORDER BY id") == true)
        #expect(try await results.next() == nil)
    }

    @Test(.behaviour(36)) func mapperErrorReachesTheConsumer() async throws {
        let test = try TestDatabase()
        try await test.insertUser("A")
        var results = try test.database.watch(Self.names) { _ -> Int in throw TestError(text: "cursor error")
        }
        .makeAsyncIterator()
        await #expect(throws: TestError(text: "cursor error")) { try await results.next() }
    }

    @Test func aSecondTaskThatAsksMeanwhileIsRefusedAndTheFirstGoesOn() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? LocalDatabase)
        let results = try watch(test)
        let first = Collected(results)
        try await wait(for: "the first task to wait") { database.changes.waitingCount == 1 }
        var second = results.makeAsyncIterator()
        let error = await #expect(throws: PowerSyncError.self) { try await second.next() }
        #expect(error?.errorDescription == "A watched query is read by one task at a time")
        try await test.insertUser("A")
        try await wait(for: "the first task to get the change") { first.results == [[], ["A"]] }
    }

    @Test(.behaviour(43)) func cancellingTheConsumerEndsItWithoutErrorAndForgetsIt() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? LocalDatabase)
        let (firsts, first) = AsyncStream.makeStream(of: Void.self)
        let consumer = Task {
            var count = 0
            for try await _ in try watch(test) {
                count += 1
                first.yield()
            }
            return count
        }
        for await _ in firsts { break }
        #expect(database.changes.watcherCount == 1)
        consumer.cancel()
        #expect(try await consumer.value == 1)
        #expect(database.changes.watcherCount == 0)
    }

    @Test(.behaviour(43)) func leavingTheLoopForgetsTheWatch() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? LocalDatabase)
        for try await _ in try watch(test) { break }
        #expect(database.changes.watcherCount == 0)
    }

    @Test func closingTheDatabaseEndsTheWatch() async throws {
        let test = try TestDatabase()
        var results = try watch(test).makeAsyncIterator()
        #expect(try await results.next() == [])
        try await test.database.close()
        #expect(try await results.next() == nil)
    }

    @Test func closingEndsAWatchWithinItsThrottle() async throws {
        let clock = SteppedClock()
        let test = try TestDatabase(environment: clock.environment)
        let results = try watch(test, throttle: 3_600)
        let count = Lock(0)
        let watching = Task { for try await _ in results { count.withLock { $0 += 1 } } }
        try await wait(for: "the first result") { count.withLock { $0 == 1 } }
        try await test.insertUser("A")
        try await wait(for: "the throttle") { clock.waiting == [.seconds(3_600)] }
        try await test.database.close()
        try await wait(forEndOf: watching)
        #expect(count.withLock { $0 } == 1)
    }

    @Test func watchFollowsTheTablesOfANewSchema() async throws {
        let local = Schema(
            Table(name: "users", columns: [.text("name")], viewNameOverride: "inactive_synced_users"),
            Table(name: "local_users", columns: [.text("name")], localOnly: true, viewNameOverride: "users"))
        let synced = Schema(
            Table(name: "users", columns: [.text("name")]),
            Table(
                name: "local_users", columns: [.text("name")], localOnly: true,
                viewNameOverride: "inactive_local_users"))
        let test = try TestDatabase(schema: local)
        var results = try watch(test).makeAsyncIterator()
        #expect(try await results.next() == [])
        try await test.database.execute("INSERT INTO users (id, name) VALUES ('1', 'local')")
        #expect(try await results.next() == ["local"])
        #expect(try await test.database.getNextCrudTransaction() == nil)
        try await test.database.updateSchema(schema: synced)
        #expect(try await results.next() == [])
        try await test.database.execute("INSERT INTO users SELECT id, name || '.' FROM inactive_local_users")
        #expect(try await results.next() == ["local."])
        let queued = try #require(try await test.database.getNextCrudTransaction())
        #expect(queued.crud.map(\.op) == [.put])
        #expect(queued.crud.first?.opData == ["name": "local."])
    }

    @Test func everyReaderForgetsTheTablesOfTheOldSchema() async throws {
        let table = Table(name: "users", columns: [.text("name")], viewNameOverride: "inactive_users")
        let local = Table(
            name: "local_users", columns: [.text("name")], localOnly: true, viewNameOverride: "users")
        let test = try TestDatabase(schema: Schema(table, local))
        let database = test.database
        let all = BlockingGate()
        // All four readers have compiled the query for the old tables.
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { all.open() }
            for _ in 0..<4 {
                group.addTask {
                    try await database.readLock { connection in
                        let tables = try WatchedTables.resolve(
                            sql: Self.names, parameters: [], on: connection)
                        #expect(tables == ["ps_data_local__local_users"])
                        all.wait()
                    }
                }
            }
            try await wait(for: "all readers") { all.arrivals == 4 }
            all.open()
            try await group.waitForAll()
        }
        try await database.updateSchema(schema: Schema(Table(name: "users", columns: [.text("name")])))
        for _ in 0..<8 {
            let tables = try await database.readLock {
                try WatchedTables.resolve(sql: Self.names, parameters: [], on: $0)
            }
            #expect(tables == ["ps_data__users"])
        }
    }

    @Test(.behaviour(179)) func externalMarkerRunsAnyWatchAgain() async throws {
        let test = try TestDatabase()
        let database = try #require(test.database as? LocalDatabase)
        var results = try watch(test).makeAsyncIterator()
        #expect(try await results.next() == [])
        database.group.changed([TableChanges.external])
        #expect(try await results.next() == [])
    }
}

/// Takes every result of a watch as soon as there is one.
private final class Collected<Row: Sendable>: Sendable {
    private let state: Lock<[[Row]]>
    private let task: Task<Void, any Error>

    init(_ stream: AsyncThrowingStream<[Row], any Error>) {
        let state = Lock<[[Row]]>([])
        self.state = state
        task = Task { for try await rows in stream { state.withLock { $0.append(rows) } } }
    }

    deinit { task.cancel() }

    var results: [[Row]] { state.withLock { $0 } }
}
