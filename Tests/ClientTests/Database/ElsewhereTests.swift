import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
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
        let pool = try #require(try await database.pool() as? SQLitePool)
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

    /// What it stands for is of a user who was signed out there.
    @Test func aRequestOfBeforeAnotherProcessHasClearedIsWorthNothing() async throws {
        let folder = try TemporaryDirectory()
        let answers = [1, 2, 1].map { SyncHTTPResponse.checkpointRequest($0) }
        let a = try ConnectedBench(
            folder: folder, transport: ScriptedTransport(answers: answers), groups: DatabaseGroups())
        let b = try ConnectedBench(folder: folder, groups: DatabaseGroups())
        let options = ConnectOptions(checkpointMode: .requests())
        try await a.connect(options: options)
        _ = try await a.stream()
        let request = try await a.database.requestCheckpoint()
        try await a.database.disconnect()
        try await b.database.disconnectAndClear()
        try await a.connect(options: options)
        let stream = try await a.stream(1)
        stream.send(SyncLines.checkpoint(0, [], writeCheckpoint: 2), SyncLines.complete(0))
        try await wait(for: "the checkpoint to count") {
            a.database.group.status.progress.state.current.applied == 2
        }
        #expect(!request.hasSynced)
        await #expect(throws: CheckpointWaitError.self) { try await request.waitForSync() }
        try await a.database.close()
        try await b.database.close()
    }

    /// Else the connector of the user who was signed out would bring that user's rows back.
    @Test(.enabled(if: Platform.tellsOfFiles)) func clearingDisconnectsWhoeverWaits() async throws {
        let (a, b) = try await connectedPair()
        _ = try await a.stream()
        try await a.database.disconnectAndClear()
        try await wait(for: "the other to give up") {
            b.lifecycle.phase == .open && !b.status.isSyncedElsewhere
        }
        let error = try #require(b.status.downloadError as? PowerSyncError)
        #expect(error.code == .invalidState)
        #expect(error.errorDescription?.hasPrefix("Another process has cleared the database") == true)
        try await a.connect()
        _ = try await a.stream(1)
        try await wait(for: "the connection") { a.status.connected && !a.status.isSyncedElsewhere }
        try await b.connect()
        #expect(b.status.isSyncedElsewhere && b.status.anyError == nil)
        // Who connects behind a clearing takes over as ever.
        try await a.database.disconnect()
        _ = try await b.stream()
        #expect(b.transport.streams.count == 1)
        try await a.database.close()
        try await b.database.close()
    }

    @Test(.enabled(if: Platform.tellsOfFiles)) func whoeverCannotTakeOverSaysSoAndTriesAgain() async throws {
        let folder = try TemporaryDirectory()
        let a = try ConnectedBench(folder: folder, groups: DatabaseGroups())
        let clock = SteppedClock()
        let failures = Lock(0)
        let b = try ConnectedBench(folder: folder, groups: DatabaseGroups(), environment: clock.environment) {
            transport in
            let isFirst = failures.withLock { failures in
                failures += 1
                return failures == 1
            }
            if isFirst { throw TestError(text: "no thread") }
            return transport
        }
        try await a.connect()
        try await b.connect()
        #expect(b.status.isSyncedElsewhere)
        try await a.database.disconnect()
        try await wait(for: "the pause") { clock.waiting == [.seconds(5)] }
        #expect(b.status.downloadError is TestError)
        #expect(b.lifecycle.phase == .elsewhere)
        clock.advance(by: .seconds(5))
        _ = try await b.stream()
        try await wait(for: "the connection") { b.status.connected && !b.status.isSyncedElsewhere }
        try await a.database.close()
        try await b.database.close()
    }

    @Test func whoeverBeginsToWaitShowsNoErrorOfBefore() async throws {
        let (a, b) = try pair()
        _ = try await b.users()
        b.database.group.status.update { snapshot in
            (snapshot.downloadError, snapshot.uploadError) = (TestError(text: "old"), TestError(text: "old"))
            return true
        }
        try await a.connect()
        try await b.connect()
        #expect(b.status.isSyncedElsewhere && b.status.anyError == nil)
        try await a.database.close()
        try await b.database.close()
    }

    @Test func afterClosingNobodyElseIsSaidToSync() async throws {
        let a = try ConnectedBench(groups: DatabaseGroups())
        try await a.connect()
        for _ in 0..<20 {
            let b = try ConnectedBench(folder: a.folder, groups: DatabaseGroups())
            try await b.connect()
            #expect(b.status.isSyncedElsewhere)
            try await b.database.close()
            #expect(!b.status.isSyncedElsewhere)
        }
        try await a.database.close()
    }

    @Test(.enabled(if: Platform.tellsOfFiles)) func whoeverIsNotConnectedSeesTheFirstSyncToo() async throws {
        let (a, b) = try pair()
        try await a.connect()
        let stream = try await a.stream()
        _ = try await b.users()
        let status = try #require(b.database.currentStatus as? LiveSyncStatus)
        let waiting = Task { try await b.database.waitForFirstSync() }
        try await wait(for: "somebody to wait") { status.feed.waiterCount == 1 }
        a.completeEmptyCheckpoint(stream)
        try await wait(forEndOf: waiting)
        try await a.database.close()
        try await b.database.close()
    }

    @Test(.enabled(if: Platform.tellsOfFiles)) func whatIsSubscribedToElsewhereIsRequestedAtOnce()
        async throws
    {
        let (a, b) = try await connectedPair()
        _ = try await a.stream()
        let handle = try await b.database.syncStream(name: "s", params: nil).subscribe()
        _ = try await a.stream(1)
        let requested = try a.transport.body(1)["streams"]?["subscriptions"]?.arrayValue
        #expect(requested?.map { $0["stream"]?.stringValue } == ["s"])
        try await handle.unsubscribe()
        try await a.database.close()
        try await b.database.close()
    }

    /// The process that syncs drops what has ended; it does not know of handles of another one.
    @Test(.enabled(if: Platform.tellsOfFiles), arguments: [0, 3600])
    func whatIsHeldElsewhereLasts(timeToLive: Int) async throws {
        let clock = SteppedClock()
        let folder = try TemporaryDirectory()
        let a = try ConnectedBench(folder: folder, groups: DatabaseGroups(), environment: clock.environment)
        let b = try ConnectedBench(folder: folder, groups: DatabaseGroups(), environment: clock.environment)
        try await a.connect()
        _ = try await a.stream()
        // Each waits anew for its turn.
        for _ in 0..<3 { try await b.connect() }
        let handle = try await b.database.syncStream(name: "s", params: nil)
            .subscribe(ttl: TimeInterval(timeToLive), priority: nil)
        let stream = try await a.stream(1)
        let isStored = { @Sendable in
            try await a.database.get("SELECT count(*) FROM ps_stream_subscriptions") {
                try $0.getInt(index: 0)
            }
        }
        for _ in 0..<240 {
            try await wait(for: "the next look at what is held") { clock.waiting.contains(.seconds(30)) }
            clock.advance(by: .seconds(30))
            stream.send(SyncLines.tokenExpires(in: 3600))
            try await wait(for: "the keepalive to be read") { stream.isIdle || stream.isCancelled }
        }
        #expect(try await isStored() == 1)
        #expect(a.transport.streams.count == 2, "it was requested without a break")
        // As a process does that syncs on while this one stands still.
        try await a.database.execute("DELETE FROM ps_stream_subscriptions")
        try await wait(for: "the next look at what is held") { clock.waiting.contains(.seconds(30)) }
        clock.advance(by: .seconds(30))
        try await wait(for: "it to be stored again", read: isStored, until: { $0 == 1 })
        try await handle.unsubscribe()
        clock.advance(by: .seconds(7200))
        try await wait(
            for: "it to end",
            read: {
                // Whichever stream it is by now: what was stored again was requested again.
                a.transport.streams.last?.send(SyncLines.tokenExpires(in: 3600))
                return try await isStored()
            }, until: { $0 == 0 })
        try await a.database.close()
        try await b.database.close()
    }

    private func requestedStreams(_ bench: ConnectedBench, _ index: Int) throws -> [String?] {
        let streams = try bench.transport.body(index)["streams"]?["subscriptions"]?.arrayValue
        return streams?.map { $0["stream"]?.stringValue } ?? []
    }

    /// Completes a checkpoint of a service that lists a stream, whose row stays from then on when it is unsubscribed.
    private func completeCheckpoint(listing name: String, _ stream: ScriptedStream) {
        let streams = "[{\"name\":\(JSON.quoted(name)),\"is_default\":false,\"errors\":[]}]"
        stream.send(SyncLines.checkpoint(0, [], streams: streams), SyncLines.complete(0))
    }

    @Test(.enabled(if: Platform.tellsOfFiles)) func whatIsUnsubscribedElsewhereIsRequestedAgainWhileItIsHeld()
        async throws
    {
        let clock = SteppedClock()
        let folder = try TemporaryDirectory()
        let a = try ConnectedBench(folder: folder, groups: DatabaseGroups(), environment: clock.environment)
        let b = try ConnectedBench(folder: folder, groups: DatabaseGroups(), environment: clock.environment)
        try await a.connect()
        _ = try await a.stream()
        try await b.connect()
        let handle = try await b.database.syncStream(name: "s", params: nil).subscribe()
        completeCheckpoint(listing: "s", try await a.stream(1))
        try await a.database.waitForFirstSync()
        try await wait(for: "the first look at what is held") { clock.waiting.contains(.seconds(30)) }
        try await a.database.syncStream(name: "s", params: nil).unsubscribeAll()
        _ = try await a.stream(2)
        #expect(try requestedStreams(a, 2).isEmpty)
        clock.advance(by: .seconds(30))
        _ = try await a.stream(3)
        #expect(try requestedStreams(a, 3) == ["s"])
        // And where no look comes in between.
        try await wait(for: "the next look at what is held") { clock.waiting.contains(.seconds(30)) }
        try await a.database.syncStream(name: "s", params: nil).unsubscribeAll()
        _ = try await a.stream(4)
        #expect(try requestedStreams(a, 4).isEmpty)
        try await a.database.close()
        _ = try await b.stream()
        #expect(try requestedStreams(b, 0) == ["s"])
        try await handle.unsubscribe()
        try await b.database.close()
    }

    @Test(.enabled(if: Platform.tellsOfFiles)) func whatIsUnsubscribedElsewhereStaysWhereItIsHeldAndSynced()
        async throws
    {
        let (idle, syncing) = try pair()
        let handle = try await syncing.database.syncStream(name: "s", params: nil).subscribe()
        try await syncing.connect()
        completeCheckpoint(listing: "s", try await syncing.stream())
        try await syncing.database.waitForFirstSync()
        try await idle.database.syncStream(name: "s", params: nil).unsubscribeAll()
        try await wait(
            for: "it to be stored again",
            read: {
                try await idle.database.get(
                    "SELECT count(*) FROM ps_stream_subscriptions WHERE ttl IS NOT NULL"
                ) { try $0.getInt(index: 0) }
            }, until: { $0 == 1 })
        try await syncing.database.disconnect()
        #expect(syncing.transport.streams.count == 1, "it was requested without a break")
        try await handle.unsubscribe()
        try await syncing.database.close()
        try await idle.database.close()
    }

    @Test func aWatchFollowsASchemaThatAnotherProcessBrings() async throws {
        let folder = try TemporaryDirectory()
        let users = { Schema(Table(name: "users", columns: [.text("name")], localOnly: $0)) }
        let a = try ConnectedBench(folder: folder, schema: users(false), groups: DatabaseGroups())
        let results = try a.database.watch("SELECT count(*) FROM users") { try $0.getInt(index: 0) }
        let seen = Lock<[Int]>([])
        let watching = Task { for try await counts in results { seen.withLock { $0 += counts } } }
        try await wait(for: "the first result") { seen.withLock { $0 == [0] } }
        let b = try ConnectedBench(folder: folder, schema: users(true), groups: DatabaseGroups())
        _ = try await b.users()
        try await wait(for: "the change to be told") { seen.withLock { $0.count > 1 } }
        // The marker of another process has been taken, so that the own write alone leads to a result.
        try await a.database.execute("INSERT INTO users (id, name) VALUES ('1', 'A')")
        try await wait(for: "what was written") { seen.withLock { $0.last == 1 } }
        try await a.database.close()
        try await b.database.close()
        try await wait(forEndOf: watching)
    }

    @Test func filesThatAnotherProcessHasOpenStay() async throws {
        let (a, b) = try pair()
        try await a.database.execute("INSERT INTO users (id, name) VALUES ('a', 'A')")
        #expect(try await b.users() == ["A"])
        let error = await #expect(throws: PowerSyncError.self) {
            try await a.database.close(deleteDatabase: true)
        }
        #expect(error?.errorDescription == "Cannot delete a database that another process has open")
        try await b.database.execute("INSERT INTO users (id, name) VALUES ('b', 'B')")
        let c = try ConnectedBench(folder: a.folder, groups: DatabaseGroups())
        #expect(try await c.users() == ["A", "B"])
        try await b.database.close()
        try await c.database.close(deleteDatabase: true)
        #expect(try FileManager.default.contentsOfDirectory(atPath: a.folder.path).isEmpty)
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
