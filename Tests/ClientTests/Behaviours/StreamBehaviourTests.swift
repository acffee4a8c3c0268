import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-api 7 J: what the tests beside their sources do not say of it.
@Suite(.patient())
struct StreamBehaviourTests {
    private func requested(_ bench: ConnectedBench, _ index: Int = 0) throws -> [JSON] {
        try bench.transport.body(index)["streams"]?["subscriptions"]?.arrayValue ?? []
    }

    private func names(_ bench: ConnectedBench, _ index: Int) throws -> [String?] {
        try requested(bench, index).map { $0["stream"]?.stringValue }
    }

    @Test("Two streams of different priorities are active, then synced one after the other", .behaviour(138))
    func streamsAreSyncedOneAfterTheOther() async throws {
        let bench = try ConnectedBench()
        let a = try await bench.database.syncStream(name: "a", params: ["foo": .string("a")]).subscribe()
        let b = try await bench.database.syncStream(name: "b", params: ["foo": .string("b")])
            .subscribe(ttl: nil, priority: BucketPriority(1))
        let handles: [any SyncStreamSubscription] = [a, b]
        func shown(_ handle: any SyncStreamSubscription) throws -> SyncSubscriptionDescription {
            try #require(bench.status.forStream(stream: handle)).subscription
        }
        try await bench.connect()
        let stream = try await bench.stream()
        for handle in handles {
            #expect(try !shown(handle).active)
            #expect(try !shown(handle).hasSynced)
        }
        stream.send(
            SyncLines.checkpoint(
                0,
                [
                    .init("a", priority: 3, count: 0, subscriptions: #"[{"sub":0}]"#),
                    .init("b", priority: 1, count: 0, subscriptions: #"[{"sub":1}]"#),
                ],
                streams:
                    #"[{"name":"a","is_default":false,"errors":[]},{"name":"b","is_default":false,"errors":[]}]"#
            ))
        try await wait(for: "the checkpoint") { bench.status.downloading }
        for handle in handles {
            #expect(try shown(handle).active)
            #expect(try shown(handle).hasExplicitSubscription)
            #expect(try shown(handle).lastSyncedAt == nil)
        }
        stream.send(SyncLines.partial(1, 0))
        try await b.waitForFirstSync()
        #expect(try shown(b).lastSyncedAt != nil)
        #expect(try shown(a).lastSyncedAt == nil)
        stream.send(SyncLines.complete(0))
        try await a.waitForFirstSync()
        #expect(try shown(a).hasSynced)
        try await bench.database.close()
    }

    /// Subscribes to a stream, and returns the parameters as they were requested and as the status shows them.
    private func sent(_ parameters: JsonParam) async throws -> (requested: JSON?, shown: JsonParam?) {
        let bench = try ConnectedBench()
        let handle = try await bench.database.syncStream(name: "a", params: parameters).subscribe()
        try await bench.connect()
        _ = try await bench.stream()
        let subscriptions = try requested(bench)
        #expect(subscriptions.count == 1)
        let shown = bench.status.forStream(stream: handle)?.subscription.parameters
        try await bench.database.close()
        return (subscriptions.first?["parameters"], shown)
    }

    @Test("Objects and arrays in parameters reach the service and the status", .behaviour(139))
    func nestedParameters() async throws {
        let parameters: JsonParam = [
            "object": .object(["key": .string("value"), "list": .array([.int(1), .int(2)])]),
            "array": .array([.string("a"), .object(["b": .null])]),
        ]
        let (requested, shown) = try await sent(parameters)
        #expect(
            requested?.text == #"{"array":["a",{"b":null}],"object":{"key":"value","list":[1,2]}}"#)
        #expect(shown == parameters)
    }

    @Test("Texts, numbers and truth values in parameters keep their types", .behaviour(140))
    func typesOfParameters() async throws {
        let parameters: JsonParam = [
            "text": .string("text"), "one": .int(1), "zero": .int(0), "double": .double(1.23),
            "flag": .bool(true),
        ]
        let (requested, shown) = try await sent(parameters)
        #expect(requested?.text == #"{"double":1.23,"flag":true,"one":1,"text":"text","zero":0}"#)
        #expect(shown == parameters)
    }

    @Test("A default stream of the service shows as one that nobody asked for", .behaviour(141))
    func aDefaultStreamShows() async throws {
        let bench = try ConnectedBench()
        try await bench.connect()
        try await bench.stream().send(
            SyncLines.checkpoint(
                1, [.init("a", subscriptions: #"[{"default":0}]"#)],
                streams: #"[{"name":"default_stream","is_default":true,"errors":[]}]"#))
        try await wait(for: "the stream to show") { bench.status.syncStreams?.isEmpty == false }
        #expect(bench.status.syncStreams?.count == 1)
        let shown = try #require(bench.status.syncStreams?.first).subscription
        #expect(shown.name == "default_stream")
        #expect(shown.parameters == nil)
        #expect(shown.isDefault)
        #expect(shown.active)
        #expect(!shown.hasExplicitSubscription)
        try await bench.database.close()
    }

    @Test("What is subscribed to without a connection is in the next status", .behaviour(143))
    func theNextStatusHasTheSubscription() async throws {
        let bench = try ConnectedBench()
        _ = try await bench.users()
        var flow = bench.status.asFlow().makeAsyncIterator()
        let before = try #require(await flow.next())
        #expect(before.syncStreams?.count == 0)
        let handle = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        let after = try #require(await flow.next())
        #expect(after.syncStreams?.count == 1)
        let shown = try #require(after.forStream(stream: handle))
        #expect(shown.progress == nil)
        #expect(shown.subscription.hasExplicitSubscription)
        try await bench.database.close()
    }

    @Test(
        "R15 What is subscribed to while a stream is being opened is asked for, and nothing else",
        .behaviour(146))
    func whatIsSubscribedToMeanwhileIsAskedFor() async throws {
        let gate = Gate()
        defer { gate.open() }
        let bench = try ConnectedBench { HeldTransport(transport: $0, gate: gate) }
        let first = try await bench.database.syncStream(name: "a", params: nil).subscribe()
        try await bench.connect()
        try await wait(for: "the request") { gate.arrivals == 1 }
        let second = try await bench.database.syncStream(name: "b", params: nil).subscribe()
        gate.open()
        _ = try await bench.stream(1)
        #expect(try names(bench, 0) == ["a"])
        #expect(try names(bench, 1) == ["a", "b"])
        try await wait(for: "the connection") { bench.status.connected }
        // It lasts for its time to live, so nothing else is to be asked for.
        try await second.unsubscribe()
        bench.completeEmptyCheckpoint(try await bench.stream(1))
        try await bench.database.waitForFirstSync()
        #expect(bench.transport.streams.map(\.isCancelled) == [true, false])
        try await first.unsubscribe()
        try await bench.database.close()
    }
}
