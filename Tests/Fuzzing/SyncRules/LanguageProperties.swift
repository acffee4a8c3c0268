import PowerSyncSyncRules
import PowerSyncWire
import PowerSyncYAML

/// What must hold for every sync configuration.
enum LanguageProperties {
    private static let schema = SourceSchema(
        ["t", "docs", "users", "Tags"].map { name in
            let columns = ["id", "a", "b", "list", "owner", "team"].map {
                SourceSchema.Column(name: ExactText($0), type: .any)
            }
            return SourceSchema.Table(schema: ExactText("public"), name: ExactText(name), columns: columns)
        })

    static func check(_ text: String, _ tally: inout Tally) {
        let config = SyncConfig.compile(text)
        checkPlaces(of: config)
        checkScalars(of: config.text)
        requireSame(config.plan, SyncConfig.compile(text).plan)
        // A schema changes what is told, never the plan.
        let known = SyncConfig.compile(text, schema: schema)
        checkPlaces(of: known)
        requireSame(config.plan, known.plan)
        guard let plan = config.plan else {
            guard config.diagnostics.isFatal else { fatalError("no plan, and no error") }
            tally.count("sync configurations refused")
            return
        }
        guard !config.diagnostics.isFatal else { fatalError("a plan beside an error") }
        tally.count("sync configurations")
        for querier in plan.streams.flatMap(\.queriers) {
            guard plan.sources.indices.contains(querier.source) else {
                fatalError("a source that is not there")
            }
            for case .lookup(let lookup, _, _) in querier.stages {
                guard plan.lookups.indices.contains(lookup) else {
                    fatalError("a lookup that is not there")
                }
            }
        }
        _ = ClientSchema(of: plan, schema: schema)
        PlanProperties(plan).check(&tally)
    }

    private static func requireSame(_ one: SyncPlan?, _ other: SyncPlan?) {
        guard one != other else { return }
        // A constant that is no number is not equal to itself.
        guard "\(one as Any)" != "\(other as Any)" else { return }
        fatalError("a text means two things")
    }

    // MARK: - Messages

    private static func checkPlaces(of config: CompiledConfig) {
        for diagnostic in config.diagnostics.all {
            check(diagnostic.range, in: config.text)
            if case .text(let message, let range)? = diagnostic.recorded?.form {
                guard !message.isEmpty else { fatalError("no message: \(diagnostic)") }
                if let range { check(range, in: config.text, mayBeBeyond: true) }
            }
            guard !diagnostic.message.isEmpty else { fatalError("no message: \(diagnostic)") }
        }
        var last = 0
        for placed in PlacedDiagnostic.all(of: config) {
            guard placed.range.start >= last, placed.start.line >= 1, placed.start.column >= 1,
                (placed.start.line, placed.start.column) <= (placed.end.line, placed.end.column)
            else { fatalError("a message that is nowhere in the text: \(placed)") }
            last = placed.range.start
        }
    }

    /// The real service has places that are not in the text: bytes 0 to 10 of any, and offsets of another query.
    private static func check(_ range: TextRange, in text: SourceText, mayBeBeyond: Bool = false) {
        guard range.start >= 0, range.start <= range.end, mayBeBeyond || range.end <= text.bytes.count else {
            fatalError("a place that is not in the text: \(range)")
        }
        guard text.utf16(range.start) <= text.utf16(range.end) else { fatalError("units that go back") }
    }

    // MARK: - Scalars

    private static func checkScalars(of text: SourceText) {
        let document = YAMLDocument(String(decoding: text.bytes, as: UTF8.self))
        var left = 1_000
        if let root = document.root { checkScalars(root, of: text, &left) }
    }

    /// Walks no more than so many nodes: aliases stand for any number of them.
    private static func checkScalars(_ node: YAMLNode, of text: SourceText, _ left: inout Int) {
        left -= 1
        guard left > 0 else { return }
        switch node.kind {
        case .scalar(let value, _): check(ScalarMap(node, in: text.bytes), of: node, value)
        case .sequence(let elements):
            for element in elements { checkScalars(element, of: text, &left) }
        case .mapping(let pairs):
            for pair in pairs {
                checkScalars(pair.key, of: text, &left)
                checkScalars(pair.value, of: text, &left)
            }
        }
    }

    /// Each byte of the value was made of bytes of the scalar, in their order.
    private static func check(_ map: ScalarMap, of node: YAMLNode, _ value: String) {
        let count = value.utf8.count
        guard count == 0 || !map.runs.isEmpty else {
            fatalError("a scalar whose places are not known: \(node)")
        }
        var (end, place) = (0, node.start)
        for run in map.runs {
            guard run.value.lowerBound == end, run.text.lowerBound >= place, run.text.upperBound <= node.end
            else { fatalError("a scalar whose places are wrong: \(node)") }
            (end, place) = (run.value.upperBound, run.text.upperBound)
        }
        guard end == count else { fatalError("a scalar whose places are not all of it: \(node)") }
        guard count > 0 else { return }
        let whole = map.range(0..<count)
        guard whole.start >= node.start, whole.start < whole.end, whole.end <= node.end else {
            fatalError("a scalar that is somewhere else: \(node)")
        }
    }
}
