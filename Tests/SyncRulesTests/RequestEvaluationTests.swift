import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Requests over plans written by hand (service 3.6, 3.7).
struct RequestEvaluationTests {
    private func subscription(
        _ stream: String, _ parameters: String? = nil, priority: Int? = nil
    ) throws -> StreamSubscription {
        StreamSubscription(
            stream: stream, parameters: try parameters.map { try JSON.parse($0) }, overridePriority: priority)
    }

    private func rows(_ values: [String]...) -> [[ScalarValue]] {
        values.map { $0.map { ScalarValue(text: $0) } }
    }

    private static let failure = "Error evaluating bucket ids: Expected JSON string"

    /// The table of service 2.4.
    @Test(arguments: [
        ("1", "s0|0[1]"), ("1.0", "s0|0[1]"), ("1.5", "s0|0[1.5]"), (#""1""#, #"s0|0["1"]"#),
        ("true", "s0|0[1]"), ("false", "s0|0[0]"), (#""true""#, #"s0|0["true"]"#),
        ("[1]", #"s0|0["[1.0]"]"#), (#"{"a":1}"#, #"s0|0["{\"a\":1.0}"]"#),
    ])
    func aClaimNamesABucket(_ claim: String, _ name: String) throws {
        let plan = SyncPlan.of([[Querier(source: 0, keys: [[.auth("c")]])]])
        var rig = try RequestRig(plan, token: #"{"c":\#(claim)}"#)
        #expect(try rig.resolve().lines == ["\(name) 3 default"])
        #expect(rig.asked.isEmpty)
    }

    @Test(arguments: [#"{"c":null}"#, "{}"])
    func whatIsNotThereNamesNoneAndIsNoError(_ token: String) throws {
        let plan = SyncPlan.of([[Querier(source: 0, keys: [[.text("a")], [.auth("c")]])]])
        var rig = try RequestRig(plan, token: token)
        #expect(try rig.resolve() == Resolution(buckets: []))
        var legacy = try RequestRig(
            .of([[Querier(source: 0, keys: [[.text("a")], [.auth("c")]])]], edition: 1), token: token)
        #expect(try legacy.resolve().lines == [#"s0|0["a",null] 3 default"#])
    }

    @Test func reasonsAreInOrderAndTheLeastPriorityCounts() throws {
        let querier = Querier(source: 0, keys: [[.subscription("p")]])
        let plan = SyncPlan.of([[querier, Querier(source: 1)], [Querier(source: 1)]], priority: 2)
        let subscriptions = try [
            subscription("s0", #"{"p":"a"}"#), subscription("s0", #"{"p":"a"}"#, priority: 1),
            subscription("nowhere"), subscription("s1", priority: 3),
        ]
        var rig = try RequestRig(plan, subscriptions: subscriptions)
        #expect(
            try rig.resolve().lines == [
                #"s0|0["a"] 1 0,1"#, "s0|1[] 1 0,1,default,3,default",
            ])
        var explicit = try RequestRig(plan, subscriptions: subscriptions, defaults: false)
        #expect(try explicit.resolve().lines == [#"s0|0["a"] 1 0,1"#, "s0|1[] 1 0,1,3"])
        var none = try RequestRig(plan, defaults: false)
        #expect(try none.resolve() == Resolution(buckets: []))
        var own = try RequestRig(.of([[Querier(source: 0, priority: 1)]], edition: 1))
        #expect(try own.resolve().lines == ["s0|0[] 1 default"])
    }

    @Test func whatIsAskedForInEdition2IsADefaultOneWithoutDefaultsToo() throws {
        let plan = SyncPlan.of([[Querier(source: 0)], [Querier(source: 1)]], edition: 2)
        var asked = try RequestRig(plan, subscriptions: [try subscription("s0")], defaults: false)
        #expect(try asked.resolve().lines == ["s0|0[] 3 0,default"])
        var none = try RequestRig(plan, defaults: false)
        #expect(try none.resolve() == Resolution(buckets: []))
    }

    @Test func aGateThatDoesNotHoldEndsAQuerierWithoutAnError() throws {
        let gates: [Expression] = [.auth("admin"), .comparison(.equal, .subscription("p"), .text("a"))]
        let elements = Stage.elements(.auth("list"), filters: [])
        let plan = SyncPlan.of([[Querier(source: 0, gates: gates, stages: [elements], keys: [[.value(0)]])]])
        let subscriptions = try [subscription("s0", #"{"p":"a"}"#), subscription("s0", #"{"p":"b"}"#)]
        var closed = try RequestRig(
            plan, token: #"{"admin":false,"list":"t1"}"#, subscriptions: subscriptions)
        #expect(try closed.resolve() == Resolution(buckets: []))
        var open = try RequestRig(plan, token: #"{"admin":true,"list":["x"]}"#, subscriptions: subscriptions)
        #expect(try open.resolve().lines == [#"s0|0["x"] 3 0"#])
        var failing = try RequestRig(
            plan, token: #"{"admin":true,"list":"t1"}"#, subscriptions: subscriptions)
        let failures = try failing.resolve().failures
        #expect(failures.map(\.reason) == [.subscription(0)])
    }

    /// As recorded (job 374): an error for each querier and subscription, whose others keep their buckets.
    @Test(arguments: [#""t1""#, "5", "true"])
    func whatFailsIsOneQuerierForOneSubscription(_ list: String) throws {
        let failing = Querier(source: 0, stages: [.elements(.auth("list"), filters: [])], keys: [[.value(0)]])
        // Elements are read although no lookup is asked for.
        let other = Querier(
            source: 1,
            stages: [
                .lookup(0, keys: [[.connection("missing")]], filters: []),
                .elements(.auth("list"), filters: []),
            ], keys: [[.output(0)]])
        let plan = SyncPlan.of([[failing, other, Querier(source: 2)]])
        var rig = try RequestRig(
            plan, token: #"{"list":\#(list)}"#, subscriptions: [try subscription("s0")])
        let resolution = try rig.resolve()
        #expect(resolution.lines == ["s0|2[] 3 0,default"])
        #expect(resolution.failures.map(\.message) == Array(repeating: Self.failure, count: 4))
        #expect(
            resolution.failures.map(\.reason) == [.subscription(0), .subscription(0), .isDefault, .isDefault])
        #expect(resolution.failures.map(\.stream) == [0, 0, 0, 0] && rig.asked.isEmpty)
    }

    @Test func elementsAreCombinedAndFiltered() throws {
        let stages: [Stage] = [
            .elements(.connection("a"), filters: []),
            .elements(.subscription("b"), filters: [.not(.comparison(.equal, .value(0), .value(1)))]),
        ]
        let plan = SyncPlan.of([
            [Querier(source: 0, stages: stages, keys: [[.element(.element(1), .key)], [.value(0)]])]
        ])
        var rig = try RequestRig(
            plan, connection: #"{"a":["x","y"]}"#,
            subscriptions: [try subscription("s0", #"{"b":{"k":"x","l":"z"}}"#)])
        #expect(
            try rig.resolve().lines == [
                #"s0|0["l","x"] 3 0"#, #"s0|0["k","y"] 3 0"#, #"s0|0["l","y"] 3 0"#,
            ])
    }

    @Test func lookupsGoOnFromRowToRow() throws {
        let stages: [Stage] = [
            .lookup(0, keys: [[.auth("sub")]], filters: []),
            .lookup(1, keys: [[.output(0, 1)], [.text("k")]], filters: []),
        ]
        let plan = SyncPlan.of([[Querier(source: 0, stages: stages, keys: [[.output(1)], [.output(0)]])]])
        var rig = try RequestRig(plan)
        rig.rows = [
            .of(0, "u1"): rows(["a", "t1"], ["b", "t2"], ["c", "t1"], ["d", "t9"]),
            .of(1, "t1", "k"): rows(["o1"], ["o2"]), .of(1, "t2", "k"): rows(["o1"]),
        ]
        #expect(
            try rig.resolve().lines == [
                #"s0|0["o1","a"] 3 default"#, #"s0|0["o2","a"] 3 default"#, #"s0|0["o1","b"] 3 default"#,
                #"s0|0["o1","c"] 3 default"#, #"s0|0["o2","c"] 3 default"#,
            ])
        // Each key once, all of a stage together.
        let second: [LookupRead] = [.of(1, "t1", "k"), .of(1, "t2", "k"), .of(1, "t9", "k")]
        #expect(rig.asked == [[.of(0, "u1")], second])
        #expect(rig.evaluation.used == Set(second + [.of(0, "u1")]))
    }

    @Test func queriersAndSubscriptionsAskTogether() throws {
        func querier(_ source: Int, _ stages: Int) -> Querier {
            Querier(
                source: source,
                stages: (0..<stages).map { stage -> Stage in
                    let key: Expression = stage == 0 ? .subscription("p") : .output(stage - 1)
                    return .lookup(stage, keys: [[key]], filters: [])
                }, keys: [[.output(stages - 1)]])
        }
        let plan = SyncPlan.of([[querier(0, 1), querier(1, 2)]])
        let subscriptions = try ["a", "b", "a"].map { try subscription("s0", #"{"p":"\#($0)"}"#) }
        var rig = try RequestRig(plan, subscriptions: subscriptions)
        rig.rows = [.of(0, "a"): rows(["x"]), .of(0, "b"): rows(["y"]), .of(1, "y"): rows(["z"], ["z"])]
        #expect(
            try rig.resolve().lines == [
                #"s0|0["x"] 3 0,2"#, #"s0|0["y"] 3 1"#, #"s0|1["z"] 3 1,1"#,
            ])
        #expect(rig.asked == [[.of(0, "a"), .of(0, "b")], [.of(1, "x"), .of(1, "y")]])
    }

    @Test func valuesOfOneKeyMustAgree() throws {
        let stages: [Stage] = [.lookup(0, keys: [[.auth("n"), .connection("n")]], filters: [])]
        let plan = SyncPlan.of([
            [Querier(source: 0, stages: stages, keys: [[.output(0), .output(0, 1), .connection("t")]])]
        ])
        var rig = try RequestRig(plan, token: #"{"n":1}"#, connection: #"{"n":1,"t":"a"}"#)
        // 1.0 of the token and 1 of the connection are one key.
        let read = LookupRead(lookup: 0, key: [.integer(1)])
        rig.rows = [read: rows(["a", "a"], ["a", "b"], ["b", "b"])]
        #expect(try rig.resolve().buckets.map(\.name) == [ExactText(#"s0|0["a"]"#)])
        #expect(rig.asked == [[read]])
        var other = try RequestRig(plan, token: #"{"n":1}"#, connection: #"{"n":2,"t":"a"}"#)
        #expect(try other.resolve() == Resolution(buckets: []))
        #expect(other.asked.isEmpty && other.evaluation.used.isEmpty)
    }

    /// A bucket is there once for each thing that a value of its key comes of, as in the jobs of `configurations` beside
    /// the cases, and in T49.
    @Test func eachThingThatAKeyAgreesWithIsAWay() throws {
        func reasons(
            _ stages: [Stage], _ key: [Expression], _ found: [LookupRead: [[ScalarValue]]] = [:]
        ) throws -> Int? {
            let plan = SyncPlan.of([[Querier(source: 0, stages: stages, keys: [key])]])
            var rig = try RequestRig(
                plan, token: #"{"t":"a"}"#, connection: #"{"l":["a","b"],"m":["c","a"]}"#)
            rig.rows = found
            let resolution = try rig.resolve()
            #expect(resolution.buckets.map(\.name) == [ExactText(#"s0|0["a"]"#)])
            return resolution.buckets.first?.reasons.count
        }
        let list = Stage.elements(.connection("l"), filters: [])
        let other = Stage.elements(.connection("m"), filters: [])
        // 49; 418
        #expect(try reasons([list], [.value(0), .auth("t")]) == 2)
        #expect(try reasons([list, other], [.value(0), .value(1)]) == 2)
        // 840: two rows and a claim; T49: two lookups
        let all = Stage.lookup(0, keys: [], filters: [])
        let read = LookupRead(lookup: 0, key: [])
        #expect(try reasons([all], [.output(0), .auth("t")], [read: rows(["a"], ["b"], ["a"])]) == 3)
        let second = LookupRead(lookup: 1, key: [])
        let both = [all, Stage.lookup(1, keys: [], filters: [])]
        let found = [read: rows(["a"], ["c"]), second: rows(["b"], ["a"])]
        #expect(try reasons(both, [.output(0), .output(1)], found) == 2)
        // 882: the row is found by an element, and the other element is one more.
        let byElement: [Stage] = [list, .lookup(0, keys: [[.value(0)]], filters: []), other]
        #expect(try reasons(byElement, [.output(1), .value(2)], [.of(0, "a"): rows(["a"])]) == 2)
        // 775: the key of a lookup is met twice, so its rows are found twice.
        let keyed: [Stage] = [list, .lookup(0, keys: [[.auth("t"), .value(0)]], filters: [])]
        #expect(try reasons(keyed, [.output(1)], [.of(0, "a"): rows(["a"], ["a"])]) == 4)
        // What another key reads, too, tells ways apart: the rows of one lookup stay whole.
        #expect(try reasons([all], [.output(0), .output(0, 1)], [read: rows(["a", "a"], ["a", "b"])]) == 2)
    }

    @Test func waysAreBoundedAsCombinationsAre() throws {
        let keys = (0..<12).map { _ in [Expression.auth("t"), .connection("t")] }
        let plan = SyncPlan.of([[Querier(source: 0, stages: [], keys: keys)]])
        var rig = try RequestRig(
            plan, token: #"{"t":"a"}"#, connection: #"{"t":"a"}"#, limits: RequestLimits(results: 10))
        #expect(throws: RequestError.self) { try rig.resolve() }
    }

    @Test func aLookupWithoutKeysFindsAllAndOneThatNothingNeedsMustFindARow() throws {
        let stages: [Stage] = [
            .lookup(0, keys: [], filters: []), .lookup(1, keys: [[.auth("sub")]], filters: []),
        ]
        let plan = SyncPlan.of([[Querier(source: 0, stages: stages, keys: [[.output(0)]])]])
        var rig = try RequestRig(plan)
        rig.rows = [LookupRead(lookup: 0, key: []): rows(["a"], ["b"])]
        #expect(try rig.resolve() == Resolution(buckets: []))
        rig.rows[.of(1, "u1")] = [[]]
        #expect(try rig.resolve().lines == [#"s0|0["a"] 3 default"#, #"s0|0["b"] 3 default"#])
    }

    @Test func aFilterThatFailsBehindALookupFailsUntilItsRowsChange() throws {
        let filter = Expression.contains(list: .output(0, 1), .text("a"))
        let plan = SyncPlan.of([
            [
                Querier(
                    source: 0, stages: [.lookup(0, keys: [[.auth("sub")]], filters: [filter])],
                    keys: [[.output(0)]])
            ]
        ])
        var rig = try RequestRig(plan)
        rig.rows = [.of(0, "u1"): rows(["x", #"["a"]"#], ["y", "no array"])]
        let failed = try rig.resolve()
        #expect(failed.buckets.isEmpty && failed.failures.count == 1)
        rig.rows = [.of(0, "u1"): rows(["x", #"["a"]"#], ["y", "[]"])]
        #expect(try rig.resolve(changed: [.of(0, "u1")]).lines == [#"s0|0["x"] 3 default"#])
    }

    @Test func whatALookupFindsHasItsReasonsAndPriorityAlone() throws {
        let lookup = Querier(
            source: 0, priority: 2, stages: [.lookup(0, keys: [[.auth("sub")]], filters: [])],
            keys: [[.output(0)]])
        let fixed = Querier(source: 0, priority: 0, keys: [[.text("a")]])
        let plan = SyncPlan.of([[fixed], [lookup]])
        var rig = try RequestRig(plan, subscriptions: [try subscription("s0")])
        #expect(try rig.resolve().lines == [#"s0|0["a"] 0 0,default"#])
        rig.rows = [.of(0, "u1"): rows(["a"], ["b"])]
        #expect(
            try rig.resolve().lines == [#"s0|0["a"] 2 default"#, #"s0|0["b"] 2 default"#])
    }

    /// Only what used a changed key is asked for again; keys without rows were used, too.
    @Test func aChangeAsksThoseAgainThatUsedIt() throws {
        func querier(_ source: Int, _ key: Expression) -> Querier {
            Querier(source: source, stages: [.lookup(0, keys: [[key]], filters: [])], keys: [[.output(0)]])
        }
        let plan = SyncPlan.of([[querier(0, .auth("sub")), querier(1, .text("other")), Querier(source: 2)]])
        var rig = try RequestRig(plan)
        rig.rows = [.of(0, "u1"): rows(["a"])]
        #expect(try rig.resolve().lines == [#"s0|0["a"] 3 default"#, "s0|2[] 3 default"])
        rig.rows = [.of(0, "u1"): rows(["b"]), .of(0, "other"): rows(["c"])]
        let unchanged = try rig.resolve(changed: [.of(0, "nobody")])
        #expect(unchanged.lines == [#"s0|0["a"] 3 default"#, "s0|2[] 3 default"])
        #expect(rig.asked.isEmpty)
        #expect(
            try rig.resolve(changed: [.of(0, "other")]).lines == [
                #"s0|0["a"] 3 default"#, #"s0|1["c"] 3 default"#, "s0|2[] 3 default",
            ])
        #expect(rig.asked == [[.of(0, "other")]])
        #expect(
            try rig.resolve().lines == [
                #"s0|0["b"] 3 default"#, #"s0|1["c"] 3 default"#, "s0|2[] 3 default",
            ])
        rig.rows = [:]
        #expect(try rig.resolve().lines == ["s0|2[] 3 default"])
    }

    @Test func askingAgainAsksForTheSame() throws {
        let lookup = Stage.lookup(0, keys: [[.auth("sub")]], filters: [])
        let plan = SyncPlan.of([[Querier(source: 0, stages: [lookup], keys: [[.output(0)]])]])
        var rig = try RequestRig(plan)
        #expect(try rig.next() == .rows([.of(0, "u1")]))
        #expect(try rig.next() == .rows([.of(0, "u1")]))
    }

    /// In the SQLite engine a CAST decides how it is compared, whoever brings the value (sqlite.org/datatype3.html, 4).
    @Test(arguments: [
        ("CAST(v AS integer) = '5'", true), ("CAST(v AS integer) != '5'", false),
        ("'5' = CAST(v AS real)", true), ("CAST(v AS text) = 5", true),
        ("NOT (CAST(v AS text) IN ARRAY[4, 5])", false),
        ("CAST(v AS integer) BETWEEN '4' AND '6'", true), ("CAST(v AS integer)", true),
        ("CAST(v AS integer) - 5", false), ("(CASE WHEN 1 THEN CAST(v AS integer) END) = '5'", false),
    ])
    func aCastOfTheTokenIsComparedAsThatOfASubscription(_ condition: String, _ isOpen: Bool) throws {
        for source in ["auth", "subscription"] {
            let gate = condition.replacing("(v ", with: "(\(source).parameter('v') ")
            let yaml =
                "config: {edition: 3, unstable_sqlite_expression_engine: true}\nstreams:\n  s:\n"
                + "    query: \(JSON.quoted("SELECT * FROM t WHERE \(gate)"))\n"
            let plan = try #require(SyncConfig.compile(yaml).plan)
            var rig = try RequestRig(
                plan, token: #"{"sub":"u","v":"5"}"#,
                subscriptions: [try subscription("s", #"{"v":"5"}"#)])
            #expect(try rig.resolve().buckets.map(\.name.text) == (isOpen ? ["s|0[]"] : []), "\(gate)")
        }
    }

    /// Arrays within an array of the token: of each element, its own.
    @Test func elementsOfElementsAreRead() throws {
        let sql =
            "SELECT projects.* FROM projects, json_each(auth.parameter('orgs')) AS o, "
            + "json_each(o.value -> 'projects') AS p WHERE projects.id = p.value"
        let yaml =
            "config: {edition: 3}\nstreams:\n  s: {auto_subscribe: true, query: \(JSON.quoted(sql))}\n"
        let plan = try #require(SyncConfig.compile(yaml).plan)
        func buckets(_ orgs: String, limits: RequestLimits = RequestLimits()) throws -> [String] {
            var rig = try RequestRig(plan, token: #"{"sub":"u","orgs":\#(orgs)}"#, limits: limits)
            return try rig.resolve().buckets.map(\.name.text)
        }
        let orgs = #"[{"projects":["a","b"]},{"projects":["c"]},{},{"projects":["c"]}]"#
        #expect(try buckets(orgs) == [#"s|0["a"]"#, #"s|0["b"]"#, #"s|0["c"]"#])
        #expect(try buckets("[]").isEmpty)
        // Four elements, and three of theirs: those that are there twice are read once.
        #expect(try buckets(orgs, limits: RequestLimits(results: 7)).count == 3)
        #expect(throws: RequestError.self) { try buckets(orgs, limits: RequestLimits(results: 6)) }
    }
}
