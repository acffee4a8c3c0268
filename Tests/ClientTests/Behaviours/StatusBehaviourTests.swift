import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// Client-api 7 F without progress: what the tests beside their sources do not say of it.
@Suite(.patient())
struct StatusBehaviourTests {
    @Test("A checkpoint line begins a download, and checkpoint_complete ends it", .behaviour(70))
    func aDownloadBeginsAndEnds() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let stream = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        #expect(!bench.status.downloading)
        stream.send(SyncLines.checkpoint(1, [.init("a")]))
        try await wait(for: "the download") { bench.status.downloading }
        stream.send(SyncLines.complete(1))
        try await bench.database.waitForFirstSync()
        #expect(!bench.status.downloading)
        try await bench.database.close()
    }

    @Test("While the answer does not come it is connecting, and then connected", .behaviour(71))
    func connectingThenConnected() async throws {
        let gate = Gate()
        defer { gate.open() }
        let bench = try ConnectedBench { HeldTransport(transport: $0, gate: gate) }
        try await bench.connect()
        try await wait(for: "the request") { gate.arrivals == 1 }
        #expect(bench.status.connecting)
        #expect(!bench.status.connected)
        gate.open()
        try await wait(for: "the connection") { bench.status.connected }
        #expect(!bench.status.connecting)
        try await bench.database.close()
    }

    @Test("Without local writes nothing is ever shown as being uploaded", .behaviour(74))
    func nothingIsUploaded() async throws {
        let transport = ScriptedTransport(answers: [.writeCheckpoint(1)])
        try await SyncRig.run(try await SyncRig(transport: transport)) { rig in
            let stream = try await rig.stream(0)
            stream.send(
                SyncLines.checkpoint(1, [.init("b", checksum: 5)]),
                SyncLines.data("b", SyncLines.put(1, "remote", checksum: 5)), SyncLines.complete())
            try await wait(for: "the complete checkpoint") { await !rig.status.priorities.isEmpty }
            stream.send(SyncLines.tokenExpires(in: 3600))
            try await wait(for: "the keepalive to be handled") { stream.isIdle }
            try await rig.finishUploads()
            #expect(rig.uploads == 0)
            #expect(!rig.snapshots.isEmpty)
            #expect(!rig.snapshots.contains { $0.uploading })
            #expect(!transport.requests.contains { $0.method == "GET" })
        }
    }

    @Test(
        "Who waits for a priority goes on in the order of priorities, and who waits for all last",
        .behaviour(82))
    func waitersGoOnInOrder() async throws {
        let bench = try ConnectedBench()
        let database = bench.database
        _ = try await bench.users()
        let status = try #require(database.currentStatus as? LiveSyncStatus)
        let order = Lock<[String]>([])
        var waiting = [
            Task {
                try await database.waitForFirstSync()
                order.withLock { $0.append("all") }
            }
        ]
        for priority in [2, 1, 0] {
            waiting.append(
                Task {
                    try await database.waitForFirstSync(priority: Int32(priority))
                    order.withLock { $0.append("\(priority)") }
                })
        }
        try await wait(for: "all to wait") { status.feed.waiterCount == 4 }
        try await bench.connect()
        let stream = try await bench.stream()
        stream.send(SyncLines.checkpoint(4, (0...3).map { .init("prio\($0)", priority: $0) }))
        for priority in 0...2 {
            stream.send(SyncLines.partial(priority, 4))
            let expected = (0...priority).map { "\($0)" }
            try await wait(
                for: "priority \(priority)", read: { order.withLock { $0 } }, until: { $0 == expected })
        }
        stream.send(SyncLines.complete(4))
        for task in waiting { try await wait(forEndOf: task) }
        #expect(order.withLock { $0 } == ["0", "1", "2", "all"])
        try await database.close()
    }

    @Test("An instance that is made later shows what was complete", .behaviour(83), arguments: [true, false])
    func aLaterInstanceShowsWhatWasComplete(isOfTheSameProcess: Bool) async throws {
        let folder = try TemporaryDirectory()
        let groups = DatabaseGroups()
        let first = try ConnectedBench(folder: folder, groups: groups)
        try await first.connect()
        try await first.stream().send(
            SyncLines.checkpoint(1, [.init("a", priority: 0), .init("b", priority: 2)]),
            SyncLines.partial(0, 1))
        try await first.database.waitForFirstSync(priority: 0)
        let second = try ConnectedBench(
            folder: folder, groups: isOfTheSameProcess ? groups : DatabaseGroups())
        try await second.database.waitForFirstSync(priority: 0)
        #expect(second.status.priorityStatusEntries.map(\.priority) == [BucketPriority(0)])
        #expect(second.status.statusForPriority(BucketPriority(0)).hasSynced == true)
        #expect(second.status.statusForPriority(BucketPriority(2)).hasSynced == false)
        #expect(second.status.hasSynced == false)
        try await first.database.close()
        try await second.database.close()
    }

    /// A file whose rows were complete, and those of the stream "a".
    private func synced() async throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        let bench = try ConnectedBench(folder: folder)
        let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        try await bench.connect()
        try await bench.stream().send(
            SyncLines.checkpoint(
                0, [.init("a", count: 0, subscriptions: #"[{"sub":0}]"#)],
                streams: #"[{"name":"a","is_default":false,"errors":[]}]"#), SyncLines.complete(0))
        try await handle.waitForFirstSync()
        try await bench.database.waitForFirstSync()
        try await bench.database.close()
        return folder
    }

    /// Connects, and ends that again if asked to, while the writer is held; every status shows what was synced.
    private func connectWhileTheWriterIsHeld(isEnded: Bool) async throws {
        let bench = try ConnectedBench(folder: try await synced())
        let database = bench.database
        let pool = try #require(try await database.pool() as? SQLitePool)
        let stream = database.syncStream(name: "a", params: nil)
        #expect(bench.status.hasSynced == true)
        #expect(bench.status.forStream(stream: stream)?.subscription.hasSynced == true)
        let gate = BlockingGate()
        async let writing: Void = database.writeLock { _ in gate.wait() }
        defer { gate.open() }
        try await wait(for: "the writer to be held") { gate.arrivals == 1 }
        let flow = bench.status.asFlow()
        try await bench.connect()
        try await wait(for: "syncing to wait for the writer") { pool.waitingWrites > 0 }
        if isEnded {
            try await database.disconnect()
            #expect(bench.transport.requests.isEmpty)
            try await bench.connect()
        }
        gate.open()
        try await writing
        // From before connecting on: the flow leaves out nothing.
        for await status in flow {
            #expect(status.hasSynced == true)
            #expect(status.forStream(stream: stream)?.subscription.hasSynced == true)
            if status.connected { break }
        }
        try await database.close()
    }

    @Test(
        "What was synced, that of a stream, too, shows before connecting and in every status then",
        .behaviour(84))
    func whatWasSyncedShowsWhileConnecting() async throws {
        try await connectWhileTheWriterIsHeld(isEnded: false)
    }

    @Test("Connecting that is ended before it has begun takes nothing away that was synced", .behaviour(85))
    func connectingThatIsEndedTakesNothingAway() async throws {
        try await connectWhileTheWriterIsHeld(isEnded: true)
    }
}
