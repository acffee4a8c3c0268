import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Random queries, as plans and as what they mean: a row is visible exactly if there are rows of all other tables with
/// which the condition holds (service 6.9).
struct PlanMeaningTests {
    private typealias Row = [String: ScalarValue]

    /// More than a condition can read.
    private static let arrays = 60

    /// Rows of three tables and a request.
    private struct World {
        var tables: [String: [Row]] = [:]
        var request: Row = [:]

        init(_ random: inout SeededRandom) {
            for table in ["a", "b", "c"] {
                tables[table] = (0..<random.below(2) + 1).map { _ in World.row(&random) }
            }
            request = World.row(&random)
        }

        private static func row(_ random: inout SeededRandom) -> Row {
            var row: Row = [:]
            for name in ["x", "y", "z"] { row[name] = scalar(&random) }
            for number in 0..<PlanMeaningTests.arrays {
                let values = (0..<random.below(4)).map { _ in random.pick(["u", "v", "w"]) }
                row["l\(number)"] = ScalarValue(text: values.joined(separator: ","))
            }
            return row
        }

        private static func scalar(_ random: inout SeededRandom) -> ScalarValue {
            random.once(in: 5) ? .null : ScalarValue(text: random.pick(["u", "v", "w"]))
        }
    }

    /// A random condition on rows of `a`, `b` and `c`.
    private struct Generator {
        let query = QueryBuilder("a")
        let rows: [Input]
        private var arrays = 0

        init() { rows = [query.primary, query.row("b"), query.row("c")] }

        mutating func condition(_ random: inout SeededRandom, depth: Int) -> Condition {
            guard depth > 0, !random.once(in: 3) else { return atom(&random) }
            let all = (0..<random.below(3) + 1).map { _ in condition(&random, depth: depth - 1) }
            return random.once(in: 2) ? .and(all) : .or(all)
        }

        private func scalar(_ random: inout SeededRandom, of row: Input? = nil) -> Located {
            query.column(row ?? random.pick(rows), random.pick(["x", "y", "z"]))
        }

        private func asked(_ random: inout SeededRandom) -> Located {
            query.call(.auth, random.pick(["x", "y", "z"]))
        }

        /// An array that no other part of the query reads: two of one would be one key.
        private mutating func array(_ random: inout SeededRandom, isOfRow: Bool) -> Located {
            arrays += 1
            let name = "l\(arrays - 1)"
            return query.element(isOfRow ? query.column(random.pick(rows), name) : query.call(.auth, name))
        }

        private mutating func atom(_ random: inout SeededRandom) -> Condition {
            switch random.below(9) {
            case 0:
                let filter = query.equal(scalar(&random), query.constant("u"))
                return random.once(in: 2) ? filter : .not(filter)
            case 1:
                let column = scalar(&random)
                let isNull = Located(
                    .isNull(column.expression), at: column.site, references: column.references)
                return random.once(in: 2) ? .value(isNull) : .not(.value(isNull))
            case 2: return query.equal(scalar(&random), asked(&random))
            case 3, 4: return query.equal(scalar(&random), scalar(&random))
            case 5: return query.equal(asked(&random), query.constant("u"))
            case 6:
                let value = random.once(in: 2) ? query.constant("u") : asked(&random)
                return query.equal(value, array(&random, isOfRow: true))
            case 7: return query.equal(scalar(&random), array(&random, isOfRow: false))
            default:
                let own = array(&random, isOfRow: true)
                return query.equal(own, array(&random, isOfRow: false))
            }
        }
    }

    // MARK: - What a query means

    private func elements(_ array: ScalarValue) -> [ScalarValue] {
        guard case .text(let text) = array else { return [] }
        return text.text.split(separator: ",").map { ScalarValue(text: String($0)) }
    }

    private func value(_ expression: Expression, _ leaf: (Expression) -> ScalarValue) -> ScalarValue {
        switch expression {
        case .literal(let literal): return literal
        case .comparison(.equal, let left, let right):
            let (one, other) = (value(left, leaf), value(right, leaf))
            return one.isNull || other.isNull ? .null : ScalarValue(one == other)
        case .isNull(let inner): return ScalarValue(value(inner, leaf).isNull)
        case .not(let inner): return ScalarValue(!holds(inner, leaf))
        case .and(let all): return ScalarValue(all.allSatisfy { holds($0, leaf) })
        case .or(let all): return ScalarValue(all.contains { holds($0, leaf) })
        default: return leaf(expression)
        }
    }

    private func holds(_ expression: Expression, _ leaf: (Expression) -> ScalarValue) -> Bool {
        value(expression, leaf) == .integer(1)
    }

    private func holds(
        _ condition: Condition, in query: ResolvedQuery, _ leaf: (Expression) -> ScalarValue
    ) -> Bool {
        switch condition {
        case .and(let all): return all.allSatisfy { holds($0, in: query, leaf) }
        case .or(let all): return all.contains { holds($0, in: query, leaf) }
        case .not(let inner): return !holds(inner, in: query, leaf)
        case .value(let located): return holds(located.expression, leaf)
        case .equal(let left, let right, _):
            let others = values(right, in: query, leaf)
            return values(left, in: query, leaf).contains { !$0.isNull && others.contains($0) }
        }
    }

    private func values(
        _ located: Located, in query: ResolvedQuery, _ leaf: (Expression) -> ScalarValue
    ) -> [ScalarValue] {
        guard case .element(let input, _) = located.expression,
            case .elements(let array) = query.source(input)?.content
        else { return [value(located.expression, leaf)] }
        return elements(value(array.expression, leaf))
    }

    private func isVisible(_ row: Row, _ query: ResolvedQuery, _ world: World) -> Bool {
        for b in world.tables["b"] ?? [] {
            for c in world.tables["c"] ?? [] {
                let rows = [row, b, c]
                let isMet = holds(query.condition, in: query) { leaf in
                    switch leaf {
                    case .column(.row(let number), let name): rows[number][name.text] ?? .null
                    case .parameter(let parameter): world.request[parameter.path[0].text] ?? .null
                    default: .null
                    }
                }
                if isMet { return true }
            }
        }
        return false
    }

    // MARK: - What a plan makes of it

    /// What is made of a row, once for each element of its arrays for which the filters hold.
    private func results(
        of row: Row, expansions: [Expression], filters: [Expression], _ wanted: [Expression]
    ) -> [[ScalarValue]] {
        var walks: [[ScalarValue]] = [[]]
        func leaf(_ walk: [ScalarValue]) -> (Expression) -> ScalarValue {
            { part in
                switch part {
                case .column(.row(0), let name): row[name.text] ?? .null
                case .element(.element(let number), .value): walk[number]
                default: .null
                }
            }
        }
        for array in expansions {
            walks = walks.flatMap { walk in elements(value(array, leaf(walk))).map { walk + [$0] } }
        }
        return walks.filter { walk in filters.allSatisfy { holds($0, leaf(walk)) } }
            .map { walk in wanted.map { value($0, leaf(walk)) } }
    }

    /// The one value that all expressions have; nil if there is none.
    private func agreed(_ values: [Expression], _ leaf: (Expression) -> ScalarValue) -> ScalarValue? {
        let all = values.map { value($0, leaf) }
        guard let first = all.first, !first.isNull, all.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    private func keys(_ keys: [[Expression]], _ leaf: (Expression) -> ScalarValue) -> [ScalarValue]? {
        let values = keys.compactMap { agreed($0, leaf) }
        return values.count == keys.count ? values : nil
    }

    private func buckets(of querier: Querier, _ plan: SyncPlan, _ world: World) -> Set<[ScalarValue]> {
        func leaf(_ tuple: [[ScalarValue]]) -> (Expression) -> ScalarValue {
            { part in
                switch part {
                case .parameter(let parameter): world.request[parameter.path[0].text] ?? .null
                case .column(.row(let stage), let name): Int(name.text).map { tuple[stage][$0] } ?? .null
                case .element(.element(let stage), .value): tuple[stage][0]
                default: .null
                }
            }
        }
        guard querier.gates.allSatisfy({ holds($0, leaf([])) }) else { return [] }
        var tuples: [[[ScalarValue]]] = [[]]
        for stage in querier.stages {
            switch stage {
            case .elements(let array, let filters):
                tuples = tuples.flatMap { tuple in
                    elements(value(array, leaf(tuple))).map { tuple + [[$0]] }
                }
                .filter { tuple in filters.allSatisfy { holds($0, leaf(tuple)) } }
            case .lookup(let number, let asked, _):
                let lookup = plan.lookups[number]
                let rows = found(lookup, world)
                tuples = tuples.flatMap { tuple -> [[[ScalarValue]]] in
                    guard let wanted = keys(asked, leaf(tuple)) else { return [] }
                    return rows.filter { Array($0.prefix(wanted.count)) == wanted }
                        .map { tuple + [Array($0.dropFirst(wanted.count))] }
                }
            }
        }
        return Set(tuples.compactMap { keys(querier.keys, leaf($0)) })
    }

    /// Keys and outputs of all rows of a lookup.
    private func found(_ lookup: LookupDefinition, _ world: World) -> [[ScalarValue]] {
        guard case .exact(let name) = lookup.table.name else { return [] }
        return (world.tables[name.text] ?? []).flatMap {
            results(
                of: $0, expansions: lookup.expansions, filters: lookup.filters, lookup.keys + lookup.outputs)
        }
    }

    private func isReached(_ row: Row, _ plan: SyncPlan, _ world: World) -> Bool {
        plan.streams.flatMap(\.queriers).contains { querier in
            let names = buckets(of: querier, plan, world)
            return plan.sources[querier.source].processors.contains { processor in
                results(
                    of: row, expansions: processor.expansions, filters: processor.filters, processor.keys
                ).contains { names.contains($0) }
            }
        }
    }

    @Test(.namesSeed) func plansReachTheRowsThatQueriesMean() async throws {
        var diagnostics = DiagnosticList()
        let document = try #require(
            DocumentReader.read(
                SourceText("config: {edition: 3}\nstreams: {s: {query: SELECT 1}}"), &diagnostics))
        let stream = try #require(document.streams.first)
        var compiled = 0
        var visible = 0
        try await forEachSeed(1_500) { random in
            var generator = Generator()
            let condition = generator.condition(&random, depth: 3)
            let query = generator.query.query(condition)
            var diagnostics = DiagnosticList()
            var calls = UnauthenticatedParameters()
            let variants = QueryNormalizer.variants(of: query, &calls, &diagnostics)
            var linker = PlanLinker()
            linker.add(stream, variants: variants, &diagnostics)
            guard !diagnostics.isFatal else { return }
            compiled += 1
            let plan = linker.plan(of: document)
            for _ in 0..<3 {
                let world = World(&random)
                for row in world.tables["a"] ?? [] {
                    let isMeant = isVisible(row, query, world)
                    if isMeant { visible += 1 }
                    #expect(isReached(row, plan, world) == isMeant, "\(condition)")
                }
            }
        }
        // Most queries can be compiled, and both answers are frequent; a single seed says nothing of that.
        if TestOptions.number("POWERSYNC_SEED", standard: -1) < 0 {
            #expect(compiled > 500 && visible > compiled / 4)
        }
    }
}
