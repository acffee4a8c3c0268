import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Two lists of databases share nothing, as two processes: neither SQLite nor the system can tell them from two.
@Suite(.patient())
struct ElsewhereTests {
    private func pair() throws -> (ConnectedBench, ConnectedBench) {
        let folder = try TemporaryDirectory()
        return (
            try ConnectedBench(folder: folder, groups: DatabaseGroups()),
            try ConnectedBench(folder: folder, groups: DatabaseGroups())
        )
    }

    /// Connects both, the first one first.
    private func connectedPair() async throws -> (ConnectedBench, ConnectedBench) {
        let (a, b) = try pair()
        try await a.connect()
        try await b.connect()
        return (a, b)
    }

    @Test func oneSyncsAndTheOtherSeesItAndHasItsWritesUploaded() async throws {
        let (a, b) = try pair()
        let (uploadsOfA, uploadsOfB) = (TestConnector(), TestConnector())
        try await a.connect(uploadsOfA)
        let stream = try await a.stream()
        try await b.connect(uploadsOfB)
        #expect(b.status.isSyncedElsewhere && !b.status.connected && !b.status.connecting)
        #expect(!a.status.isSyncedElsewhere)
        #expect(b.status.hasSynced == false)
        stream.send(
            SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
            SyncLines.data(
                "b", SyncLines.put(1, "u", checksum: 5, type: "users", data: #"{"name":"synced"}"#)),
            SyncLines.complete(1))
        try await b.database.waitForFirstSync()
        #expect(try await b.users() == ["synced"])
        try await b.database.execute("INSERT INTO users (id, name) VALUES ('b', 'of b')")
        try await wait(for: "the upload") { uploadsOfA.entries.map(\.id) == ["b"] }
        #expect(uploadsOfB.uploads == 0 && uploadsOfB.fetches == 0)
        #expect(b.transport.requests.isEmpty)
        #expect(b.status.isSyncedElsewhere)
        try await a.database.close()
        try await b.database.close()
    }

    @Test func whoeverWaitsTakesOverWhenTheOtherDisconnects() async throws {
        let (a, b) = try await connectedPair()
        _ = try await a.stream()
        #expect(b.status.isSyncedElsewhere)
        try await a.database.disconnect()
        b.completeEmptyCheckpoint(try await b.stream())
        try await b.database.waitForFirstSync()
        #expect(!b.status.isSyncedElsewhere && b.status.connected)
        #expect(!a.status.isSyncedElsewhere)
        try await a.connect()
        #expect(a.status.isSyncedElsewhere && a.transport.streams.count == 1)
        try await b.database.close()
        _ = try await a.stream(1)
        try await wait(for: "the connection") { a.status.connected && !a.status.isSyncedElsewhere }
        try await a.database.close()
    }

    @Test func connectingAgainHandsNothingOver() async throws {
        let (a, b) = try await connectedPair()
        for round in 0..<3 {
            let stream = try await a.stream(round)
            try await a.connect(options: ConnectOptions(params: ["round": .int(round)]))
            #expect(stream.isCancelled)
        }
        _ = try await a.stream(3)
        #expect(b.status.isSyncedElsewhere && b.transport.requests.isEmpty)
        try await a.database.close()
        try await b.database.close()
    }

    @Test func whoeverGaveUpDoesNotTakeOver() async throws {
        let (a, b) = try await connectedPair()
        try await b.database.disconnect()
        #expect(!b.status.isSyncedElsewhere)
        try await a.database.close()
        let c = try ConnectedBench(folder: a.folder, groups: DatabaseGroups())
        try await c.connect()
        #expect(!c.status.isSyncedElsewhere)
        _ = try await c.stream()
        #expect(b.transport.requests.isEmpty)
        try await b.database.close()
        try await c.database.close()
    }

    @Test func onlyTheOneThatSyncsClears() async throws {
        let (a, b) = try await connectedPair()
        let stream = try await a.stream()
        try await a.database.execute("INSERT INTO drafts (id, text) VALUES ('d', 'kept')")
        let error = await #expect(throws: PowerSyncError.self) { try await b.database.disconnectAndClear() }
        #expect(error?.errorDescription == "Cannot clear a database that another process syncs")
        #expect(!b.status.isSyncedElsewhere, "it has disconnected")
        let drafts = "SELECT count(*) FROM drafts"
        #expect(try await b.database.get(drafts) { try $0.getInt(index: 0) } == 1)
        #expect(!stream.isCancelled)
        try await a.database.disconnectAndClear()
        #expect(try await a.database.get(drafts) { try $0.getInt(index: 0) } == 0)
        // Nobody syncs now: whoever wants to may clear.
        try await b.database.disconnectAndClear()
        #expect(a.transport.streams.count == 1 && b.transport.requests.isEmpty)
        try await a.database.close()
        try await b.database.close()
    }

    @Test func nobodyCanBeginToSyncWhileADatabaseIsCleared() async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        let pool = try await database.pool()
        let path = bench.folder.file()
        let probe = FileLock(path: path + SyncLock.ending, like: path)
        let gate = BlockingGate()
        async let writing: Void = database.writeLock { _ in gate.wait() }
        defer { gate.open() }
        try await wait(for: "the callback") { gate.arrivals == 1 }
        let clearing = Task { try await database.disconnectAndClear() }
        // Once it has the right to sync.
        try await wait(for: "clearing to wait for the writer") { pool.waitingWrites == 1 }
        #expect(try !probe.take())
        gate.open()
        try await writing
        try await wait(forEndOf: clearing)
        #expect(try probe.take())
        await #expect(throws: PowerSyncError.self) { try await database.disconnectAndClear() }
        probe.release()
        try await database.close()
    }

    @Test func theSchemaIsFixedWhileAnotherProcessSyncs() async throws {
        let (a, b) = try await connectedPair()
        #expect(b.lifecycle.phase == .elsewhere)
        let error = await #expect(throws: PowerSyncError.self) {
            try await b.database.updateSchema(schema: Schema())
        }
        #expect(error?.errorDescription == "Cannot update schema while connected")
        try await b.database.disconnect()
        try await b.database.updateSchema(schema: TestDatabase.schema)
        try await a.database.close()
        try await b.database.close()
    }

    @Test(.enabled(if: Platform.tellsOfFiles))
    func whoeverLosesTheRightStopsAndTakesOverLater() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let stream = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        let path = bench.folder.file() + SyncLock.ending
        // Made beside it and put into its place, so that the other has it at any moment at which it is there.
        let other = FileLock(path: path + ".new", like: bench.folder.file())
        #expect(try other.take())
        #expect(rename(path + ".new", path) == 0)
        try await wait(for: "syncing to end") { bench.status.isSyncedElsewhere }
        #expect(stream.isCancelled && !bench.status.connected && !bench.status.connecting)
        #expect(bench.lifecycle.phase == .elsewhere)
        other.release()
        _ = try await bench.stream(1)
        try await wait(for: "the connection") { bench.status.connected && !bench.status.isSyncedElsewhere }
        try await bench.database.close()
    }

    @Test func deletingTheDatabaseRemovesTheLockToo() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        _ = try await bench.stream()
        let lock = bench.folder.file() + SyncLock.ending
        #expect(FileManager.default.fileExists(atPath: lock))
        try await bench.database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: bench.folder.path).isEmpty)
    }

    @Test func aDatabaseInMemoryIsSyncedByItsOwner() async throws {
        let (a, b) = (try ConnectedBench(name: ":memory:"), try ConnectedBench(name: ":memory:"))
        for bench in [a, b] {
            try await bench.connect()
            _ = try await bench.stream()
            #expect(!bench.status.isSyncedElsewhere)
        }
        try await a.database.close()
        try await b.database.close()
    }
}
