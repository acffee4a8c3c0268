import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// What streams and variants share (service 5, 6.9.6, 6.9.7); the numbers are those of service 9.5.
struct PlanLinkerTests {
    /// The YAML alone, of streams with these names.
    private func document(_ names: [String]) throws -> SyncDocument {
        let streams = names.map { "  \($0): {query: SELECT 1, priority: 1, auto_subscribe: true}\n" }.joined()
        var diagnostics = DiagnosticList()
        return try #require(
            DocumentReader.read(SourceText("config: {edition: 3}\nstreams:\n" + streams), &diagnostics))
    }

    private func linked(
        _ streams: [[Variant]], isMerging: Bool = true
    ) throws -> (plan: SyncPlan, diagnostics: DiagnosticList) {
        let document = try document(streams.indices.map { "s\($0)" })
        var linker = PlanLinker()
        var diagnostics = DiagnosticList()
        for (stream, variants) in zip(document.streams, streams) {
            linker.add(stream, variants: variants, isMerging: isMerging, &diagnostics)
        }
        return (linker.plan(of: document), diagnostics)
    }

    /// The variants of a query on a table.
    private func variants(_ table: String, _ condition: (QueryBuilder) -> Condition) -> [Variant] {
        let query = QueryBuilder(table)
        return query.variants(condition(query)).variants
    }

    private func all(_ table: String) -> [Variant] { variants(table) { _ in .and([]) } }

    private func owned(_ table: String, by column: String = "owner") -> [Variant] {
        variants(table) { $0.equal($0.column(column), $0.user) }
    }

    /// `column IN (SELECT c FROM members WHERE u = user)`.
    private func selected(_ table: String, _ column: String) -> [Variant] {
        variants(table) { query in
            let inner = query.row("members")
            return .and([
                query.equal(query.column(column), query.column(inner, "c")),
                query.equal(query.column(inner, "u"), query.user),
            ])
        }
    }

    private func names(_ plan: SyncPlan) -> [String] { plan.sources.map(\.name.text) }

    @Test func variantsThatRequestsFindInOneWayAreOneBucket() throws {
        // T4, T46; service 5
        let same = try linked([all("users") + all("comments") + owned("lists")]).plan
        #expect(names(same) == ["s0|0", "s0|2"])
        let types = ["users", "comments"].map { RowProcessor.OutputType.named(ExactText($0)) }
        #expect(same.sources[0].processors.map(\.type) == types)
        let queriers = [Querier(source: 0), Querier(source: 1, keys: [[PlanParts.user]])]
        #expect(same.streams[0].queriers == queriers)
        let owners = variants("projects") { query in
            .or(["owner", "assignee", "reviewer"].map { query.equal(query.column($0), query.user) })
        }
        let one = try linked([owners]).plan
        #expect(names(one) == ["s0|0"] && one.sources[0].processors.count == 3)
        #expect(one.streams[0].queriers.count == 1)
    }

    @Test func aProcessorWrittenTwiceCountsOnce() throws {
        let plan = try linked([owned("lists") + owned("lists"), owned("lists")]).plan
        #expect(names(plan) == ["s0|0"] && plan.sources[0].processors.count == 1)
        #expect(plan.streams.map { $0.queriers.map(\.source) } == [[0], [0]])
    }

    @Test func streamsWithTheSameRowsShareThem() throws {
        // T27, T29
        let plan = try linked([owned("profiles", by: "user"), selected("profiles", "user")]).plan
        #expect(names(plan) == ["s0|0"] && plan.streams.map { $0.queriers.map(\.source) } == [[0], [0]])
        let both = try linked([owned("profiles", by: "user") + selected("profiles", "user")]).plan
        #expect(names(both) == ["s0|0"] && both.streams[0].queriers.count == 2)
        // T28: one of them has more
        let other = try linked([all("products"), all("stores") + all("products")]).plan
        #expect(names(other) == ["s0|0", "s1|0"])
        // The order of processors is none, and that of filters neither.
        let turned = try linked([all("stores") + all("products"), all("products") + all("stores")]).plan
        #expect(names(turned) == ["s0|0"])
        let filters = try linked([
            variants("a") { .and([$0.isText($0.primary, "x", "1"), $0.isText($0.primary, "y", "2")]) },
            variants("a") { .and([$0.isText($0.primary, "y", "2"), $0.isText($0.primary, "x", "1")]) },
            variants("a") { $0.isText($0.primary, "x", "1") },
        ]).plan
        #expect(names(filters) == ["s0|0", "s2|0"])
    }

    @Test func lookupsAreSharedAndNamedByTheirFirstUse() throws {
        // T47
        let plan = try linked([
            selected("projects", "org") + selected("tasks", "org"), selected("lists", "id"),
            variants("x") { query in
                let inner = query.row("members")
                return query.equal(query.column("id"), query.column(inner, "c"))
            },
        ]).plan
        #expect(plan.lookups.map(\.name.text) == ["lookup|0", "lookup|1"])
        #expect(plan.lookups[0].keys == [PlanParts.column("u")] && plan.lookups[1].keys.isEmpty)
        #expect(names(plan) == ["s0|0", "s1|0", "s2|0"] && plan.sources[0].processors.count == 2)
        let stage = Stage.lookup(0, keys: [[PlanParts.user]], filters: [])
        let querier = Querier(source: 1, stages: [stage], keys: [[PlanParts.output(0, 0)]])
        #expect(plan.streams[1].queriers == [querier])
    }

    @Test func whatMustAgreeHasNoOrder() throws {
        let user = variants("a") {
            .and([$0.equal($0.column("x"), $0.user), $0.equal($0.column("x"), $0.call(.auth, "o"))])
        }
        let turned = variants("b") {
            .and([$0.equal($0.column("x"), $0.call(.auth, "o")), $0.equal($0.column("x"), $0.user)])
        }
        let plan = try linked([user + turned]).plan
        #expect(names(plan) == ["s0|0"] && plan.sources[0].processors.count == 2)
    }

    @Test func withoutMergingNoRowsAreShared() throws {
        // S10
        let plan = try linked([owned("a") + owned("b") + owned("a"), owned("a")], isMerging: false).plan
        #expect(names(plan) == ["s0|0", "s0|1", "s0|2", "s1|0"])
        #expect(plan.streams.map { $0.queriers.map(\.source) } == [[0, 1, 2], [3]])
    }

    @Test func tooManyVariantsAreTold() throws {
        // T33
        let many = (0..<128).flatMap { number in
            variants("t") { $0.equal($0.column("c"), $0.call(.auth, "k\(number)")) }
        }
        let (plan, diagnostics) = try linked([owned("a"), many])
        let nameRange = try document(["s0", "s1"]).streams[1].nameRange
        #expect(diagnostics.all.map(\.name) == [.tooManyBucketsDefined])
        #expect(diagnostics.all.first?.range == nameRange)
        #expect(diagnostics.all.first?.message.contains("(128, at most 100 are allowed)") == true)
        #expect(plan.streams.count == 1)
        #expect(try linked([Array(many.prefix(100))]).diagnostics.all.isEmpty)
        // Counted after merging.
        let merged = (0..<128).flatMap { number in owned("t", by: "c\(number)") }
        #expect(try linked([merged]).diagnostics.all.isEmpty)
    }

    @Test func streamsKeepWhatTheConfigurationSays() throws {
        let plan = try linked([owned("a")]).plan
        #expect(plan.edition == 3 && plan.lookups.isEmpty && plan.events.isEmpty)
        let stream = try #require(plan.streams.first)
        #expect(stream.name.text == "s0" && stream.isDefault && stream.priority == 1 && !stream.isLegacy)
    }

    /// Without `fixed_json_extract` a claim that is null is the text `null` of `->>`, and nothing of `parameter`.
    @Test(arguments: [(true, ["s|0"]), (false, ["s|0", "s|1"])])
    func spellingsOfAValueAreOneWhereTheyMeanTheSame(_ isFixed: Bool, _ expected: [String]) throws {
        let yaml =
            "config: {edition: 3, fixed_json_extract: \(isFixed)}\nstreams:\n  s:\n    queries:\n"
            + "      - SELECT * FROM a WHERE owner = auth.parameters() ->> 'x'\n"
            + "      - SELECT * FROM b WHERE owner = auth.parameter('x')\n"
        let plan = try #require(SyncConfig.compile(yaml).plan)
        #expect(names(plan) == expected)
    }
}
