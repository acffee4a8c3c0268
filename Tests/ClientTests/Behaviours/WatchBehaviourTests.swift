import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 D: what the tests beside their sources do not say of it.
@Suite(.patient())
struct WatchBehaviourTests {
    private func watch(
        _ test: TestDatabase, _ sql: String = "SELECT name FROM users ORDER BY name", throttle: TimeInterval
    ) throws -> AsyncThrowingStream<[String], any Error> {
        try test.database.watch(
            options: WatchOptions(sql: sql, throttle: throttle) { try $0.getString(index: 0) })
    }

    @Test(
        "With the default throttle every row of two writes shows, and the newest state comes", .behaviour(34))
    func theNewestStateComes() async throws {
        let test = try TestDatabase()
        var results = try test.database.watch("SELECT name FROM users ORDER BY name") {
            try $0.getString(index: 0)
        }.makeAsyncIterator()
        #expect(try await results.next() == [])
        for name in ["User 1", "User 2"] { try await test.insertUser(name) }
        var all: Set<String> = []
        var last: [String] = []
        while last.count < 2, let names = try await results.next() {
            all.formUnion(names)
            last = names
        }
        #expect(all == ["User 1", "User 2"])
        #expect(last == ["User 1", "User 2"])
    }

    @Test("Changes that are a throttle apart make one result each, at once", .behaviour(38))
    func spacedChangesMakeOneResultEach() async throws {
        let clock = SteppedClock()
        let test = try TestDatabase(environment: clock.environment)
        let database = try #require(test.database as? LocalDatabase)
        let watched = Collected(try watch(test, throttle: 0.25))
        for number in 1...2 {
            try await wait(for: "the watch to wait") { database.changes.waitingCount == 1 }
            clock.advance(by: .milliseconds(250))
            try await test.insertUser("User \(number)")
            try await wait(for: "result \(number)") { watched.results.count == number + 1 }
        }
        #expect(watched.results.map(\.count) == [0, 1, 2])
        #expect(clock.waiting.isEmpty)
    }

    @Test("A write runs the watch of its table, and not the one of another", .behaviour(40))
    func aWriteRunsTheWatchOfItsTable() async throws {
        let test = try TestDatabase(
            schema: Schema(
                Table(name: "assets", columns: [.text("description")]),
                Table(name: "customers", columns: [.text("name")])))
        let database = try #require(test.database as? LocalDatabase)
        let assets = Collected(try watch(test, "SELECT description FROM assets", throttle: 0))
        let customers = Collected(try watch(test, "SELECT name FROM customers", throttle: 0))
        try await wait(for: "both to wait") { database.changes.waitingCount == 2 }
        try await database.execute("INSERT INTO assets (id, description) VALUES ('a', 'test')")
        // Both were told before the write returned, and have done what comes of it.
        try await wait(for: "both to wait again") { database.changes.waitingCount == 2 }
        #expect(assets.results == [[], ["test"]])
        #expect(customers.results == [[]])
    }

    /// The official JavaScript SDK gives 3 or 4; here a consumer that is busy keeps nothing waiting, so they are fewer.
    @Test("A slow consumer of 25 writes gets few results, the last of them whole", .behaviour(41))
    func aSlowConsumerGetsFewResults() async throws {
        let test = try TestDatabase()
        var results = try watch(test, throttle: 0.001).makeAsyncIterator()
        #expect(try await results.next() == [])
        let writes = (1...25).map { number in Task { try await test.insertUser("User \(number)") } }
        var received = 1
        while let names = try await results.next() {
            received += 1
            if names.count == 25 { break }
            // As slow as all the writes together.
            for write in writes { try await wait(forEndOf: write) }
        }
        #expect((2...4).contains(received), "\(received) results")
        for write in writes { try await wait(forEndOf: write) }
    }

    @Test("A watch follows its view from a local table to a synced one", .behaviour(44))
    func aWatchFollowsItsView() async throws {
        func schema(_ isSynced: Bool) -> Schema {
            Schema(
                Table(
                    name: "assets", columns: [.text("description")],
                    viewNameOverride: isSynced ? nil : "inactive_synced_assets"),
                Table(
                    name: "local_assets", columns: [.text("description")], localOnly: true,
                    viewNameOverride: isSynced ? "inactive_local_assets" : "assets"))
        }
        func insert(_ numbers: ClosedRange<Int>, _ test: TestDatabase) async throws {
            for number in numbers {
                try await test.database.execute(
                    "INSERT INTO assets (id, description) VALUES ('\(number)', 'test')")
            }
        }
        let test = try TestDatabase(schema: schema(false))
        try await insert(1...3, test)
        var counts = try test.database.watch("SELECT count(*) FROM assets") { try $0.getInt(index: 0) }
            .makeAsyncIterator()
        #expect(try await counts.next() == [3])
        try await test.database.updateSchema(schema: schema(true))
        #expect(try await counts.next() == [0])
        try await test.database.execute(
            "INSERT INTO assets SELECT id, description FROM inactive_local_assets")
        try await insert(4...6, test)
        var last = 0
        while last < 6, let count = try await counts.next() { last = count.first ?? 0 }
        #expect(last == 6)
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
