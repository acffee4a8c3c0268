import Foundation
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

@Suite(.patient())
struct StreamSubscriptionTests {
    private func requested(_ bench: ConnectedBench, _ index: Int) throws -> [JSON] {
        try bench.transport.body(index)["streams"]?["subscriptions"]?.arrayValue ?? []
    }

    @Test(.behaviour(137)) func subscribingOfflineShowsAtOnceAndIsRequestedInOrder() async throws {
        let bench = try ConnectedBench()
        let a = try await bench.database.syncStream(name: "a", params: ["foo": .string("a")]).subscribe()
        #expect(bench.status.forStream(stream: a)?.subscription.hasExplicitSubscription == true)
        #expect(bench.status.forStream(stream: a)?.subscription.active == false)
        #expect(bench.status.forStream(stream: a)?.progress == nil)
        #expect(bench.status.syncStreams?.count == 1)
        let b = try await bench.database.syncStream(name: "b", params: ["foo": .string("b")])
            .subscribe(ttl: nil, priority: BucketPriority(1))
        #expect(b.parameters == ["foo": .string("b")])
        try await bench.connect()
        let stream = try await bench.stream()
        let subscriptions = try requested(bench, 0)
        #expect(subscriptions.map { $0["stream"]?.stringValue } == ["a", "b"])
        #expect(subscriptions.map { $0["parameters"]?.text } == [#"{"foo":"a"}"#, #"{"foo":"b"}"#])
        #expect(subscriptions.map { $0["override_priority"]?.int64Value } == [nil, 1])
        let waiting = Task { try await b.waitForFirstSync() }
        stream.send(
            SyncLines.checkpoint(
                0,
                [
                    .init("a", priority: 3, count: 0, subscriptions: #"[{"sub":0}]"#),
                    .init("b", priority: 1, count: 0, subscriptions: #"[{"sub":1}]"#),
                ],
                streams:
                    #"[{"name":"a","is_default":false,"errors":[]},{"name":"b","is_default":false,"errors":[]}]"#
            ),
            SyncLines.partial(1, 0))
        try await waiting.value
        #expect(bench.status.forStream(stream: b)?.subscription.active == true)
        #expect(bench.status.forStream(stream: a)?.subscription.hasSynced == false)
        stream.send(SyncLines.complete(0))
        try await a.waitForFirstSync()
        try await bench.database.close()
    }

    @Test func aSubscriptionThatCannotBeShownIsHeldByNobody() async throws {
        let bench = try ConnectedBench()
        let pool = try #require(try await bench.database.pool() as? SQLitePool)
        let gate = BlockingGate()
        let holders = (0..<DatabaseOpener.readerCount).map { _ in
            Task { try await bench.database.readLock { _ in gate.wait() } }
        }
        try await wait(for: "the readers to be in use") { gate.arrivals == holders.count }
        let subscribing = Task {
            _ = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        }
        try await wait(for: "the status to be read") { pool.waitingReads == 1 }
        subscribing.cancel()
        await #expect(throws: (any Error).self) { try await subscribing.value }
        gate.open()
        for holder in holders { try await holder.value }
        #expect(bench.database.group.streams.active.isEmpty)
        try await bench.database.close()
    }

    @Test func whatIsSubscribedToJustBeforeTheEndIsShown() async throws {
        let bench = try ConnectedBench()
        for number in 0..<10 {
            try await bench.connect()
            _ = try await bench.stream(number)
            let stream = try await bench.database.syncStream(name: "s\(number)", params: nil).subscribe()
            try await bench.database.disconnect()
            #expect(bench.status.forStream(stream: stream) != nil, "\(number)")
        }
        try await bench.database.close()
    }

    @Test(.behaviour(147)) func parametersKeepTheirTypesWhateverTheirOrder() async throws {
        let bench = try ConnectedBench()
        let parameters: JsonParam = [
            "text": .string("t"), "one": .int(1), "zero": .int(0), "double": .double(1.23),
            "flag": .bool(true),
            "whole": .double(2), "nested": .object(["list": .array([.int(1), .null]), "b": .string("x")]),
        ]
        let stream = bench.database.syncStream(name: "a", params: parameters)
        _ = try await stream.subscribe()
        var reordered = JsonParam()
        for key in parameters.keys.sorted().reversed() { reordered[key] = parameters[key] }
        _ = try await bench.database.syncStream(name: "a", params: reordered).subscribe()
        #expect(bench.status.syncStreams?.count == 1)
        let read = try #require(bench.status.forStream(stream: stream)?.subscription.parameters)
        #expect(read["one"] == .int(1))
        #expect(read["zero"] == .int(0))
        #expect(read["flag"] == .bool(true))
        #expect(read["double"] == .double(1.23))
        #expect(read["nested"] == parameters["nested"])
        // Whole numbers lose their spelling, so the stream is found by value.
        #expect(read["whole"] == .int(2))
        try await bench.database.close()
    }

    @Test func missingParametersAreNotEmptyOnes() async throws {
        let bench = try ConnectedBench()
        let none = bench.database.syncStream(name: "a", params: nil)
        let empty = bench.database.syncStream(name: "a", params: [:])
        _ = try await none.subscribe()
        #expect(bench.status.forStream(stream: none) != nil)
        #expect(bench.status.forStream(stream: empty) == nil)
        try await bench.database.close()
    }

    private func nested(_ depth: Int) -> JsonParam {
        var value = JsonValue.array([])
        for _ in 1..<depth { value = .array([value]) }
        return ["deep": value]
    }

    @Test func parametersThatCouldNotBeReadAgainAreRefused() async throws {
        let bench = try ConnectedBench()
        for depth in [124, 200] {
            let stream = bench.database.syncStream(name: "a", params: nested(depth))
            let error = await #expect(throws: PowerSyncError.self) { try await stream.subscribe() }
            #expect(error?.code == .invalidArgument)
        }
        #expect(bench.database.group.streams.active.isEmpty)
        // The parameters are an object around it, and the request is read with the limit of 128.
        let stream = bench.database.syncStream(name: "a", params: nested(123))
        let handle = try await stream.subscribe()
        #expect(bench.status.syncStreams?.count == 1)
        try await bench.connect()
        _ = try await bench.stream()
        #expect(try requested(bench, 0).map { $0["parameters"]?.text } == [nested(123).json.text])
        try await handle.unsubscribe()
        try await bench.database.close()
    }

    @Test func aSubscriptionThatCannotBeReadIsLeftOut() async throws {
        let bench = try ConnectedBench()
        let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
        try await bench.database.execute(
            sql: """
                INSERT INTO ps_stream_subscriptions(stream_name, local_params, ttl, expires_at)
                VALUES ('deep', ?, 86400, 9000000000000000)
                """, parameters: [deep])
        let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        try await bench.connect()
        let stream = try await bench.stream()
        #expect(try requested(bench, 0).map { $0["stream"]?.stringValue } == ["a"])
        #expect(bench.log.warnings(containing: "A subscription to stream deep is not requested") == 1)
        // A keepalive compares what is wanted with what was requested.
        stream.send(SyncLines.tokenExpires(in: 100))
        stream.send(SyncLines.checkpoint(0, [.init("b", count: 0, subscriptions: #"[{"sub":0}]"#)]))
        stream.send(SyncLines.complete(0))
        try await handle.waitForFirstSync()
        #expect(bench.transport.streams.count == 1)
        try await bench.database.close()
    }

    /// A service compares bytes, and so does the table of subscriptions.
    @Test func parametersThatAreOnlySpelledAlikeAreTwoSubscriptions() async throws {
        let bench = try ConnectedBench()
        let spellings = ["\u{e9}", "e\u{301}"]
        let bytes = spellings.map { Array($0.utf8) }
        var handles: [any SyncStreamSubscription] = []
        for spelling in spellings {
            let stream = bench.database.syncStream(name: "a", params: ["n": .string(spelling)])
            // Without a handle that counts it would be over at once.
            handles.append(try await stream.subscribe(ttl: 0, priority: nil))
        }
        let shown = handles.map { bench.status.forStream(stream: $0)?.subscription.parameters?["n"]?.json }
        #expect(shown.compactMap { $0?.stringValue }.map { Array($0.utf8) } == bytes)
        try await bench.connect()
        let stream = try await bench.stream()
        let asked = try requested(bench, 0).compactMap { $0["parameters"]?["n"]?.stringValue }
        #expect(asked.map { Array($0.utf8) } == bytes)
        stream.send(SyncLines.checkpoint(0, [.init("a", count: 0, subscriptions: #"[{"sub":1}]"#)]))
        stream.send(SyncLines.complete(0))
        try await handles[1].waitForFirstSync()
        try await handles[0].unsubscribe()
        let held = bench.database.group.streams.active.compactMap(\.parameters)
        #expect(held.map { Array($0.utf8) } == [Array(#"{"n":""#.utf8) + bytes[1] + Array(#""}"#.utf8)])
        try await bench.database.close()
    }

    @Test func aStreamWhoseNameIsOnlySpelledAlikeIsAnother() {
        let streams = ["\u{e9}", "e\u{301}"].map { StreamDescription(name: $0, isDefault: true) }
        let row = StreamSyncState(id: 1, name: "\u{e9}", isActive: true, isDefault: true)
        let plan = SubscriptionPlan(rows: [row], streams: streams)
        #expect(plan.added == [1] && plan.defaultRows == [0: 1] && plan.changed.isEmpty)
        let other = SubscriptionPlan(rows: [row], streams: [streams[1]])
        #expect(other.deleted == [1] && other.added == [0])
    }

    @Test(.behaviour(142)) func subscribingWhileConnectedOpensAStreamThatAsksForIt() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        let first = try await bench.stream()
        try await wait(for: "the connection") { bench.status.connected }
        #expect(try requested(bench, 0).isEmpty)
        let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        _ = try await bench.stream(1)
        #expect(first.isCancelled)
        #expect(try requested(bench, 1).map { $0["stream"]?.stringValue } == ["a"])
        #expect(bench.status.anyError == nil)
        try await handle.unsubscribe()
        try await bench.database.close()
    }

    @Test(.behaviour(144)) func streamIsHeldAsLongAsOneOfItsHandlesAndGivingUpTwiceCountsOnce() async throws {
        let bench = try ConnectedBench()
        let stream = bench.database.syncStream(name: "a", params: nil)
        let first = try await stream.subscribe(ttl: 0, priority: nil)
        let second = try await stream.subscribe(ttl: 0, priority: nil)
        try await first.unsubscribe()
        try await first.unsubscribe()
        #expect(bench.database.group.streams.active == [StreamKey(name: "a")])
        try await bench.database.execute("UPDATE ps_stream_subscriptions SET expires_at = 1000")
        try await bench.connect()
        _ = try await bench.stream()
        #expect(try requested(bench, 0).count == 1)
        try await second.unsubscribe()
        #expect(bench.database.group.streams.active.isEmpty)
        try await bench.database.close()
    }

    @Test func handleThatGoesAwayGivesUp() async throws {
        let bench = try ConnectedBench()
        do {
            let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
            #expect(bench.database.group.streams.active.count == 1)
            #expect(handle.name == "a")
        }
        #expect(bench.database.group.streams.active.isEmpty)
    }

    @Test(.behaviour(145)) func unsubscribingAllEndsItAndMakesHandlesInert() async throws {
        let bench = try ConnectedBench()
        let stream = bench.database.syncStream(name: "a", params: nil)
        let old = try await stream.subscribe()
        try await stream.unsubscribeAll()
        let new = try await stream.subscribe()
        try await old.unsubscribe()
        #expect(bench.database.group.streams.active.count == 1)
        try await new.unsubscribe()
        try await stream.unsubscribeAll()
        try await bench.connect()
        _ = try await bench.stream()
        #expect(try requested(bench, 0).isEmpty)
        try await bench.database.close()
    }

    /// The app may well still hold them, and another instance of the file goes on.
    @Test func closingGivesUpTheHandlesOfTheInstance() async throws {
        let folder = try TemporaryDirectory()
        let (closed, open) = (try ConnectedBench(folder: folder), try ConnectedBench(folder: folder))
        let given = try await closed.database.syncStream(name: "a", params: nil).subscribe(
            ttl: 0, priority: nil)
        let kept = try await open.database.syncStream(name: "b", params: nil).subscribe(ttl: 0, priority: nil)
        try await open.connect()
        _ = try await open.stream()
        #expect(try requested(open, 0).map { $0["stream"]?.stringValue } == ["a", "b"])
        try await closed.database.close()
        _ = try await open.stream(1)
        #expect(try requested(open, 1).map { $0["stream"]?.stringValue } == ["b"])
        try await given.unsubscribe()
        try await kept.unsubscribe()
        try await open.database.close()
    }

    @Test func handlesSurviveClearing() async throws {
        let bench = try ConnectedBench()
        let handle = try await bench.database.syncStream(name: "a", params: nil)
            .subscribe(ttl: nil, priority: BucketPriority(2))
        try await bench.database.disconnectAndClear()
        #expect(bench.status.syncStreams?.isEmpty == true)
        try await bench.connect()
        _ = try await bench.stream()
        let subscriptions = try requested(bench, 0)
        #expect(subscriptions.map { $0["stream"]?.stringValue } == ["a"])
        #expect(subscriptions.map { $0["override_priority"]?.int64Value } == [2])
        try await handle.unsubscribe()
        try await bench.database.close()
    }

    /// What clearing takes away and the next connection stores again, as the handles that are left asked for it.
    private func restored(_ bench: ConnectedBench) async throws -> [String] {
        try await bench.database.disconnectAndClear()
        try await bench.connect()
        return try await bench.database.getAll(
            "SELECT ttl || ' ' || coalesce(local_priority, 'none') FROM ps_stream_subscriptions"
        ) { try $0.getString(index: 0) }
    }

    @Test func eachHandleKeepsWhatItAskedFor() async throws {
        let bench = try ConnectedBench()
        let stream = bench.database.syncStream(name: "a", params: nil)
        let first = try await stream.subscribe(ttl: 100, priority: BucketPriority(1))
        let second = try await stream.subscribe(ttl: 200, priority: BucketPriority(2))
        // The later time to live counts, and of priorities the more urgent.
        #expect(try await restored(bench) == ["200 1"])
        let third = try await stream.subscribe(ttl: 300, priority: BucketPriority(0))
        try await third.unsubscribe()
        #expect(try await restored(bench) == ["200 1"])
        try await second.unsubscribe()
        #expect(try await restored(bench) == ["100 1"])
        try await first.unsubscribe()
        #expect(try await restored(bench).isEmpty)
        try await bench.database.close()
    }

    @Test func aSubscriptionThatFailsLeavesThoseBeforeItAsTheyWere() async throws {
        let bench = try ConnectedBench()
        let stream = bench.database.syncStream(name: "a", params: nil)
        let handle = try await stream.subscribe(ttl: 100, priority: BucketPriority(1))
        try await bench.database.execute(
            """
            CREATE TRIGGER refusal BEFORE UPDATE ON ps_stream_subscriptions
            BEGIN SELECT RAISE(ABORT, 'refused'); END
            """)
        await #expect(throws: PowerSyncError.self) {
            try await stream.subscribe(ttl: 300, priority: BucketPriority(0))
        }
        try await bench.database.execute("DROP TRIGGER refusal")
        #expect(bench.database.group.streams.active == [StreamKey(name: "a")])
        #expect(try await restored(bench) == ["100 1"])
        try await handle.unsubscribe()
        #expect(bench.database.group.streams.active.isEmpty)
        try await bench.database.close()
    }

    @Test func waitingForAStreamCanBeCancelled() async throws {
        let bench = try ConnectedBench()
        let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        let status = try #require(bench.status as? LiveSyncStatus)
        let waiting = Task { try await handle.waitForFirstSync() }
        try await wait(for: "the task to wait") { status.feed.waiterCount == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: waiting) }
        #expect(status.feed.waiterCount == 0)
    }
}
