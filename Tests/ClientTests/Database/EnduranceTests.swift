import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// What an app does again and again while it runs leaves no descriptor, no thread and no memory behind.
///
/// `POWERSYNC_CONNECTS` and `POWERSYNC_WATCHES` say how often. Memory is judged from the numbers of `make nightly` on:
/// what fewer leave behind is less than what the allocator keeps for itself.
@Suite struct EnduranceTests {
    /// In a process of its own, whose descriptors, threads and memory are of nothing else.
    @Test(.patient(minutes: 60)) func connectingAndDisconnectingAtAnyMomentLeavesNothing() async throws {
        try await ProcessTurn.take {
            await #expect(processExitsWith: .success) { try await EnduranceTests.connectAgainAndAgain() }
        }
    }

    /// In a process of its own, as above.
    @Test(.patient(minutes: 60)) func watchesThatAreOpenedAndCancelledLeaveNothing() async throws {
        try await ProcessTurn.take {
            await #expect(processExitsWith: .success) { try await EnduranceTests.watchAgainAndAgain() }
        }
    }

    /// Does something so many times, and compares what is left in the end with what is left of the first tenth.
    private static func leavesNothing(
        _ count: Int, judgingMemoryFrom full: Int, _ body: (inout SeededRandom) async throws -> Void
    ) async throws {
        try Footprint.forgetErrors()
        var random = SeededRandom(seed: count)
        let tenth = max(1, count / 10)
        for _ in 0..<tenth { try await body(&random) }
        // Threads and buffers that are made once are there by now.
        let first = try await Footprint.settled()
        #if os(Linux)
            // Those of the open database: they are told apart from others.
            #expect(first.threads > 0)
        #endif
        for _ in tenth..<max(tenth, count) { try await body(&random) }
        let last = try await Footprint.settled()
        #expect(last.descriptors == first.descriptors, "\(first), then \(last)")
        #expect(last.threads == first.threads, "\(first), then \(last)")
        if count >= full {
            #expect(last.memory - first.memory <= 2 << 20, "\(first.memory), then \(last.memory) bytes")
        }
    }

    private static func open(in folder: TemporaryDirectory) -> any PowerSyncDatabaseProtocol {
        PowerSyncDatabase(
            schema: TestDatabase.schema, dbFilename: folder.file(), logger: DefaultLogger(writers: []))
    }

    /// Has the thread that copies the log begin, which comes with the first thousand pages and stays.
    private static func beginToCopyTheLog(of database: any PowerSyncDatabaseProtocol) async throws {
        try await database.execute(
            "INSERT INTO drafts (id, text) VALUES ('long', hex(zeroblob(4000000)))")
        try await database.execute("DELETE FROM drafts WHERE id = 'long'")
    }

    // MARK: Connecting

    /// Over sockets, each time with a thread and connections of its own.
    private static func connectAgainAndAgain() async throws {
        let count = TestOptions.number("POWERSYNC_CONNECTS", standard: 100)
        let folder = try TemporaryDirectory()
        let server = try service()
        let database = open(in: folder)
        try await beginToCopyTheLog(of: database)
        let connector = EnduranceConnector(endpoint: server.url(""))
        let options = ConnectOptions(crudThrottle: 0.001, retryDelay: 0.001)
        try await leavesNothing(count, judgingMemoryFrom: 1_000) { random in
            let connecting = Task { try await database.connect(connector: connector, options: options) }
            if random.once(in: 3) {
                try await database.execute("INSERT INTO users (id, name) VALUES (uuid(), 'A')")
            }
            // Before it has begun, while it begins, while a stream is opened, while rows come: at any moment.
            if random.once(in: 2) {
                try await wait(for: "the connection") { database.currentStatus.connected }
            }
            for _ in 0..<random.below(2_000) { await Task.yield() }
            try await database.disconnect()
            try await wait(forEndOf: connecting)
            // It may have come behind.
            try await database.disconnect()
        }
        #expect(server.connections > 0)
        try await database.close()
    }

    /// A service with two rows, which answers at once.
    private static func service() throws -> RawServer {
        let row = { SyncLines.put($0, "u\($0)", checksum: 5, type: "users", data: #"{"name":"synced"}"#) }
        let lines = [
            SyncLines.checkpoint(2, [.init("b", checksum: 10, count: 2)], writeCheckpoint: 1),
            SyncLines.data("b", row(1)), SyncLines.data("b", row(2)), SyncLines.complete(2),
        ]
        let body = #"{"data":{"write_checkpoint":"1"}}"#
        return try RawServer { connection in
            while let request = connection.request() {
                guard request.hasPrefix("POST /sync/stream ") else {
                    connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
                    continue
                }
                connection.send(.chunkedHead)
                for line in lines { connection.chunk(line + "\n") }
                return connection.waitForHangUp()
            }
        }
    }

    // MARK: Watching

    private static func watchAgainAndAgain() async throws {
        let count = TestOptions.number("POWERSYNC_WATCHES", standard: 500)
        let folder = try TemporaryDirectory()
        let database = try #require(open(in: folder) as? LocalDatabase)
        try await beginToCopyTheLog(of: database)
        try await database.execute("INSERT INTO drafts (id, text) VALUES ('d', 'first')")
        try await leavesNothing(count, judgingMemoryFrom: 10_000) { random in
            let results = try database.watch(
                options: WatchOptions(sql: "SELECT text FROM drafts", throttle: 0) {
                    try $0.getString(index: 0)
                })
            switch random.below(4) {
            // Nobody looks.
            case 0: break
            case 1: for try await _ in results { break }
            default:
                let watching = Task { for try await _ in results {} }
                for _ in 0..<random.below(300) { await Task.yield() }
                if random.once(in: 4) {
                    try await database.execute("UPDATE drafts SET text = 'next' WHERE id = 'd'")
                }
                watching.cancel()
                try await wait(forEndOf: watching)
            }
        }
        try await wait(for: "all watches to be forgotten") { database.changes.watcherCount == 0 }
        try await database.close()
    }
}

private struct EnduranceConnector: PowerSyncBackendConnectorProtocol {
    let endpoint: String

    func fetchCredentials() async throws -> PowerSyncCredentials? {
        PowerSyncCredentials(endpoint: endpoint, token: "t")
    }

    func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        try await database.getCrudBatch()?.complete()
    }
}
