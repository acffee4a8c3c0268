import PowerSyncSQLite
import PowerSyncWire
import Testing

@testable import PowerSync

/// Client-core 9.15.
@Suite struct StreamVectorTests {
    private static let now = ControlBench.start
    private static let hour = ControlBench.hour

    private func streams(_ names: String...) -> String {
        "[\(names.map { "{\"name\":\"\($0)\",\"is_default\":true,\"errors\":[]}" }.joined(separator: ","))]"
    }

    private func subscribe(_ bench: ControlBench, _ name: String, _ more: String = "", ttl: Int = 3600) throws
    {
        try bench.subscribe(#"{"subscribe":{"stream":{"name":"\#(name)"\#(more)},"ttl":\#(ttl)}}"#)
    }

    private func requested(_ instructions: [JSON]) -> JSON? {
        instructions.streamRequest?["streams"]?["subscriptions"]
    }

    private func expiry(_ bench: ControlBench) throws -> Int64? {
        try bench.connection.one("SELECT expires_at FROM ps_stream_subscriptions") { $0.int64(0) }
    }

    /// active, is_default, ttl of each subscription.
    private func rows(_ bench: ControlBench) throws -> [[SQLiteValue]] {
        try bench.rows("SELECT stream_name, active, is_default, ttl FROM ps_stream_subscriptions ORDER BY id")
    }

    @Test("132: a default stream", arguments: LineEncoding.allCases)
    func defaultStream(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        let status = try bench.line(
            SyncLines.checkpoint(
                1, [.init("a", priority: 1, subscriptions: "[{\"default\":0}]")],
                streams: streams("my_default_stream"))
        ).lastStatus
        #expect(
            status?["streams"]?.equals(
                """
                [{"name":"my_default_stream","parameters":null,"progress":{"total":1,"downloaded":0},
                "active":true,"is_default":true,"has_explicit_subscription":false,"expires_at":null,
                "last_synced_at":null,"priority":1}]
                """) == true)
        let synced = try bench.line(SyncLines.partial(1)).lastStatus
        #expect(synced?["streams"]?.arrayValue?.first?["last_synced_at"] == .integer(Self.now))
        #expect(
            try bench.rows("SELECT last_synced_at FROM ps_stream_subscriptions") == [[.integer(Self.now)]])
    }

    @Test("133: only the streams of the last checkpoint remain", arguments: LineEncoding.allCases)
    func lastCheckpointCounts(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(1, [], streams: streams("s1")),
            SyncLines.checkpoint(1, [], streams: streams("s2")))
        #expect(try rows(bench) == [["s2", 1, 1, .null]])
    }

    @Test("134: subscribing to a default stream", arguments: LineEncoding.allCases)
    func subscribingToADefaultStream(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, [], streams: streams("a")))
        try subscribe(bench, "a")
        #expect(try rows(bench) == [["a", 1, 1, 3600]])
        try bench.line(SyncLines.checkpoint(1, []))
        #expect(try rows(bench) == [["a", 0, 0, 3600]])
    }

    @Test("135: errors of streams are logged", arguments: LineEncoding.allCases)
    func errorsAreLogged(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.begin()
        func checkpoint(_ isDefault: Bool, _ subscription: String) -> String {
            SyncLines.checkpoint(
                1, [],
                streams: """
                    [{"name":"a","is_default":\(isDefault),
                    "errors":[{"subscription":\(subscription),"message":"error message"}]}]
                    """)
        }
        let first = try bench.line(checkpoint(true, "\"default\""))
        #expect(first.logLines == ["WARNING Default subscription a has errors: error message"])
        #expect(first.instructions == ["LogLine", "UpdateSyncStatus"])
        for text in ["invalid", "valid"] { try subscribe(bench, "a", ",\"params\":\"\(text)\"") }
        try bench.begin()
        #expect(
            try bench.line(checkpoint(false, "0")).logLines == [
                "WARNING Subscription to stream a (with parameters \"invalid\") could not be resolved: "
                    + "error message"
            ])
        #expect(try bench.line(checkpoint(false, "7")).logLines.isEmpty)
        try subscribe(bench, "b")
        try bench.begin()
        #expect(
            try bench.line(checkpoint(false, "2")).logLines == [
                "WARNING Subscription to stream a (without parameters) could not be resolved: error message"
            ])
    }

    @Test("136: what is unsubscribed is no longer requested") func unsubscribing() throws {
        let bench = try ControlBench()
        try subscribe(bench, "s")
        #expect(requested(try bench.begin())?.arrayValue?.count == 1)
        try bench.subscribe(#"{"unsubscribe":{"name":"s"}}"#)
        #expect(requested(try bench.begin()) == .array([]))
    }

    @Test("137: a subscription that nobody holds ends") func nobodyHolds() throws {
        let bench = try ControlBench()
        try subscribe(bench, "s")
        #expect(try expiry(bench) == Self.now + Self.hour)
        #expect(
            requested(try bench.begin())?.equals(
                #"[{"stream":"s","parameters":null,"override_priority":null}]"#) == true)
        try bench.control("stop")
        bench.now += 2 * Self.hour
        #expect(requested(try bench.begin()) == .array([]))
    }

    @Test("138: holding prolongs, at the start and with each keepalive", arguments: LineEncoding.allCases)
    func holdingProlongs(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try subscribe(bench, "s")
        bench.now += Self.hour / 2
        try bench.begin(#"{"active_streams":[{"name":"s"}]}"#)
        #expect(try expiry(bench) == bench.now + Self.hour)
        bench.now += Self.hour / 2
        try bench.line(SyncLines.tokenExpires(in: 3600))
        #expect(try expiry(bench) == bench.now + Self.hour)
        bench.now += Self.hour / 2
        try bench.control("stop")
        #expect(try expiry(bench) == bench.now + Self.hour / 2)
    }

    @Test("139: an explicit subscription to a default stream", arguments: LineEncoding.allCases)
    func explicitDefault(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try subscribe(bench, "a")
        try bench.begin()
        try bench.line(SyncLines.checkpoint(1, [], streams: streams("a")))
        #expect(try rows(bench) == [["a", 1, 1, 3600]])
        try bench.subscribe(#"{"unsubscribe":{"name":"a"}}"#)
        try bench.control("stop")
        #expect(requested(try bench.begin()) == .array([]))
        #expect(try rows(bench) == [["a", 1, 1, .null]])
    }

    @Test("140: subscribing while connected", arguments: LineEncoding.allCases)
    func subscribingWhileConnected(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        let close = #"[{"CloseSyncStream":{"hide_disconnect":true}}]"#
        try bench.begin()
        try subscribe(bench, "a")
        let changed = try bench.control("update_subscriptions", #"[{"name":"a"}]"#)
        #expect(JSON.array(changed).equals(close))
        try bench.begin(#"{"active_streams":[{"name":"a"}]}"#)
        #expect(try bench.control("update_subscriptions", "[]").isEmpty)
        bench.now += Self.hour + 1_000_000
        #expect(JSON.array(try bench.line(SyncLines.tokenExpires(in: 1800))).equals(close))
    }

    @Test("141: an explicit stream in the offline status", arguments: LineEncoding.allCases)
    func offlineStatus(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.subscribe(#"{"subscribe":{"stream":{"name":"a"}}}"#)
        try bench.begin()
        try bench.line(
            SyncLines.checkpoint(
                1, [.init("b", priority: 1, subscriptions: "[{\"sub\":0}]")],
                streams: #"[{"name":"a","is_default":false,"errors":[]}]"#), SyncLines.complete())
        #expect(
            try bench.offlineStatus()["streams"]?.equals(
                """
                [{"name":"a","parameters":null,"priority":null,"active":true,"is_default":false,
                "has_explicit_subscription":true,"expires_at":\(Self.now + 24 * Self.hour),
                "last_synced_at":\(Self.now),"progress":{"total":0,"downloaded":0}}]
                """) == true)
    }

    @Test(
        "142: a partial checkpoint completes only streams of its priority", arguments: LineEncoding.allCases)
    func partialCompletesStreams(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try bench.subscribe(#"{"subscribe":{"stream":{"name":"s","params":{"foo": "a"}}}}"#)
        try bench.subscribe(#"{"subscribe":{"stream":{"name":"s","params":{"foo":"b"}},"priority":1}}"#)
        #expect(
            requested(try bench.begin())?.equals(
                """
                [{"stream":"s","parameters":{"foo":"a"},"override_priority":null},
                {"stream":"s","parameters":{"foo":"b"},"override_priority":1}]
                """) == true)
        try bench.line(
            SyncLines.checkpoint(
                1,
                [
                    .init("a", priority: 3, subscriptions: "[{\"sub\":0}]"),
                    .init("b", priority: 1, subscriptions: "[{\"sub\":1}]"),
                ], streams: #"[{"name":"s","is_default":false,"errors":[]}]"#))
        func synced(_ line: String) throws -> [Bool]? {
            try bench.line(line).lastStatus?["streams"]?.arrayValue?.map { $0["last_synced_at"] != .null }
        }
        #expect(try synced(SyncLines.partial(1)) == [false, true])
        #expect(try synced(SyncLines.complete()) == [true, true])
        // The text as it came is the identity.
        #expect(
            try bench.rows("SELECT local_params FROM ps_stream_subscriptions ORDER BY id") == [
                ["{\"foo\": \"a\"}"], ["{\"foo\":\"b\"}"],
            ])
    }

    @Test("143: an expired subscription that is held is requested") func expiredAndHeld() throws {
        let bench = try ControlBench()
        try subscribe(bench, "s", ttl: 0)
        bench.now += Self.hour
        #expect(requested(try bench.begin(#"{"active_streams":[{"name":"s"}]}"#))?.arrayValue?.count == 1)
        bench.now += 1
        #expect(requested(try bench.begin()) == .array([]))
    }

    @Test("7.2: a time to live without end", arguments: [Int64.max, .min]) func endlessTimeToLive(
        _ ttl: Int64
    ) throws {
        let bench = try ControlBench()
        try bench.subscribe(#"{"subscribe":{"stream":{"name":"s"},"ttl":\#(ttl)}}"#)
        let requested = requested(try bench.begin(#"{"active_streams":[{"name":"s"}]}"#))
        // Holding prolongs by the time to live: for ever, or to long ago, and what has ended is dropped.
        let held = ttl > 0
        #expect(requested?.arrayValue?.count == (held ? 1 : 0))
        let rows = try bench.rows("SELECT expires_at > \(bench.now) FROM ps_stream_subscriptions")
        #expect(rows == (held ? [[1]] : []))
    }

    @Test("144: without default streams") func withoutDefaults() throws {
        let streams = try ControlBench().begin(#"{"include_defaults":false}"#).streamRequest?["streams"]
        #expect(streams?["include_defaults"] == .bool(false))
    }

    @Test("7.1, Q9: of two priorities the more urgent wins, of two times to live the last")
    func subscribingTwice() throws {
        let bench = try ControlBench()
        func state() throws -> [[SQLiteValue]] {
            try bench.rows("SELECT local_priority, ttl FROM ps_stream_subscriptions ORDER BY id")
        }
        let stream = #""stream":{"name":"s"}"#
        try bench.subscribe("{\"subscribe\":{\(stream),\"ttl\":10,\"priority\":2}}")
        try bench.subscribe("{\"subscribe\":{\(stream),\"ttl\":20,\"priority\":3}}")
        #expect(try state() == [[2, 20]])
        try bench.subscribe("{\"subscribe\":{\(stream),\"priority\":1}}")
        #expect(try state() == [[1, 86400]])
        // A row without a priority never gets one.
        try subscribe(bench, "t", ttl: 1)
        try bench.subscribe(#"{"subscribe":{"stream":{"name":"t","params":null},"priority":1,"ttl":1}}"#)
        #expect(try state() == [[1, 86400], [.null, 1]])
    }

    @Test(
        "Q7: a stream that was unsubscribed stays a default one when its time passes",
        arguments: LineEncoding.allCases)
    func unsubscribedDefault(_ encoding: LineEncoding) throws {
        let bench = try ControlBench(encoding)
        try subscribe(bench, "d", ttl: 1)
        try bench.begin(#"{"active_streams":[{"name":"d"}]}"#)
        try bench.line(SyncLines.checkpoint(1, [], streams: streams("d")))
        try bench.subscribe(#"{"unsubscribe":{"name":"d"}}"#)
        bench.now += Self.hour
        try bench.begin()
        #expect(try rows(bench) == [["d", 1, 1, .null]])
    }
}
