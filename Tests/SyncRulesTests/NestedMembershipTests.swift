import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// IN behind NOT and within values, in edition 3: nothing is synced that the condition, read as SQL, leaves out.
@Suite(.namesSeed)
struct NestedMembershipTests {
    private static let list = #"'["deleted","archived"]'"#

    private func rig(_ condition: String) throws -> AlphaRig {
        try AlphaRig("SELECT * FROM docs WHERE \(condition)", edition: 3)
    }

    private func row(_ state: String?, tags: String? = nil) -> [String: ScalarValue] {
        var row: [String: ScalarValue] = [:]
        row["state"] = state.map { ScalarValue(text: $0) }
        row["tags"] = tags.map { ScalarValue(text: $0) }
        return row
    }

    /// Conditions that hold for all states but two, whatever stands around IN.
    @Test(arguments: [
        "NOT (state IN \(list))", "state NOT IN \(list)", "NOT (state IN \(list) OR state = 'hidden')",
        "NOT (state IN \(list)) AND NOT (state = 'hidden')", "NOT (NOT (state NOT IN \(list)))",
        "CASE WHEN state IN \(list) THEN 0 ELSE 1 END", "CASE state IN \(list) WHEN 0 THEN 1 END",
        "(state IN \(list)) = 0", "(state IN \(list)) != 1", "(state IN \(list)) < 1",
        "(state IN \(list)) IS NOT TRUE", "(state IN \(list)) IS FALSE", "iif(state IN \(list), 0, 1)",
        "NOT ((state IN \(list)) = 1)",
    ])
    func whatAListNamesIsLeftOut(_ condition: String) throws {
        let rig = try rig(condition)
        #expect(try rig.places("docs", row("deleted")).isEmpty)
        #expect(try rig.places("docs", row("archived")).isEmpty)
        #expect(try Set(rig.places("docs", row("open"))) == ["stream|0[]"])
        #expect(try rig.buckets() == ["stream|0[]"])
    }

    @Test func aListOfTheRowIsAskedAsAWhole() throws {
        let rig = try rig("NOT (state IN tags)")
        #expect(try rig.places("docs", row("a", tags: #"["a","b"]"#)).isEmpty)
        #expect(try rig.places("docs", row("c", tags: #"["a","b"]"#)) == ["stream|0[]"])
        #expect(try rig.places("docs", row("a", tags: "[]")) == ["stream|0[]"])
        // Where nothing stands around it, each element that is the value is a place, as recorded.
        let plain = try self.rig("(state IN tags) = 1")
        #expect(try plain.places("docs", row("a", tags: #"["a","b"]"#)) == ["stream|0[]"])
        #expect(try plain.places("docs", row("c", tags: #"["a","b"]"#)).isEmpty)
    }

    @Test func aMatchWithTheRequestAsksForTheWholeList() throws {
        let rig = try rig("(state IN tags) = auth.parameter('flag')")
        #expect(try rig.places("docs", row("a", tags: #"["a","b"]"#)) == ["stream|0[1]"])
        #expect(try rig.places("docs", row("c", tags: #"["a","b"]"#)) == ["stream|0[0]"])
        #expect(try rig.buckets(token: #"{"flag":false}"#) == ["stream|0[0]"])
    }

    /// Conditions that hold for requests of all users but two.
    @Test(arguments: [
        #"NOT (auth.user_id() IN '["u1","u2"]')"#, #"NOT (auth.user_id() IN '["u1","u2"]' OR 1 = 0)"#,
        #"CASE WHEN auth.user_id() IN '["u1","u2"]' THEN 0 ELSE 1 END"#,
        #"(auth.user_id() IN '["u1","u2"]') = 0"#,
    ])
    func usersThatAListNamesAreLeftOut(_ condition: String) throws {
        let rig = try rig(condition)
        for user in ["u1", "u2"] { #expect(try rig.buckets(token: #"{"sub":"\#(user)"}"#).isEmpty) }
        #expect(try Set(rig.buckets(token: #"{"sub":"u3"}"#)).count == 1)
    }

    @Test(arguments: [
        "NOT ('posts' IN auth.parameter('hidden'))", "('posts' IN auth.parameter('hidden')) = 0",
        "CASE WHEN 'posts' IN auth.parameter('hidden') THEN 0 ELSE 1 END",
    ])
    func aListOfTheTokenIsAskedAsAWhole(_ condition: String) throws {
        let rig = try rig(condition)
        #expect(try rig.buckets(token: #"{"sub":"u","hidden":["posts","x"]}"#).isEmpty)
        #expect(try rig.buckets(token: #"{"sub":"u","hidden":["x","y"]}"#) == ["stream|0[]"])
    }

    @Test(arguments: [
        "NOT ('x' IN (SELECT value FROM json_each(auth.parameter('hidden'))))",
        "'x' NOT IN (SELECT kind FROM flags)",
        "NOT ('x' IN (SELECT 'x' FROM flags WHERE flags.kind = 'y'))",
        "state NOT IN (SELECT value FROM json_each(docs.tags))",
        "CASE WHEN 'x' IN (SELECT kind FROM flags) THEN 0 ELSE 1 END",
        "('x' IN (SELECT value FROM json_each(auth.parameter('hidden')))) = 0",
    ])
    func rowsOfASubSelectAreRefused(_ condition: String) {
        let yaml = AlphaRig.yaml("SELECT * FROM docs WHERE \(condition)", edition: 3)
        let config = SyncConfig.compile(yaml)
        let fatal = config.diagnostics.all.filter { $0.severity == .fatal }
        #expect(!fatal.isEmpty && fatal.allSatisfy { $0.name == .nestedSubquery })
    }

    @Test func notOfNotIsNothing() throws {
        let rig = try rig("NOT ('x' NOT IN (SELECT kind FROM flags WHERE owner = auth.user_id()))")
        let row: AlphaRig.Row = (
            table: "flags",
            columns: ["kind": ScalarValue(text: "x"), "owner": ScalarValue(text: "u")]
        )
        #expect(try rig.buckets([row]) == ["stream|0[]"])
        #expect(try rig.buckets(token: #"{"sub":"v"}"#, [row]).isEmpty)
    }

    /// A condition on the column `state`.
    private struct Random {
        static let all = ["a", "b", "c", "d"]

        let sql: String
        /// The states for which it holds.
        let states: Set<String>
        /// Whether it holds in ours exactly then; else at most then.
        let isExact: Bool

        static func condition(_ random: inout SeededRandom, depth: Int) -> Random {
            if depth == 0 || random.once(in: 3) { return membership(&random) }
            let one = condition(&random, depth: depth - 1)
            if random.once(in: 3) {
                let states = Set(all).subtracting(one.states)
                return Random(sql: "NOT (\(one.sql))", states: states, isExact: one.isExact)
            }
            let other = condition(&random, depth: depth - 1)
            let isExact = one.isExact && other.isExact
            if random.once(in: 2) {
                let states = one.states.intersection(other.states)
                return Random(sql: "(\(one.sql) AND \(other.sql))", states: states, isExact: isExact)
            }
            let states = one.states.union(other.states)
            return Random(sql: "(\(one.sql) OR \(other.sql))", states: states, isExact: isExact)
        }

        /// An IN of a random list, alone or within a value.
        private static func membership(_ random: inout SeededRandom) -> Random {
            let chosen = all.filter { _ in random.once(in: 2) }
            let list = "'[\(chosen.map { JSON.quoted($0) }.joined(separator: ","))]'"
            let (states, others) = (Set(chosen), Set(all).subtracting(chosen))
            switch random.below(6) {
            case 0: return Random(sql: "state IN \(list)", states: states, isExact: true)
            case 1: return Random(sql: "state NOT IN \(list)", states: others, isExact: true)
            case 2: return Random(sql: "(state IN \(list)) = 1", states: states, isExact: false)
            case 3: return Random(sql: "(state IN \(list)) = 0", states: others, isExact: false)
            case 4: return Random(sql: "(state IN \(list)) IS NOT TRUE", states: others, isExact: false)
            default:
                let sql = "CASE WHEN state IN \(list) THEN 0 ELSE 1 END"
                return Random(sql: sql, states: others, isExact: false)
            }
        }
    }

    @Test func randomConditionsKeepNothingElse() async throws {
        var (visible, hidden) = (0, 0)
        try await forEachSeed(300) { random in
            let condition = Random.condition(&random, depth: 3)
            let rig = try self.rig(condition.sql)
            for state in Random.all {
                let isVisible = try !rig.places("docs", row(state)).isEmpty
                if isVisible { visible += 1 } else { hidden += 1 }
                let isMeant = condition.states.contains(state)
                #expect(isMeant || !isVisible, "\(state): \(condition.sql)")
                if condition.isExact { #expect(isVisible == isMeant, "\(state): \(condition.sql)") }
            }
        }
        // Seeds of the environment are few.
        guard TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 else { return }
        #expect(visible > 100 && hidden > 100)
    }
}
