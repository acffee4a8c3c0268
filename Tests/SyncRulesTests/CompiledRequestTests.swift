import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Requests of configurations as they are written (service 3.6).
struct CompiledRequestTests {
    private static let text = """
        config: {edition: 3}
        streams:
          mine: {auto_subscribe: true, query: "SELECT * FROM lists WHERE owner = auth.user_id()"}
          list: {query: "SELECT * FROM lists WHERE id = subscription.parameter('id')", priority: 2}
          both: {query: "SELECT * FROM t WHERE a = subscription.parameter('id') AND a = auth.parameter('id')"}
          gated: {auto_subscribe: true, query: "SELECT * FROM g WHERE auth.parameter('role') = 'admin'"}
          same: {query: "SELECT * FROM lists WHERE owner = connection.parameter('owner')"}
        """

    private func plan(_ text: String) throws -> SyncPlan {
        let config = SyncConfig.compile(text)
        return try #require(config.plan, "\(config.diagnostics.all.map(\.message))")
    }

    /// The plan of a stream of edition 3 that is called s.
    private func plan(query: String) throws -> SyncPlan {
        try plan("config: {edition: 3}\nstreams:\n  s: {query: \"\(query)\"}")
    }

    /// The buckets that a request comes to: name, priority, reasons.
    private func lines(
        _ plan: SyncPlan, token: String, connection: String? = nil, defaults: Bool = true,
        _ subscriptions: [StreamSubscription] = []
    ) throws -> [String] {
        var rig = try RequestRig(
            plan, token: token, connection: connection, subscriptions: subscriptions, defaults: defaults)
        return try rig.resolve().lines
    }

    private func subscription(
        _ stream: String, _ parameters: String? = nil, priority: Int? = nil
    ) throws -> StreamSubscription {
        StreamSubscription(
            stream: stream, parameters: try parameters.map { try JSON.parse($0) }, overridePriority: priority)
    }

    @Test func defaultsNeedNoSubscription() throws {
        let plan = try plan(Self.text)
        #expect(
            try lines(plan, token: #"{"sub":"u1","role":"admin"}"#)
                == [#"mine|0["u1"] 3 default"#, "gated|0[] 3 default"])
        #expect(
            try lines(plan, token: #"{"sub":"u1","role":"user"}"#) == [#"mine|0["u1"] 3 default"#])
        #expect(try lines(plan, token: #"{"sub":"u1"}"#, defaults: false) == [])
    }

    @Test func aStreamIsFoundByTheBytesOfItsName() throws {
        let plan = try plan(
            """
            config: {edition: 3}
            streams:
              \u{e9}: {query: "SELECT * FROM lists"}
              e\u{301}: {query: "SELECT * FROM todos"}
            """)
        let found = try lines(plan, token: #"{"sub":"u"}"#, [try subscription("e\u{301}")])
        #expect(found.map { Array($0.utf8) } == [Array("e\u{301}|0[] 3 0".utf8)])
    }

    @Test func subscriptionsCountByTheirIndexWithTheSmallestPriority() throws {
        let subscriptions = [
            try subscription("nope"), try subscription("list", #"{"id":5}"#),
            try subscription("list", #"{"id":5}"#, priority: 0), try subscription("list"),
            try subscription("list", #"{"id":"5"}"#),
        ]
        #expect(
            try lines(try plan(Self.text), token: #"{"sub":"u1"}"#, defaults: false, subscriptions)
                == ["list|0[5] 0 1,2", #"list|0["5"] 2 4"#])
    }

    @Test func valuesOfOneKeyMustAgree() throws {
        let plan = try plan(Self.text)
        let subscriptions = [try subscription("both", #"{"id":1}"#)]
        func found(_ token: String) throws -> [String] {
            try lines(plan, token: token, defaults: false, subscriptions)
        }
        let agreed = try found(#"{"sub":"u","id":1.0}"#)
        // Once for what the subscription says and once for the token, as all values that meet in a key.
        #expect(agreed == ["both|0[1] 3 0,0"])
        #expect(try found(#"{"sub":"u","id":2}"#).isEmpty)
        #expect(try found(#"{"sub":"u"}"#).isEmpty)
    }

    @Test func aSharedBucketHasTheReasonsOfBothStreams() throws {
        let subscriptions = [try subscription("same", "{}", priority: 1)]
        #expect(
            try lines(
                try plan(Self.text), token: #"{"sub":"u1"}"#, connection: #"{"owner":"u1"}"#, subscriptions)
                == [#"mine|0["u1"] 1 default,0"#])
    }

    /// Service 2.4, as recorded in numbers-in-parameters.
    @Test(
        arguments: [
            ("1", "[1]"), ("1.0", "[1]"), ("1.5", "[1.5]"), ("\"1\"", "[\"1\"]"), ("true", "[1]"),
            ("false", "[0]"),
            ("\"true\"", "[\"true\"]"), ("[1]", "[\"[1.0]\"]"), (#"{"a":1}"#, #"["{\"a\":1.0}"]"#),
            ("null", nil),
        ] as [(String, String?)])
    func claimsBecomeValues(_ claim: String, _ name: String?) throws {
        let found = try lines(
            try plan(query: "SELECT * FROM t WHERE x = auth.parameter('n')"), token: "{\"n\":\(claim)}",
            [try subscription("s")])
        #expect(found == (name.map { ["s|0\($0) 3 0"] } ?? []))
    }

    /// Two accounts must not become one: 9007199254740992 is the double that is nearest to 9007199254740993.
    @Test(
        arguments: ["9007199254740993", "-9007199254740993", "9223372036854775807", "18446744073709551617"])
    func anIntegerThatNoDoubleEqualsStaysItself(_ number: String) throws {
        let token = #"{"sub":\#(number),"account":\#(number),"list":[\#(number)],"in":{"acc":\#(number)}}"#
        for value in [
            "= auth.parameter('account')", "= auth.parameter('$.in.acc')", "= auth.user_id()",
            "= auth.parameters() ->> 'account'", "IN auth.parameter('list')",
            "IN (SELECT value FROM json_each(auth.parameter('list')))",
        ] {
            let found = try lines(
                try plan(query: "SELECT id FROM t WHERE i \(value)"), token: token, [try subscription("s")])
            #expect(found == ["s|0[\(number)] 3 0"], "\(value)")
        }
        let definition = """
            bucket_definitions:
              b: {parameters: "SELECT request.jwt() ->> 'account' AS i", data: ["SELECT id FROM t WHERE i = bucket.i"]}
            """
        #expect(try lines(try plan(definition), token: token) == ["b[\(number)] 3 default"])
    }

    /// Numbers that are doubles are as recorded, however large.
    @Test(arguments: [
        ("9007199254740994", "9007199254740994"), ("1180591620717411303424", "1180591620717411303424"),
        ("9007199254740993.0", "9007199254740992"), ("1e3", "1000"),
    ])
    func aNumberThatADoubleHoldsIsTheDouble(_ claim: String, _ name: String) throws {
        let found = try lines(
            try plan(query: "SELECT id FROM t WHERE i = auth.parameter('n')"), token: "{\"n\":\(claim)}",
            [try subscription("s")])
        #expect(found == ["s|0[\(name)] 3 0"])
    }

    /// What must be one value must be so byte by byte, as in Postgres.
    @Test func valuesThatAreOnlySpelledAlikeDoNotAgree() throws {
        let plan = try plan(
            query: "SELECT * FROM t WHERE x = auth.parameter('p') AND x = subscription.parameter('p')")
        func count(_ token: String, _ subscribed: String) throws -> Int {
            try lines(
                plan, token: "{\"p\":\"\(token)\"}", [try subscription("s", "{\"p\":\"\(subscribed)\"}")]
            ).count
        }
        #expect(try count("\u{e9}", "\u{e9}") == 1)
        #expect(try count("\u{e9}", "e\u{301}") == 0)
        #expect(try count("e\u{301}", "\u{e9}") == 0)
    }

    @Test func subscriptionsThatAreOnlySpelledAlikeGetABucketEach() throws {
        let plan = try plan(query: "SELECT * FROM t WHERE x = subscription.parameter('p')")
        let found = try lines(
            plan, token: "{}", try ["\u{e9}", "e\u{301}"].map { try subscription("s", "{\"p\":\"\($0)\"}") })
        #expect(found.count == 2)
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
        let plan = try plan(
            "config: {edition: 3}\nstreams:\n  a: {query: \"\(one)\"}\n  b: {query: \"\(other)\"}\n"
                + "  same: {query: \"\(one)\"}")
        #expect(Set(plan.streams.flatMap(\.queriers)).count == 2)
    }

    /// What one column has to be says nothing of another one.
    @Test func columnsThatAreOnlySpelledAlikeAreAKeyEach() throws {
        let plan = try plan(
            query: "SELECT * FROM t WHERE \u{e9} = auth.parameter('p') AND e\u{301} = auth.parameter('p')")
        #expect(plan.streams.first?.queriers.first?.keys.count == 2)
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
        let plan = try plan(query: "SELECT * FROM t WHERE x = \(condition)")
        try expectNoSquare(of: 2_000) { count in
            let long = String(repeating: "x", count: count * 20)
            let list = Array(repeating: "1", count: count * 5).joined(separator: ",")
            var rig = try RequestRig(
                plan, token: "{\"p\":\"\(long)\"}", connection: "{\"p\":\"\(long)\",\"list\":[\(list)]}",
                subscriptions: Array(
                    repeating: StreamSubscription(stream: "s", parameters: .object([])), count: count))
            #expect(try rig.resolve().buckets.isEmpty)
        }
    }

    // MARK: What texts cost

    @Test(arguments: ["a = 1 OR ", "a = 1 AND ", "a = 1 AND b OR "])
    func chainsThatWouldExhaustTheStackAreRefused(_ link: String) throws {
        func query(_ count: Int) -> String {
            "SELECT * FROM t WHERE \(String(repeating: link, count: count))c"
        }
        #expect(try plan(query: query(250)).sources.count == 1)
        let refused = SyncConfig.compile(
            "config: {edition: 3}\nstreams: {s: {query: \(query(50_000))}}")
        #expect(refused.plan == nil && refused.diagnostics.all.contains { $0.name == .tooLarge })
    }

    @Test func expressionsThatWouldExhaustTheStackAreRefused() {
        let deep = String(repeating: "(", count: 5000) + "1" + String(repeating: ")", count: 5000)
        let config = SyncConfig.compile(
            "config: {edition: 3}\nstreams: {s: {query: \"SELECT * FROM t WHERE x = \(deep)\"}}")
        #expect(config.plan == nil && config.diagnostics.all.map(\.name) == [.nestingTooDeep])
    }

    /// None is compared with all others.
    @Test(.patient()) func manyStreamsAndQueriesAreNoSquare() throws {
        try expectNoSquare(of: 2_000) { count in
            let streams = (0..<count / 2).map { "  a\($0): {query: SELECT * FROM t\($0)}\n" }.joined()
            let head = "config: {edition: 3}\nstreams:\n"
            #expect(try plan(head + streams).sources.count == count / 2)
            let queries = (0..<count).map { "      - SELECT * FROM t\($0)\n" }.joined()
            let merged = try plan(head + "  a:\n    queries:\n" + queries + queries)
            #expect(merged.sources.map(\.processors.count) == [count])
        }
    }

    @Test(.patient()) func aPlaceBehindManyEscapesIsNoSquare() {
        expectNoSquare(of: 20_000) { count in
            let escapes = String(repeating: "\\x41", count: count)
            let config = SyncConfig.compile(
                "config: {edition: 3}\nstreams:\n  a:\n    query: \"SELECT * FROM t WHERE a = '\(escapes)' LIMIT 1\"\n"
            )
            let places = config.diagnostics.all.map { config.text.place($0.range.start).line }
            #expect(places == [4])
        }
    }
}
