import PowerSyncMockService
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Service 3.6.
struct BucketResolverTests {
    private static let text = """
        config: {edition: 3}
        streams:
          mine: {auto_subscribe: true, query: "SELECT * FROM lists WHERE owner = auth.user_id()"}
          list: {query: "SELECT * FROM lists WHERE id = subscription.parameter('id')", priority: 2}
          both: {query: "SELECT * FROM t WHERE a = subscription.parameter('id') AND a = auth.parameter('id')"}
          gated: {auto_subscribe: true, query: "SELECT * FROM g WHERE auth.parameter('role') = 'admin'"}
          same: {query: "SELECT * FROM lists WHERE owner = connection.parameter('owner')"}
        """

    private func resolve(_ token: String, _ request: String = "{}") throws -> Resolution {
        let resolver = BucketResolver(config: try SyncConfigReader.compile(Self.text), streamNumber: 7)
        return resolver.resolve(
            try SyncStreamRequest(json: try JSON.parse(request)), token: try JSON.parse(token))
    }

    @Test func defaultsAreListedWithTheIndexOfTheirStream() throws {
        let resolution = try resolve(#"{"sub":"u1","role":"admin"}"#)
        #expect(
            resolution.buckets == [
                ResolvedBucket(name: "7#mine|0[\"u1\"]", priority: 3, reasons: [.defaultStream(0)]),
                ResolvedBucket(name: "7#gated|0[]", priority: 3, reasons: [.defaultStream(1)]),
            ])
        #expect(resolution.streams.map(\.name) == ["mine", "gated"])
        #expect(resolution.streams.allSatisfy { $0.isDefault && $0.errors.isEmpty })
    }

    @Test func aStreamIsFoundByTheBytesOfItsName() throws {
        let config = try SyncConfigReader.compile(
            """
            config: {edition: 3}
            streams:
              \u{e9}: {query: "SELECT * FROM lists"}
              e\u{301}: {query: "SELECT * FROM todos"}
            """)
        let subscription = #"{"stream":"e\u0301","parameters":null,"override_priority":null}"#
        let request = #"{"streams":{"subscriptions":[\#(subscription)]}}"#
        let resolution = BucketResolver(config: config, streamNumber: 7).resolve(
            try SyncStreamRequest(json: try JSON.parse(request)), token: try JSON.parse(#"{"sub":"u"}"#))
        #expect(resolution.buckets.map { Array($0.name.utf8) } == [Array("7#e\u{301}|0[]".utf8)])
    }

    @Test func aGateThatDoesNotHoldGivesNoBucketAndKeepsTheStream() throws {
        let resolution = try resolve(#"{"sub":"u1","role":"user"}"#)
        #expect(resolution.buckets.map(\.name) == ["7#mine|0[\"u1\"]"])
        #expect(resolution.streams.map(\.name) == ["mine", "gated"])
    }

    @Test func subscriptionsAreListedByTheirIndexWithTheSmallestPriority() throws {
        let resolution = try resolve(
            #"{"sub":"u1"}"#,
            """
            {"streams":{"include_defaults":false,"subscriptions":[
                {"stream":"nope","parameters":null,"override_priority":null},
                {"stream":"list","parameters":{"id":5},"override_priority":null},
                {"stream":"list","parameters":{"id":5},"override_priority":0},
                {"stream":"list","parameters":null,"override_priority":null},
                {"stream":"list","parameters":{"id":"5"},"override_priority":null}]}}
            """)
        #expect(
            resolution.buckets == [
                ResolvedBucket(
                    name: "7#list|0[5]", priority: 0, reasons: [.subscription(1), .subscription(2)]),
                ResolvedBucket(name: "7#list|0[\"5\"]", priority: 2, reasons: [.subscription(4)]),
            ])
        #expect(resolution.streams == [StreamDescription(name: "list", isDefault: false)])
    }

    @Test func nothingIsListedWithoutDefaultsAndSubscriptions() throws {
        let resolution = try resolve(
            #"{"sub":"u1"}"#, #"{"streams":{"include_defaults":false,"subscriptions":[]}}"#)
        #expect(resolution == Resolution())
    }

    @Test func valuesOfOneKeyMustAgree() throws {
        let subscription =
            #"{"streams":{"include_defaults":false,"subscriptions":[{"stream":"both","parameters":{"id":1},"override_priority":null}]}}"#
        #expect(try resolve(#"{"sub":"u","id":1.0}"#, subscription).buckets.map(\.name) == ["7#both|0[1]"])
        #expect(try resolve(#"{"sub":"u","id":2}"#, subscription).buckets.isEmpty)
        #expect(try resolve(#"{"sub":"u"}"#, subscription).buckets.isEmpty)
    }

    @Test func aSharedBucketHasTheReasonsOfBothStreams() throws {
        let resolution = try resolve(
            #"{"sub":"u1"}"#,
            """
            {"parameters":{"owner":"u1"},"streams":{"subscriptions":[
                {"stream":"same","parameters":{},"override_priority":1}]}}
            """)
        #expect(
            resolution.buckets == [
                ResolvedBucket(
                    name: "7#mine|0[\"u1\"]", priority: 1, reasons: [.defaultStream(0), .subscription(0)])
            ])
    }

    /// Service 2.4, as recorded in numbers-in-parameters.
    @Test(arguments: [
        ("1", "[1]"), ("1.0", "[1]"), ("1.5", "[1.5]"), ("\"1\"", "[\"1\"]"), ("true", "[1]"),
        ("false", "[0]"),
        ("\"true\"", "[\"true\"]"), ("[1]", "[\"[1.0]\"]"), (#"{"a":1}"#, #"["{\"a\":1.0}"]"#), ("null", nil),
    ])
    func claimsBecomeValues(_ claim: String, _ name: String?) throws {
        let config = try SyncConfigReader.compile(
            "config: {edition: 3}\nstreams:\n  s: {auto_subscribe: true, query: \"SELECT * FROM t WHERE x = auth.parameter('n')\"}"
        )
        let names = BucketResolver(config: config, streamNumber: 1)
            .resolve(SyncStreamRequest(), token: try JSON.parse("{\"n\":\(claim)}")).buckets.map(\.name)
        #expect(names == (name.map { ["1#s|0" + $0] } ?? []))
    }

    /// What must be one value must be so byte by byte, as in Postgres.
    @Test func valuesThatAreOnlySpelledAlikeDoNotAgree() throws {
        let config = try SyncConfigReader.compile(
            """
            config: {edition: 3}
            streams:
              s:
                query: SELECT * FROM t WHERE x = auth.parameter('p') AND x = subscription.parameter('p')
            """)
        func buckets(_ token: String, _ subscriptions: String...) -> [String] {
            let request = SyncStreamRequest(
                streams: StreamSubscriptions(
                    subscriptions: subscriptions.map {
                        StreamSubscription(
                            stream: "s", parameters: .object([JSONMember("p", .string($0))]))
                    }))
            return BucketResolver(config: config, streamNumber: 1)
                .resolve(request, token: .object([JSONMember("p", .string(token))])).buckets.map(\.name)
        }
        #expect(buckets("\u{e9}", "\u{e9}").count == 1)
        #expect(buckets("\u{e9}", "e\u{301}").isEmpty)
        #expect(buckets("e\u{301}", "\u{e9}").isEmpty)
    }

    /// Whose condition shares a bucket with another's gets the rows of both.
    @Test(arguments: [
        (
            "SELECT * FROM t WHERE auth.parameter('p') = '\u{e9}'",
            "SELECT * FROM t WHERE auth.parameter('p') = 'e\u{301}'"
        ),
        (
            "SELECT * FROM t WHERE auth.parameter('\u{e9}') = 1",
            "SELECT * FROM t WHERE auth.parameter('e\u{301}') = 1"
        ),
        ("SELECT * FROM t WHERE x = '\u{e9}'", "SELECT * FROM t WHERE x = 'e\u{301}'"),
        ("SELECT * FROM t WHERE \u{e9} = 1", "SELECT * FROM t WHERE e\u{301} = 1"),
        ("SELECT * FROM t WHERE \u{e9} = auth.user_id()", "SELECT * FROM t WHERE e\u{301} = auth.user_id()"),
        ("SELECT id AS \u{e9} FROM t", "SELECT id AS e\u{301} FROM t"),
        ("SELECT * FROM \u{e9}", "SELECT * FROM e\u{301}"),
        ("SELECT * FROM \u{e9}.t", "SELECT * FROM e\u{301}.t"),
        ("SELECT * FROM t AS \u{e9}", "SELECT * FROM t AS e\u{301}"),
    ])
    func queriesThatAreOnlySpelledAlikeShareNothing(one: String, other: String) throws {
        let config = try SyncConfigReader.compile(
            "config: {edition: 3}\nstreams:\n  a: {query: \"\(one)\"}\n  b: {query: \"\(other)\"}\n"
                + "  same: {query: \"\(one)\"}")
        #expect(Set(config.streams.flatMap(\.variants)).count == 2)
    }

    /// What one column has to be says nothing of another one.
    @Test func columnsThatAreOnlySpelledAlikeAreAKeyEach() throws {
        let config = try SyncConfigReader.compile(
            """
            config: {edition: 3}
            streams:
              s:
                query: SELECT * FROM t WHERE \u{e9} = auth.parameter('p') AND e\u{301} = auth.parameter('p')
            """)
        #expect(config.streams.first?.variants.first?.keys.count == 2)
    }

    @Test func subscriptionsThatAreOnlySpelledAlikeGetABucketEach() throws {
        let config = try SyncConfigReader.compile(
            "config: {edition: 3}\nstreams:\n  s: {query: \"SELECT * FROM t WHERE x = subscription.parameter('p')\"}"
        )
        let request = SyncStreamRequest(
            streams: StreamSubscriptions(
                subscriptions: ["\u{e9}", "e\u{301}"].map {
                    StreamSubscription(stream: "s", parameters: .object([JSONMember("p", .string($0))]))
                }))
        let resolution = BucketResolver(config: config, streamNumber: 1).resolve(request, token: .object([]))
        #expect(resolution.buckets.map(\.reasons) == [[.subscription(0)], [.subscription(1)]])
    }

    /// The bytes of a long parameter count for each name that has them, also where names are those of one bucket.
    @Test(arguments: [[1, 2, 3, 4], [1, 1, 1, 1]] as [[Int64]])
    func noMoreNamesAreMadeThanThereIsRoomFor(values: [Int64]) throws {
        let config = try SyncConfigReader.compile(
            """
            config: {edition: 3}
            streams:
              s:
                query: SELECT * FROM t WHERE x = connection.parameter('p') AND y = subscription.parameter('q')
            """)
        let request = SyncStreamRequest(
            parameters: .object([JSONMember("p", .string(String(repeating: "x", count: 1000)))]),
            streams: StreamSubscriptions(
                subscriptions: values.map {
                    StreamSubscription(stream: "s", parameters: .object([JSONMember("q", .integer($0))]))
                }))
        func resolve(_ limit: Int) -> Resolution {
            BucketResolver(config: config, streamNumber: 1)
                .resolve(request, token: .object([]), nameBytes: limit)
        }
        let all = resolve(5000)
        #expect(!all.isCut && all.buckets.count == Set(values).count)
        #expect(all.buckets.reduce(0) { $0 + $1.reasons.count } == values.count)
        let cut = resolve(3500)
        #expect(cut.isCut && cut.buckets.reduce(0) { $0 + $1.reasons.count } == 3)
    }

    /// What all subscriptions share is computed once, whether or not a bucket comes of it.
    @Test(
        .patient(),
        arguments: [
            "connection.parameter('p') AND y = subscription.parameter('q')",
            "connection.parameter('p') AND x = subscription.parameter('q')",
            "connection.parameter('p') AND x = auth.parameter('p') AND y = subscription.parameter('q')",
            "subscription.parameter('q') AND connection.parameter('p') = auth.parameter('p')",
            "subscription.parameter('q') AND (NOT connection.parameter('p') = auth.parameter('p') OR subscription.parameter('q') = 1)",
            "connection.parameter('list') AND y = subscription.parameter('q')",
        ])
    func manySubscriptionsDoNotMultiplyALongParameter(condition: String) throws {
        let config = try SyncConfigReader.compile(
            "config: {edition: 3}\nstreams:\n  s: {query: \"SELECT * FROM t WHERE x = \(condition)\"}")
        let resolver = BucketResolver(config: config, streamNumber: 1)
        expectNoSquare(of: 2_000) { count in
            let long = JSONMember("p", .string(String(repeating: "x", count: count * 20)))
            let list = JSONMember("list", .array(Array(repeating: .integer(1), count: count * 5)))
            let request = SyncStreamRequest(
                parameters: .object([long, list]),
                streams: StreamSubscriptions(
                    subscriptions: Array(
                        repeating: StreamSubscription(stream: "s", parameters: .object([])), count: count)))
            #expect(resolver.resolve(request, token: .object([long])).buckets.isEmpty)
        }
    }

    @Test(arguments: [
        (#""u1""#, "u1"), ("5", "5"), ("true", "1"),
        (#"{"id":1,"name":"test"}"#, #"{"id":1.0,"name":"test"}"#),
    ])
    func theUserIdIsText(_ sub: String, _ expected: String) throws {
        #expect(RequestValues(token: try JSON.parse("{\"sub\":\(sub)}")).userID == expected)
    }
}
