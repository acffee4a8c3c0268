import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// A stream of edition 2 or 3 that is called `stream`, and what rows and requests come to.
struct AlphaRig {
    /// A row with its table.
    typealias Row = (table: String, columns: [String: ScalarValue])

    /// What the configuration means.
    let plan: SyncPlan
    private let evaluator: ExpressionRun

    /// Compiles a query without errors.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - settings: Further lines of the stream, such as `priority: 1`.
    ///   - edition: The edition.
    /// - Throws: What ends a test where there is no plan.
    init(_ query: String, _ settings: String..., edition: Int = 2) throws {
        let config = SyncConfig.compile(Self.yaml(query, settings, edition: edition))
        plan = try #require(config.plan, "\(config.diagnostics.all.map(\.message))")
        evaluator = ExpressionRun(options: plan.options)
    }

    /// A configuration with one stream.
    static func yaml(_ query: String, _ settings: [String] = [], edition: Int = 2) -> String {
        let lines = (settings + ["query: \(JSON.quoted(query))"]).map { "    \($0)\n" }.joined()
        return "config: {edition: \(edition)}\nstreams:\n  stream:\n\(lines)"
    }

    /// The names of the buckets that a row comes into, in order.
    func places(_ table: String, _ columns: [String: ScalarValue]) throws -> [String] {
        var names: [String] = []
        for source in plan.sources {
            for processor in source.processors where processor.table.name == .exact(ExactText(table)) {
                let listsNull = processor.form.contains(.listsNull)
                for row in try walks(columns, processor.expansions, processor.filters) {
                    let values = try processor.keys.map { try evaluator.value(of: $0, in: row) }
                    let texts = values.compactMap { BucketSpelling.text($0, listsNull: listsNull) }
                    guard texts.count == values.count else { continue }
                    names.append(BucketSpelling.name(source: source.name, values: texts).text)
                }
            }
        }
        return names
    }

    /// The rows of the lookups by their keys.
    func lookups(_ rows: [Row]) throws -> [LookupRead: [[ScalarValue]]] {
        var found: [LookupRead: [[ScalarValue]]] = [:]
        for (index, lookup) in plan.lookups.enumerated() {
            for row in rows where lookup.table.name == .exact(ExactText(row.table)) {
                for walk in try walks(row.columns, lookup.expansions, lookup.filters) {
                    let key = try lookup.keys.compactMap { try evaluator.value(of: $0, in: walk).keyValue }
                    guard key.count == lookup.keys.count else { continue }
                    let outputs = try lookup.outputs.map { try evaluator.value(of: $0, in: walk) }
                    found[LookupRead(lookup: index, key: key), default: []].append(outputs)
                }
            }
        }
        return found
    }

    /// The names of the buckets that a subscription has, in order.
    func buckets(
        token: String = #"{"sub":"u"}"#, subscription: String? = nil, _ rows: [Row] = []
    ) throws -> [String] {
        let parameters = try subscription.map { try JSON.parse($0) }
        var rig = try RequestRig(
            plan, token: token,
            subscriptions: [StreamSubscription(stream: "stream", parameters: parameters)])
        rig.rows = try lookups(rows)
        return try rig.resolve().buckets.map(\.name.text)
    }

    /// A row with each combination of the elements of its arrays for which the filters hold.
    private func walks(
        _ columns: [String: ScalarValue], _ expansions: [Expression], _ filters: [Expression]
    ) throws -> [Walk] {
        var walks = [Walk(columns: columns)]
        for depth in 0...expansions.count {
            if depth > 0 {
                var longer: [Walk] = []
                for walk in walks {
                    let list = try evaluator.value(of: expansions[depth - 1], in: walk)
                    let elements = try JSONElements(options: plan.options).elements(of: list)
                    longer += elements.map { walk.with($0) }
                }
                walks = longer
            }
            for filter in filters where Walk.depth(of: filter) == depth {
                walks = try walks.filter { try evaluator.holds(filter, in: $0) }
            }
        }
        return walks
    }
}

/// A row with the elements of its arrays that are being looked at.
private struct Walk: ExpressionInputs {
    let columns: [String: ScalarValue]
    private var elements: [JSONElements.Element] = []

    init(columns: [String: ScalarValue]) { self.columns = columns }

    /// How many elements an expression needs.
    static func depth(of expression: Expression) -> Int {
        expression.inputs.members.reduce(0) { depth, input in
            if case .element(let number) = input { max(depth, number + 1) } else { depth }
        }
    }

    func with(_ element: JSONElements.Element) -> Walk {
        var longer = self
        longer.elements.append(element)
        return longer
    }

    func column(_ input: Input, _ name: ExactText) -> ScalarValue { columns[name.text] ?? .null }

    func element(_ input: Input, _ part: ElementPart) -> ScalarValue {
        guard case .element(let number) = input, elements.indices.contains(number) else { return .null }
        return part == .key ? elements[number].key : elements[number].value
    }

    func parameter(_ parameter: RequestParameter) -> ScalarValue { .null }
    func request(_ source: RequestParameter.Source) -> ScalarValue { .null }
    func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
}
