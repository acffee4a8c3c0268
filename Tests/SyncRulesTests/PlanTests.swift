import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// What a plan is made of, as values.
struct PlanTests {
    private func pattern(_ tag: String, _ schema: String, _ name: String) -> TablePattern {
        TablePattern(
            tag: NamePart(ExactText(tag)), schema: NamePart(ExactText(schema)),
            name: NamePart(ExactText(name)))
    }

    @Test func aPercentSignAtTheEndIsAPrefix() {
        let assets = NamePart(ExactText("assets_%"))
        #expect(assets.isWildcard && assets.suffix(of: ExactText("assets_é")) == ExactText("é"))
        #expect(assets.suffix(of: ExactText("assets_")) == ExactText(""))
        #expect(assets.suffix(of: ExactText("asset")) == nil)
        let exact = NamePart(ExactText("a%b"))
        #expect(!exact.isWildcard && exact.suffix(of: ExactText("a%b")) == ExactText(""))
        #expect(exact.suffix(of: ExactText("a%bc")) == nil)
        #expect(NamePart(ExactText("%")).suffix(of: ExactText("x")) == ExactText("x"))
        let table = pattern("default", "tenant_%", "t")
        #expect(table.matches(tag: ExactText("default"), schema: ExactText("tenant_1"), name: ExactText("t")))
        #expect(!table.matches(tag: ExactText("default"), schema: ExactText("public"), name: ExactText("t")))
        #expect(!table.matches(tag: ExactText("other"), schema: ExactText("tenant_1"), name: ExactText("t")))
    }

    /// Catalogs are no tables of a wildcard, nor what somebody has made beside them; who names one whole means it.
    @Test func noWildcardMeansTablesOfPostgres() {
        func means(_ schema: String, _ name: String, _ found: String) -> Bool {
            pattern("default", schema, name).matches(
                tag: ExactText("default"), schema: ExactText(found), name: ExactText("t"))
        }
        for found in ["pg_catalog", "pg_x", "information_schema"] {
            #expect(!means("%", "t", found) && !means("%", "%", found) && !means(found, "%", found))
            #expect(means(found, "t", found))
        }
        for found in ["pg", "public", "information_schemas"] {
            #expect(means("%", "t", found) && means(found, "%", found) && means(found, "t", found))
        }
    }

    @Test func inputsAreThoseOfAllParts() {
        let column = Expression.column(.row(0), ExactText("a"))
        let element = Expression.element(.element(1), .value)
        let parameter = Expression.parameter(.userID)
        let choice = Expression.choice(
            base: column, [Expression.Branch(when: .literal(.null), then: parameter)], otherwise: element)
        #expect(Expression.literal(.null).inputs.isEmpty)
        #expect(column.inputs.only == .row(0))
        #expect(choice.inputs == [.row(0), .request, .element(1)])
        #expect(choice.inputs.only == nil && choice.children.count == 4)
        #expect(Expression.table(.suffix, .row(3)).inputs == [.row(3)])
        #expect(Expression.request(.auth).inputs.contains(.request))
        #expect(Expression.oneOf(column, [parameter]).inputs.isSubset(of: [.row(0), .request]))
    }

    @Test(arguments: [
        ("org", ["org"]), ("a.b", ["a.b"]), ("$.a.b", ["a", "b"]), ("$", [String]()),
        ("$[0]", [String]()), ("$..a", ["", "a"]),
    ])
    func parametersAreOneKeyOrAPath(_ argument: String, _ path: [String]) {
        let parameter = RequestParameter(.connection, argument: argument)
        #expect(parameter.path == path.map { ExactText($0) })
    }

    @Test func aQuerierWithALookupIsNotStatic() {
        let elements = Stage.elements(.request(.auth), filters: [])
        #expect(Querier(source: 0, stages: [elements]).isStatic)
        #expect(!Querier(source: 0, stages: [elements, .lookup(0, keys: [], filters: [])]).isStatic)
    }

    @Test func editionsHaveTheirOptions() {
        let old = CompatibilityOptions(edition: 1)
        #expect(!old.timestampsISO8601 && !old.fixedJSONExtract && !old.customPostgresTypes)
        let new = CompatibilityOptions(edition: 2)
        #expect(new.timestampsISO8601 && new.fixedJSONExtract && new.customPostgresTypes)
        #expect(new.versionedBucketIDs && new.engine == .standard && new.fractionDigits == nil)
        #expect(OutputForm.edition(3).isEmpty && OutputForm.edition(2).contains(.aliasWins))
    }

    @Test func limitsOfNamesGrowWithThoseOfBuckets() {
        #expect(RequestLimits().nameBytes == 1 << 20)
        #expect(RequestLimits(buckets: 5000).nameBytes == 5000 << 10)
        #expect(RequestLimits(nameBytes: 7).nameBytes == 7)
    }
}
