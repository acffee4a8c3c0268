import PowerSync
import PowerSyncSQLite
import PowerSyncWire
import Testing

/// Stream subscriptions (client-core 7, 9.15).
@Suite struct SyncSubscriptionTests {
    private let hour: Int64 = 3_600_000_000
    private let defaults = """
        [{"name":"d","is_default":true,"errors":[]}]
        """

    private func subscriptions(_ bench: SyncBench) throws -> [[SQLiteValue]] {
        try bench.rows(
            "SELECT stream_name, active, is_default, ttl, expires_at, last_synced_at FROM ps_stream_subscriptions"
        )
    }

    @Test func aDefaultStreamIsStoredShownAndStamped() throws {
        let bench = try SyncBench()
        try bench.start()
        let effects = try bench.line(
            SyncLines.checkpoint(
                1, [.init("a", priority: 1, subscriptions: "[{\"default\":0}]")], streams: defaults))
        let stream = try #require(effects.status?.streams.first)
        #expect(stream.isDefault && stream.isActive && !stream.hasExplicitSubscription)
        #expect(stream.priority == 1 && stream.totalOperations == 1 && stream.downloadedOperations == 0)
        let after = try bench.line(SyncLines.partial(1))
        #expect(after.status?.streams.first?.lastSyncedAt == bench.now)
        #expect(try subscriptions(bench) == [["d", 1, 1, .null, .null, .integer(bench.now)]])
        try bench.line(
            SyncLines.checkpoint(1, [], streams: "[{\"name\":\"e\",\"is_default\":true,\"errors\":[]}]"))
        #expect(try subscriptions(bench).map { $0[0] } == ["e"])
    }

    @Test func aSubscriptionInUseIsProlongedAndOneOutOfUseEnds() throws {
        let bench = try SyncBench()
        let key = StreamKey(name: "s", parameters: "{\"x\":1}")
        try bench.store.subscribe(key, timeToLive: 3600)
        bench.now += hour / 2
        #expect(try bench.start(activeStreams: [key]).request?.streams?.subscriptions.count == 1)
        #expect(try subscriptions(bench)[0][4] == .integer(bench.now + hour))
        bench.now += hour / 2
        try bench.line(SyncLines.tokenExpires(in: 3600))
        #expect(try subscriptions(bench)[0][4] == .integer(bench.now + hour))
        // Nobody holds it any more: it goes on until its time is up.
        #expect(try bench.feed(.subscriptionsChanged(active: [])).isEmpty)
        bench.now += hour + 1_000_000
        #expect(try bench.line(SyncLines.tokenExpires(in: 1800)).names == ["close subscriptions"])
        #expect(try bench.start().request?.streams?.subscriptions == [])
    }

    @Test func anExpiredSubscriptionInUseIsStillRequested() throws {
        let bench = try SyncBench()
        let key = StreamKey(name: "s")
        try bench.store.subscribe(key, timeToLive: 0)
        bench.now += hour
        #expect(try bench.start(activeStreams: [key]).request?.streams?.subscriptions.map(\.stream) == ["s"])
        bench.now += 1
        #expect(try bench.start().request?.streams?.subscriptions == [])
    }

    @Test func subscribingWhileConnectedOpensAnotherStream() throws {
        let bench = try SyncBench()
        try bench.start()
        let key = StreamKey(name: "s")
        try bench.store.subscribe(key)
        let effects = try bench.feed(.subscriptionsChanged(active: [key]))
        #expect(effects.names == ["close subscriptions"])
        guard case .close(let reason)? = effects.last else { return }
        #expect(reason.reconnectsAtOnce)
    }

    @Test func theMoreUrgentPriorityWinsAndTheNewestTimeToLive() throws {
        let bench = try SyncBench()
        let key = StreamKey(name: "s")
        try bench.store.subscribe(key, timeToLive: 10, priority: 2)
        try bench.store.subscribe(key, timeToLive: 20, priority: 3)
        #expect(try bench.rows("SELECT local_priority, ttl FROM ps_stream_subscriptions") == [[2, 20]])
        try bench.store.subscribe(key, priority: 1)
        #expect(try bench.rows("SELECT local_priority, ttl FROM ps_stream_subscriptions") == [[1, 86400]])
    }

    @Test func unsubscribingADefaultStreamLeavesItADefaultOne() throws {
        let bench = try SyncBench()
        let key = StreamKey(name: "d")
        try bench.store.subscribe(key, timeToLive: 1)
        try bench.start(activeStreams: [key])
        try bench.line(SyncLines.checkpoint(1, [], streams: defaults))
        try bench.store.unsubscribe(key)
        bench.now += hour
        // Its time of expiry is past, but it is no longer one of a subscription.
        #expect(try bench.start().request?.streams?.subscriptions == [])
        #expect(try subscriptions(bench).map { $0[0] } == ["d"])
        let effects = try bench.line(SyncLines.checkpoint(1, [], streams: defaults))
        #expect(effects.status?.streams.map(\.hasExplicitSubscription) == [false])
    }

    @Test func errorsOfStreamsAreLogged() throws {
        let bench = try SyncBench()
        try bench.store.subscribe(StreamKey(name: "a", parameters: "\"invalid\""))
        try bench.store.subscribe(StreamKey(name: "a"))
        try bench.start()
        let effects = try bench.line(
            SyncLines.checkpoint(
                1, [],
                streams: """
                    [{"name":"a","is_default":true,"errors":[{"subscription":"default","message":"m"},\
                    {"subscription":0,"message":"n"},{"subscription":1,"message":"o"},\
                    {"subscription":7,"message":"p"}]}]
                    """))
        #expect(
            effects.logged == [
                "Default subscription a has errors: m",
                "Subscription to stream a (with parameters \"invalid\") could not be resolved: n",
                "Subscription to stream a (without parameters) could not be resolved: o",
            ])
        #expect(effects.names.last == "status")
    }
}
