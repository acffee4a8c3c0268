import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// How terms become processors, lookups and stages (service 6.9.3 to 6.9.5); the numbers are those of service 9.5.
struct StageBuilderTests {
    private let query = QueryBuilder("a")

    private func variant(_ conditions: Condition...) throws -> Variant {
        let (variants, diagnostics) = query.variants(.and(conditions), acceptsDangerousQueries: true)
        #expect(diagnostics.all.isEmpty && variants.count == 1)
        return try #require(variants.first)
    }

    @Test func aMatchWithTheRequestIsAKey() throws {
        // T2
        let variant = try self.variant(query.equal(query.column("owner"), query.call(.subscription, "p")))
        #expect(variant.processor.keys == [PlanParts.column("owner")] && variant.processor.filters.isEmpty)
        #expect(variant.request == RequestSide(keys: [[PlanParts.call(.subscription, "p")]]))
        #expect(variant.processor.form == .edition(3) && variant.processor.outputs == [.allColumns])
    }

    @Test func aMatchWithARowIsALookup() throws {
        // T6, T12: two lookups, one behind the other
        let issues = query.row("issues")
        let users = query.row("users")
        let variant = try self.variant(
            query.equal(query.column("issue"), query.column(issues, "id")),
            query.equal(query.column(users, "name"), query.column(issues, "owned_by")),
            query.isText(issues, "state", "open"),
            query.equal(query.column(users, "id"), query.user))
        #expect(variant.processor.keys == [PlanParts.column("issue")])
        let first = PlanParts.lookup(
            "users", keys: [PlanParts.column("id")], outputs: [PlanParts.column("name")])
        let second = PlanParts.lookup(
            "issues", filters: [PlanParts.isText("state", "open")], keys: [PlanParts.column("owned_by")],
            outputs: [PlanParts.column("id")])
        let steps: [RequestSide.Step] = [
            .lookup(first, keys: [[PlanParts.user]]), .lookup(second, keys: [[PlanParts.output(0, 0)]]),
        ]
        #expect(variant.request == RequestSide(steps: steps, keys: [[PlanParts.output(1, 0)]]))
    }

    @Test func columnsOfOneRowStayTogether() throws {
        // T13
        let b = query.row("b")
        let variant = try self.variant(
            query.equal(query.column("c1"), query.column(b, "d1")),
            query.equal(query.column("c2"), query.column(b, "d2")),
            query.equal(query.column(b, "u"), query.user))
        #expect(variant.processor.keys == [PlanParts.column("c2"), PlanParts.column("c1")])
        let lookup = PlanParts.lookup(
            "b", keys: [PlanParts.column("u")], outputs: [PlanParts.column("d2"), PlanParts.column("d1")])
        #expect(
            variant.request
                == RequestSide(
                    steps: [.lookup(lookup, keys: [[PlanParts.user]])],
                    keys: [[PlanParts.output(0, 0)], [PlanParts.output(0, 1)]]))
    }

    @Test func severalMatchesOfOneKeyMustAgree() throws {
        // T14
        let b = query.row("b")
        let two = try self.variant(
            query.equal(query.column("c1"), query.column(b, "d1")),
            query.equal(query.column("c1"), query.column(b, "d2")))
        #expect(two.processor.keys.count == 1)
        #expect(two.request.keys == [[PlanParts.output(0, 0), PlanParts.output(0, 1)]])
        // The same value twice is one.
        let same = try self.variant(
            query.equal(query.column("c1"), query.user), query.equal(query.user, query.column("c1")))
        #expect(same.request == RequestSide(keys: [[PlanParts.user]]))
    }

    @Test func independentLookupsStandBesideEachOther() throws {
        // T15
        let b = query.row("b")
        let c = query.row("c")
        let variant = try self.variant(
            query.equal(query.column("x"), query.column(b, "x")),
            query.equal(query.column("y"), query.column(c, "y")),
            query.equal(query.column(b, "u"), query.user), query.equal(query.column(c, "u"), query.user))
        #expect(variant.request.steps.count == 2)
        #expect(variant.request.keys == [[PlanParts.output(0, 0)], [PlanParts.output(1, 0)]])
        #expect(variant.processor.keys == [PlanParts.column("y"), PlanParts.column("x")])
    }

    @Test func aCircleOfRowsHasEachOfItsMatchesOnce() throws {
        let b = query.row("b")
        let c = query.row("c")
        let variant = try self.variant(
            query.equal(query.column("x"), query.column(b, "x")),
            query.equal(query.column(b, "y"), query.column(c, "y")),
            query.equal(query.column(c, "z"), query.column(b, "z")),
            query.equal(query.column(c, "w"), query.column("w")))
        // The row to sync takes both of its matches; b takes both of those with c: c is found without a key.
        let steps = variant.request.steps
        #expect(steps.count == 2 && variant.request.keys.count == 2)
        guard case .lookup(let first, let none) = try #require(steps.first),
            case .lookup(let second, let keys) = try #require(steps.last)
        else {
            Issue.record("These are no lookups.")
            return
        }
        #expect(first.table == QueryBuilder.table("c") && none.isEmpty && first.keys.isEmpty)
        #expect(second.table == QueryBuilder.table("b") && second.keys.count == 2 && keys.count == 2)
    }

    @Test func elementsOfARowAreExpansionsOfIt() throws {
        // T7, T22: of the row to sync; T9: of a lookup's
        let tags = query.column("tags")
        let own = try self.variant(query.equal(query.element(tags), query.user))
        #expect(own.processor.expansions == [PlanParts.column("tags")])
        #expect(own.processor.keys == [PlanParts.element(0)])
        let b = query.row("b")
        let x = query.element(query.column(b, "x"))
        let y = query.element(query.column(b, "y"))
        let other = try self.variant(query.equal(query.column("x"), x), query.equal(y, query.user))
        let lookup = PlanParts.lookup(
            "b", expansions: [PlanParts.column("x"), PlanParts.column("y")], keys: [PlanParts.element(1)],
            outputs: [PlanParts.element(0)])
        #expect(
            other.request
                == RequestSide(
                    steps: [.lookup(lookup, keys: [[PlanParts.user]])], keys: [[PlanParts.output(0, 0)]]))
    }

    @Test func elementsOfElementsAreBehindThem() throws {
        let outer = query.element(query.column("rows"))
        let inner = query.element(outer)
        let variant = try self.variant(query.equal(inner, query.user))
        #expect(variant.processor.expansions == [PlanParts.column("rows"), PlanParts.element(0)])
        #expect(variant.processor.keys == [PlanParts.element(1)])
    }

    @Test func elementsOfOneArrayAreOneKey() throws {
        // configurations, 669: the array is walked twice all the same
        let users = query.row("users")
        let variant = try self.variant(
            query.equal(query.element(query.column("readers")), query.column(users, "id")),
            query.equal(query.column(users, "id"), query.user),
            query.equal(query.element(query.column("readers")), query.call(.auth, "other")))
        #expect(variant.processor.expansions == [PlanParts.column("readers"), PlanParts.column("readers")])
        #expect(variant.processor.keys == [PlanParts.element(0)])
        #expect(variant.request.keys == [[PlanParts.output(0, 0), PlanParts.call(.auth, "other")]])
    }

    @Test func elementsOfTheRequestAreAStep() throws {
        // T40, T8
        let list = query.call(.auth, "lists")
        let variant = try self.variant(query.equal(query.column("id"), query.element(list)))
        #expect(variant.processor.expansions.isEmpty)
        #expect(
            variant.request
                == RequestSide(
                    steps: [.elements(list.expression, filters: [])], keys: [[PlanParts.element(0)]]))
        // T18: one must be 'posts'; T30: with a filter of its own
        let posts = try self.variant(query.equal(query.constant("posts"), query.element(list)))
        let isPosts = Expression.comparison(
            .equal, .literal(ScalarValue(text: "posts")), PlanParts.element(0))
        #expect(posts.request == RequestSide(steps: [.elements(list.expression, filters: [isPosts])]))
        #expect(posts.processor.keys.isEmpty)
        let outer = query.element(list)
        let nested = try self.variant(query.equal(query.column("id"), query.element(outer)))
        #expect(
            nested.request.steps == [
                .elements(list.expression, filters: []), .elements(PlanParts.element(0), filters: []),
            ])
        #expect(nested.request.keys == [[PlanParts.element(1)]])
    }

    @Test func elementsOfConstantsAreThoseOfWhateverReadsThem() throws {
        // T20; expressions, 1451
        let list = Expression.literal(ScalarValue(text: "[1]"))
        let row = try self.variant(query.equal(query.column("flag"), query.element(query.constant("[1]"))))
        #expect(row.processor.expansions == [list] && row.request == RequestSide())
        let isFlag = Expression.comparison(.equal, PlanParts.column("flag"), PlanParts.element(0))
        #expect(row.processor.filters == [isFlag])
        let both = try self.variant(
            query.equal(query.element(query.column("j")), query.element(query.constant("[1]"))))
        #expect(both.processor.expansions == [PlanParts.column("j"), list] && both.processor.keys.isEmpty)
        let asked = try self.variant(query.equal(query.user, query.element(query.constant("[1]"))))
        let isUser = Expression.comparison(.equal, PlanParts.user, PlanParts.element(0))
        #expect(asked.request == RequestSide(steps: [.elements(list, filters: [isUser])]))
        #expect(asked.processor.expansions.isEmpty && asked.processor.filters.isEmpty)
        // In FROM it is a source of its own.
        let source = query.element(query.constant("[1]"), isInFrom: true)
        let found = try self.variant(query.equal(query.column("flag"), source))
        #expect(
            found.request
                == RequestSide(steps: [.elements(list, filters: [])], keys: [[PlanParts.element(0)]]))
    }

    @Test func whatNoValueNeedsMustBeThere() throws {
        // T11, T17
        let table = query.row("synced_table")
        let variant = try self.variant(
            query.equal(query.constant("posts"), query.column(table, "table_name")),
            query.equal(query.column(table, "user"), query.user), .value(query.call(.auth, "is_admin")))
        let lookup = PlanParts.lookup(
            "synced_table",
            filters: [
                .comparison(.equal, .literal(ScalarValue(text: "posts")), PlanParts.column("table_name"))
            ], keys: [PlanParts.column("user")])
        #expect(
            variant.request
                == RequestSide(
                    gates: [PlanParts.call(.auth, "is_admin")],
                    steps: [.lookup(lookup, keys: [[PlanParts.user]])]))
        #expect(variant.processor.keys.isEmpty)
        // A row that the term does not name need not be there.
        _ = query.row("unnamed")
        let without = try self.variant(query.equal(query.column("x"), query.user))
        #expect(without.request.steps.isEmpty)
    }

    @Test func whatIsKnownOfATableIsLikeAColumn() throws {
        // T24
        let schema = Located(
            .table(.schema, query.primary), at: query.place(),
            references: [Reference(query.primary, at: query.place())])
        let variant = try self.variant(query.equal(schema, query.user))
        #expect(variant.processor.keys == [.table(.schema, .row(0))])
    }

    @Test func outputsAreThoseOfTheRow() throws {
        let made = query.query(.and([]))
        let column = RowProcessor.Output.column(PlanParts.column("x"), name: ExactText("y"))
        let renamed = ResolvedQuery(
            site: made.site,
            sources: [
                ResolvedSource(
                    input: .row(7), content: .table(QueryBuilder.table("a")), name: ExactText("a"),
                    site: made.site)
            ], condition: .and([]), primary: .row(7), type: .table,
            outputs: [.allColumns, .column(.column(.row(7), ExactText("x")), name: ExactText("y"))])
        var diagnostics = DiagnosticList()
        var calls = UnauthenticatedParameters()
        let variant = try #require(QueryNormalizer.variants(of: renamed, &calls, &diagnostics).first)
        #expect(variant.processor.outputs == [.allColumns, column] && variant.processor.type == .table)
    }

    /// What is asked of one of two elements of an array is not asked of the other.
    @Test func elementsOfEqualArraysAreOneKeyUnlessMoreIsAskedOfOne() throws {
        let a = query.element(query.column("tags"), isInFrom: true)
        let b = query.element(query.column("tags"), isInFrom: true)
        let (isUser, isTag) = (query.equal(a, query.user), query.equal(query.call(.auth, "tag"), b))
        let one = try self.variant(isUser, isTag)
        #expect(one.processor.keys.count == 1 && one.request.keys.map(\.count) == [2])
        for element in [a, b] {
            let two = try self.variant(isUser, isTag, query.opaque(element, query.constant("m")))
            #expect(two.processor.keys.count == 2 && two.request.keys.map(\.count) == [1, 1])
        }
        let rig = try AlphaRig(
            "SELECT t.* FROM t, json_each(t.tags) AS a, json_each(t.tags) AS b WHERE a.value = auth.user_id() "
                + "AND b.value = auth.parameter('first') AND b.key = 0", edition: 3)
        let places = try Set(rig.places("t", ["tags": ScalarValue(text: #"["x","y"]"#)]))
        func sees(_ user: String, _ first: String) throws -> Bool {
            let token = #"{"sub":"\#(user)","first":"\#(first)"}"#
            let buckets = try rig.buckets(token: token)
            return !places.isDisjoint(with: buckets)
        }
        for user in ["x", "y"] { #expect(try sees(user, "x")) }
        for (user, first) in [("y", "y"), ("x", "y"), ("z", "x")] { #expect(try !sees(user, first)) }
    }
}
