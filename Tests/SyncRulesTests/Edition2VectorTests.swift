import PowerSyncSyncRules
import PowerSyncTestSupport
import Testing

/// The vectors of service 9.4, by their numbers.
struct Edition2VectorTests {
    private static let ofIssues = "SELECT id FROM issues WHERE owner_id = auth.user_id()"

    private func text(_ text: String) -> ScalarValue { ScalarValue(text: text) }

    private func issue(_ id: String, _ owner: String) -> AlphaRig.Row {
        (table: "issues", columns: ["id": text(id), "owner_id": text(owner)])
    }

    private func friends(_ one: String, _ other: String) -> AlphaRig.Row {
        (table: "friends", columns: ["user_a": text(one), "user_b": text(other)])
    }

    @Test func s1EveryRowIsInOneBucket() throws {
        let rig = try AlphaRig("SELECT * FROM comments")
        #expect(try rig.places("comments", ["id": text("c")]) == ["stream|0[]"])
        #expect(try rig.places("issues", ["id": text("c")]).isEmpty)
    }

    @Test func s2AConditionOnTheRowLeavesRowsOut() throws {
        let rig = try AlphaRig("SELECT * FROM comments WHERE length(content) > 5")
        #expect(try rig.places("comments", ["content": text("a")]).isEmpty)
        #expect(try rig.places("comments", ["content": text("aaaaaa")]) == ["stream|0[]"])
    }

    @Test func s3AParameterOfTheSubscriptionIsAKey() throws {
        let rig = try AlphaRig("SELECT * FROM comments WHERE issue_id = subscription.parameter('id')")
        #expect(try rig.places("comments", ["issue_id": text("a")]) == [#"stream|0["a"]"#])
        #expect(try rig.buckets(subscription: #"{"id":"x"}"#) == [#"stream|0["x"]"#])
    }

    @Test func s4AnOrOfRowAndRequestIsTwoVariants() throws {
        let rig = try AlphaRig(
            "SELECT * FROM issues WHERE owner_id = auth.user_id() OR auth.parameter('is_admin')")
        #expect(
            try rig.places("issues", ["owner_id": text("u1")]) == [#"stream|0["u1"]"#, "stream|1[]"])
        #expect(try rig.buckets(token: #"{"sub":"u1"}"#) == [#"stream|0["u1"]"#])
        let admin = try rig.buckets(token: #"{"sub":"u1","is_admin":true}"#)
        #expect(admin == [#"stream|0["u1"]"#, "stream|1[]"])
    }

    @Test func s5AnOrOfAMatchAndAConditionIsTwoVariants() throws {
        let rig = try AlphaRig("SELECT * FROM issues WHERE owner_id = auth.user_id() OR LENGTH(name) = 3")
        let owner = text("a")
        #expect(try rig.places("issues", ["owner_id": owner, "name": text("")]) == [#"stream|0["a"]"#])
        #expect(
            try rig.places("issues", ["owner_id": owner, "name": text("aaa")])
                == [#"stream|0["a"]"#, "stream|1[]"])
    }

    @Test func s6AnOrOnTheRowIsOneVariant() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE LENGTH(content) > 5 OR json_array_length(tagged_users) > 1")
        #expect(rig.plan.streams[0].queriers.count == 1)
        let tagged = ["content": text(""), "tagged_users": text(#"["a","b"]"#)]
        #expect(try rig.places("comments", tagged) == ["stream|0[]"])
        #expect(try rig.places("comments", ["content": text(""), "tagged_users": text("[]")]).isEmpty)
    }

    @Test func s7AnOrOnTheRequestIsOneVariant() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE auth.parameter('a') OR auth.parameters() ->> 'b'")
        #expect(try rig.buckets(token: #"{"sub":"u","a":false,"b":false}"#).isEmpty)
        #expect(try rig.buckets(token: #"{"sub":"u","a":true}"#) == ["stream|0[]"])
        #expect(rig.plan.streams[0].queriers.count == 1)
    }

    @Test func s8ASubSelectIsALookup() throws {
        let rig = try AlphaRig("SELECT * FROM comments WHERE issue_id IN (\(Self.ofIssues))")
        let rows = [issue("i1", "u1")]
        #expect(
            try rig.lookups(rows) == [LookupRead(lookup: 0, key: [text("u1")]): [[text("i1")]]])
        #expect(try rig.places("comments", ["issue_id": text("i1")]) == [#"stream|0["i1"]"#])
        #expect(try rig.buckets(token: #"{"sub":"u1"}"#, rows) == [#"stream|0["i1"]"#])
    }

    @Test func s9AValueOfTheRequestInASubSelectIsAGate() throws {
        let rig = try AlphaRig(
            "SELECT * FROM issues WHERE auth.user_id() IN (SELECT id FROM users WHERE is_admin)")
        func user(_ isAdmin: Bool) -> [AlphaRig.Row] {
            [(table: "users", columns: ["id": text("u"), "is_admin": ScalarValue(isAdmin)])]
        }
        #expect(try rig.lookups(user(true)).keys.map(\.key) == [[text("u")]])
        #expect(try rig.places("issues", ["id": text("i")]) == ["stream|0[]"])
        #expect(try rig.buckets(user(true)) == ["stream|0[]"])
        #expect(try rig.buckets(user(false)).isEmpty)
    }

    @Test func s10EachSubSelectOfAnOrIsAVariant() throws {
        let rig = try AlphaRig(
            "SELECT * FROM users WHERE id IN (SELECT user_a FROM friends WHERE user_b = auth.user_id()) "
                + "OR id IN (SELECT user_b FROM friends WHERE user_a = auth.user_id())")
        #expect(try rig.places("users", ["id": text("a")]) == [#"stream|0["a"]"#, #"stream|1["a"]"#])
        #expect(
            try rig.buckets([friends("a", "u"), friends("u", "b")])
                == [#"stream|0["a"]"#, #"stream|1["b"]"#])
    }

    @Test func s11EachElementOfAnArrayOfTheRequestIsAKey() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE issue_id IN (subscription.parameters() -> 'issue_id')")
        #expect(
            try rig.buckets(subscription: #"{"issue_id":["i1","i2"]}"#)
                == [#"stream|0["i1"]"#, #"stream|0["i2"]"#])
        #expect(try rig.buckets(subscription: #"{"issue_id":"i1"}"#).isEmpty)
    }

    @Test func s12RowsOfALookupAndElementsAreCombined() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE issue_id IN (\(Self.ofIssues)) "
                + "AND label IN (subscription.parameters() -> 'labels')")
        let found = try rig.buckets(
            subscription: #"{"labels":["l1","l2"]}"#, [issue("i1", "u"), issue("i2", "u")])
        let values = [#""i1","l1""#, #""i1","l2""#, #""i2","l1""#, #""i2","l2""#]
        #expect(Set(found) == Set(values.map { "stream|0[\($0)]" }) && found.count == 4)
    }

    @Test func s13TheSameColumnTwiceIsTwoKeys() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE issue_id = subscription.parameter('issue') "
                + "AND issue_id IN auth.parameter('issues')")
        #expect(try rig.places("comments", ["issue_id": text("i")]) == [#"stream|0["i","i"]"#])
        let found = try rig.buckets(
            token: #"{"sub":"u","issues":["i","i2"]}"#, subscription: #"{"issue":"i"}"#)
        #expect(found == [#"stream|0["i","i"]"#, #"stream|0["i","i2"]"#])
    }

    @Test func s14EachElementOfARowIsAKey() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE tagged_users && "
                + "(SELECT user_a FROM friends WHERE user_b = auth.user_id())")
        let places = try rig.places("comments", ["tagged_users": text(#"["a","b"]"#)])
        #expect(places == [#"stream|0["a"]"#, #"stream|0["b"]"#])
        #expect(try rig.buckets([friends("a", "u")]) == [#"stream|0["a"]"#])
    }

    @Test(arguments: [
        (#"["foo"]"#, true), (#"["bar","foo"]"#, true), (#"["bar"]"#, false), ("[]", false),
        (#"["0"]"#, false),
    ])
    func s15ArraysOfTheRequestAreCompared(_ tags: String, _ isIn: Bool) throws {
        let rig = try AlphaRig(#"SELECT * FROM comments WHERE auth.parameters() -> 'tags' && '["foo"]'"#)
        let found = try rig.buckets(token: #"{"sub":"u","tags":\#(tags)}"#)
        #expect(found == (isIn ? ["stream|0[]"] : []))
    }

    @Test func s16NotGoesInwards() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE not (length(content) = 5 AND issue_id not in (\(Self.ofIssues)))")
        let issue = text("i")
        #expect(
            try rig.places("comments", ["content": text("foo"), "issue_id": issue])
                == ["stream|0[]", #"stream|1["i"]"#])
        #expect(
            try rig.places("comments", ["content": text("foooo"), "issue_id": issue])
                == [#"stream|1["i"]"#])
    }

    @Test func s17AndIsDistributed() throws {
        let rig = try AlphaRig(
            "SELECT * FROM comments WHERE (issue_id in (\(Self.ofIssues)) OR auth.parameter('is_admin')) "
                + "AND LENGTH(content) > 2")
        let issue = text("i")
        #expect(try rig.places("comments", ["content": text("a"), "issue_id": issue]).isEmpty)
        #expect(
            try rig.places("comments", ["content": text("aaa"), "issue_id": issue])
                == [#"stream|0["i"]"#, "stream|1[]"])
    }

    /// What that makes of a time is G9.
    @Test func s18TimesAreThoseOfISO8601() throws {
        #expect(try AlphaRig("SELECT * FROM comments").plan.options.timestampsISO8601)
        let former = SyncConfig.compile("bucket_definitions: {b: {data: [SELECT * FROM comments]}}")
        #expect(former.plan?.options.timestampsISO8601 == false)
    }

    /// The tests above are named by their numbers, and each expects something.
    @Test func everyNumberHasAnExpectation() throws {
        let tested = try Repository.numberedTests("s", in: "Tests/SyncRulesTests/Edition2VectorTests.swift")
        let numbers = try Repository.vectorNumbers("S")
        #expect(tested == numbers.sorted() && numbers.count == 18)
    }

    /// Buckets of a stream have its name and a number, which a bucket definition may be called.
    @Test func noDefinitionHasTheNameOfAStreamsBuckets() {
        func names(_ definition: String) -> [DiagnosticName] {
            let yaml =
                "config: {edition: 2}\nbucket_definitions:\n  \(definition):\n    data: [SELECT * FROM secrets]\n"
                + "streams:\n  todos: {query: SELECT * FROM todos}\n"
            return SyncConfig.compile(yaml).diagnostics.all.map(\.name)
        }
        #expect(names("todos|0") == [.alphaStreams, .duplicateDefinition])
        #expect(names("todos|1") == [.alphaStreams] && names("todo|0") == [.alphaStreams])
    }
}
