import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// Which terms a condition has, and in which order they are numbered (service 5, 6.9.1).
///
/// The orders are those of the recordings that stand beside them, by their numbers in `configurations`.
struct TermOrderTests {
    private let query = QueryBuilder("docs")

    /// What a term asks, in short: the columns of its keys, and behind a colon how many filters it has.
    private func shapes(_ condition: Condition) -> [String] {
        query.variants(condition).variants.map { variant in
            let keys = variant.processor.keys.map { key in
                if case .column(_, let name) = key { name.text } else { "*" }
            }
            return keys.joined(separator: ",") + ":\(variant.processor.filters.count)"
        }
    }

    private func match(_ column: String) -> Condition { query.equal(query.column(column), query.user) }

    private func filter(_ column: String) -> Condition { query.isText(query.primary, column, "x") }

    private var gate: Condition { query.equal(query.user, query.constant("u1")) }

    /// `column IN (SELECT c FROM table WHERE u = user)`.
    private func selected(_ column: String, where isAsked: Bool = true) -> Condition {
        let inner = query.row("members")
        let match = query.equal(query.column(column), query.column(inner, "c"))
        return isAsked ? .and([match, query.equal(query.column(inner, "u"), query.user)]) : match
    }

    @Test func severalFactorsComeBeforeOneAndFiltersComeLast() {
        // service 5; 16, 605
        let all = Condition.or([match("owner"), selected("org"), selected("id")])
        #expect(shapes(all) == ["org:0", "id:0", "owner:0"])
        // T45; 190
        #expect(shapes(.or([filter("public"), match("owner")])) == ["owner:0", ":1"])
        #expect(shapes(.or([match("owner"), selected("org", where: false)])) == ["owner:0", "org:0"])
        // 625
        #expect(shapes(.or([filter("a"), .and([match("id"), match("a")])])) == ["id,a:0", ":1"])
        // 1239
        #expect(shapes(.or([gate, match("owner")])) == ["owner:0", ":0"])
    }

    @Test func anANDIsDistributedBeforeThatOrderIsMade() {
        // 125, 262
        #expect(shapes(.and([match("state"), .or([gate, match("rank")])])) == ["state:0", "state,rank:0"])
        // 499, 579
        #expect(
            shapes(.and([.or([filter("kind"), selected("pri")]), match("id")])) == ["id:1", "pri,id:0"])
        // 14: of the row alone is one term, so that one comes last.
        #expect(shapes(.and([.or([filter("lead"), match("name")]), filter("id")])) == ["name:1", ":2"])
        // 245
        let inner = Condition.or([.or([match("name"), filter("org")]), selected("id")])
        #expect(shapes(.and([filter("a"), inner])) == ["name:1", "id:1", ":2"])
        // 1137
        #expect(shapes(.and([gate, .or([gate, match("name")])])) == ["name:0", ":0"])
    }

    @Test func whatStandsFirstChangesLast() {
        // 730
        let all = Condition.and([
            .or([match("a"), match("b")]), match("m"), .or([match("y"), match("z")]),
        ])
        #expect(shapes(all) == ["y,m,a:0", "z,m,a:0", "y,m,b:0", "z,m,b:0"])
    }

    @Test func anORonOneThingIsNoMoreThanAFilter() {
        // 271
        #expect(shapes(.and([.or([filter("a"), filter("b")]), match("id")])) == ["id:1"])
        #expect(shapes(.or([filter("a"), .and([filter("b"), .not(filter("c"))])])) == [":1"])
        #expect(shapes(.or([gate, gate])) == [":0"])
        // Those of one thing are one branch, wherever they stand.
        let some = Condition.or([filter("a"), match("m"), filter("b")])
        #expect(shapes(.and([some, match("id")])) == ["id:1", "m,id:0"])
        #expect(shapes(.and([.or([filter("a"), .or([match("m"), filter("b")])]), match("id")])).count == 2)
    }

    @Test func anEqualityOfTwoColumnsIsABranchOfItsOwn() {
        // mistakes, 727
        let columns = query.equal(query.column("a"), query.column("b"))
        #expect(shapes(.and([.or([columns, filter("c")]), match("id")])) == ["id:1", "id:1"])
        #expect(shapes(columns) == [":1"])
    }

    @Test func rowsOfSeveralTablesAreSeveralThings() {
        let other = query.row("users")
        let link = query.equal(query.column("owner"), query.column(other, "id"))
        let either = Condition.or([filter("a"), query.isText(other, "role", "x")])
        #expect(shapes(.and([link, either])) == ["owner:1", "owner:0"])
    }

    @Test func branchesOnARowThatIsNotSyncedStayApart() {
        // 34, 920
        let other = query.row("users")
        let link = query.equal(query.column("owner"), query.column(other, "id"))
        let either = Condition.or([query.isText(other, "role", "x"), query.isText(other, "team", "y")])
        let variants = query.variants(.and([link, either])).variants
        let filters = variants.map { variant in
            variant.request.steps.map { step -> [Expression] in
                if case .lookup(let lookup, _) = step { lookup.filters } else { [] }
            }
        }
        #expect(filters == [[[PlanParts.isText("role", "x")]], [[PlanParts.isText("team", "y")]]])
        #expect(Set(variants.map(\.processor)).count == 1)
    }

    @Test func elementsOfAnArrayAreNotTheRow() throws {
        let named = query.equal(query.constant("x"), query.element(query.column("tags")))
        let either = query.variants(.or([named, filter("a")])).variants
        #expect(either.map(\.processor.expansions.count) == [1, 0])
        let both = try #require(query.variants(.and([named, filter("a")])).variants.first)
        #expect(both.processor.filters.count == 2 && both.processor.expansions == [PlanParts.column("tags")])
    }

    @Test func constantsAreAThingOfTheirOwn() {
        // expressions, 1469 and 412: they are asked of requests, so rows are in the buckets whatever they are.
        let constant = Condition.value(query.constant("0"))
        #expect(shapes(.or([constant, filter("a")])) == [":0", ":1"])
        let literal = Expression.literal(ScalarValue(text: "0"))
        #expect(query.variants(constant).variants.map(\.request.gates) == [[literal]])
    }

    @Test func negationsGoInwards() throws {
        let a = PlanParts.isText("a", "x")
        let b = PlanParts.isText("b", "x")
        func filters(_ condition: Condition) -> [[Expression]] {
            query.variants(condition).variants.map(\.processor.filters)
        }
        #expect(filters(.not(.not(filter("a")))) == [[a]])
        #expect(filters(.not(.or([filter("a"), filter("b")]))) == [[.not(a), .not(b)]])
        #expect(filters(.not(.and([filter("a"), filter("b")]))) == [[.or([.not(a), .not(b)])]])
        #expect(filters(.not(.and([filter("a"), .not(filter("b"))]))) == [[.or([.not(a), b])]])
        // NOT of an AND that has a match is an OR, whose branches with the match read two things.
        let told = query.variants(.not(.and([match("id"), filter("a")]))).diagnostics
        #expect(told.all.map(\.name) == [.mixesRowRequest])
        #expect(shapes(.not(.or([.not(match("id")), filter("a")]))) == ["id:1"])
    }

    @Test func noConditionIsOneTerm() {
        #expect(shapes(.and([])) == [":0"])
        #expect(shapes(.and([.and([]), .and([match("id")])])) == ["id:0"])
        #expect(shapes(.or([])).isEmpty)
    }

    @Test func tooManyTermsAreToldBeforeAnyIsMade() {
        // T33
        let pairs = (0..<60).map { Condition.or([match("a\($0)"), match("b\($0)")]) }
        let (variants, diagnostics) = query.variants(.and(pairs))
        #expect(variants.isEmpty && diagnostics.all.map(\.name) == [.tooManyTerms])
        #expect(diagnostics.all.first?.range == query.text.content)
        let hundred = Condition.and([
            .or((0..<10).map { match("a\($0)") }), .or((0..<10).map { match("b\($0)") }),
        ])
        #expect(query.variants(hundred).variants.count == 100)
        #expect(query.variants(.or([hundred, match("c")])).variants.isEmpty)
        // Those of one row count once.
        #expect(query.variants(.or((0..<300).map { filter("a\($0)") })).variants.count == 1)
    }

    @Test func aTermReadsSoManyThingsAndNoMore() {
        let query = QueryBuilder("docs")
        var all = (0..<63).map { query.equal(query.column("c\($0)"), query.column(query.row("t"), "c")) }
        #expect(query.variants(.and(all)).variants.first?.request.steps.count == 63)
        all.append(query.equal(query.column("d"), query.column(query.row("t"), "c")))
        let (variants, diagnostics) = query.variants(.and(all))
        #expect(variants.isEmpty && diagnostics.all.map(\.name) == [.tooLarge])
    }
}
