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
                let walk = Walk(columns: columns)
                for row in try evaluator.combinations(of: walk, processor.expansions, processor.filters) {
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
                let walk = Walk(columns: row.columns)
                for walk in try evaluator.combinations(of: walk, lookup.expansions, lookup.filters) {
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
}

/// A row with the elements of its arrays that are being looked at.
private struct Walk: RowInputs {
    let columns: [String: ScalarValue]
    var elements: [JSONElements.Element] = []

    func column(_ input: Input, _ name: ExactText) -> ScalarValue { columns[name.text] ?? .null }

    func table(_ fact: TableFact, _ input: Input) -> ScalarValue { .null }
}
