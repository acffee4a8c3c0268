import PowerSyncSyncRules
import PowerSyncWire
import Testing

/// A configuration of bucket definitions, and what rows and requests come to.
struct DefinitionRig {
    /// A row that something went wrong with.
    static let failure = "an error"

    /// What it means.
    let plan: SyncPlan
    private let evaluator: ExpressionRun

    /// Compiles a configuration without errors.
    init(_ yaml: String, options: CompileOptions = CompileOptions()) throws {
        let config = SyncConfig.compile(yaml, options: options)
        plan = try #require(config.plan, "\(config.diagnostics.all.map(\.message))")
        evaluator = ExpressionRun(options: plan.options)
    }

    /// A configuration with one definition, `mybucket`.
    ///
    /// - Parameters:
    ///   - parameters: Its parameter queries; nil for none.
    ///   - data: Its data queries.
    ///   - config: What stands in `config`, such as `fixed_json_extract: true`.
    /// - Returns: The YAML.
    static func yaml(
        _ parameters: [String]?, _ data: [String] = ["SELECT id FROM assets"], config: String = "edition: 1"
    ) -> String {
        func list(_ queries: [String]) -> String {
            "[\(queries.map { JSON.quoted($0) }.joined(separator: ", "))]"
        }
        let first = parameters.map { "    parameters: \(list($0))\n" } ?? ""
        return "bucket_definitions:\n  mybucket:\n\(first)    data: \(list(data))\nconfig: {\(config)}\n"
    }

    // MARK: - Rows

    /// What a row becomes: a line of bucket, table, id and data for each way into a bucket, or `failure`.
    func places(_ row: String, in table: String, schema: String = "public") throws -> [String] {
        let row = try DefinitionRow(row, in: table, schema)
        var lines: [String] = []
        for source in plan.sources {
            for processor in source.processors where row.isOf(processor.table) {
                lines += self.lines(of: row.by(processor.table), processor, source.name)
            }
        }
        return lines
    }

    private func lines(
        of row: DefinitionRow, _ processor: RowProcessor, _ source: ExactText
    ) -> [String] {
        do throws(EvaluationError) {
            var lines: [String] = []
            for row in try evaluator.combinations(of: row, processor.expansions, processor.filters) {
                var key: [String] = []
                for expression in processor.keys {
                    let value = try evaluator.value(of: expression, in: row)
                    let listsNull = processor.form.contains(.listsNull)
                    if let text = BucketSpelling.text(value, listsNull: listsNull) { key.append(text) }
                }
                guard key.count == processor.keys.count else { continue }
                let data = try self.data(of: row, processor)
                let type: ExactText
                switch processor.type {
                case .named(let name): type = name
                case .table: type = row.table
                }
                let name = BucketSpelling.name(source: source, values: key)
                let id = data.first { $0.name == "id" }.map { text($0.value) } ?? ""
                let members = data.map { "\(JSON.quoted($0.name)):\(json($0.value))" }.joined(separator: ",")
                lines.append("\(name.text) \(type.text) \(id) {\(members)}")
            }
            return lines
        } catch {
            return [Self.failure]
        }
    }

    private func data(
        of row: DefinitionRow, _ processor: RowProcessor
    ) throws(EvaluationError) -> [(name: String, value: ScalarValue)] {
        var data: [(name: String, value: ScalarValue)] = []
        func set(_ name: String, _ value: ScalarValue, isAlias: Bool) {
            guard let index = data.firstIndex(where: { $0.name == name }) else {
                data.append((name: name, value: value))
                return
            }
            if isAlias || data[index].value.isNull { data[index].value = value }
        }
        for output in processor.outputs {
            switch output {
            case .allColumns:
                for (name, value) in row.columns where !name.hasPrefix("_") {
                    set(name, value, isAlias: false)
                }
            case .column(let expression, let name):
                set(name.text, try evaluator.value(of: expression, in: row), isAlias: true)
            }
        }
        return data
    }

    private func text(_ value: ScalarValue) -> String {
        if case .text(let text) = value { text.text } else { json(value) }
    }

    private func json(_ value: ScalarValue) -> String {
        BucketSpelling.text(value, listsNull: true) ?? "a blob"
    }

    // MARK: - Requests

    /// The rows of the lookups by their keys.
    func lookups(_ rows: [(table: String, row: String)]) throws -> [LookupRead: [[ScalarValue]]] {
        var found: [LookupRead: [[ScalarValue]]] = [:]
        for (index, lookup) in plan.lookups.enumerated() {
            for (table, text) in rows {
                let row = try DefinitionRow(text, in: table, "public")
                guard row.isOf(lookup.table) else { continue }
                let own = row.by(lookup.table)
                for row in try evaluator.combinations(of: own, lookup.expansions, lookup.filters) {
                    let key = try lookup.keys.map { try evaluator.value(of: $0, in: row).keyValue }
                    guard !key.contains(nil) else { continue }
                    let outputs = try lookup.outputs.map { try evaluator.value(of: $0, in: row) }
                    let read = LookupRead(lookup: index, key: key.compactMap { $0 })
                    found[read, default: []].append(outputs)
                }
            }
        }
        return found
    }

    /// What a request comes to, and the keys that it asks lookups for.
    func buckets(
        token: String = #"{"sub":"user1"}"#, connection: String? = nil,
        _ rows: [(table: String, row: String)] = []
    ) throws -> (names: [String], asked: [LookupRead]) {
        var rig = try RequestRig(plan, token: token, connection: connection)
        rig.rows = try lookups(rows)
        let resolution = try rig.resolve()
        return (resolution.buckets.map(\.name.text), rig.asked.flatMap { $0 })
    }
}

/// A row with the elements of its arrays that are being looked at.
private struct DefinitionRow: RowInputs {
    let columns: [(String, ScalarValue)]
    let table: ExactText
    private let schema: ExactText
    private var suffix = ExactText("")
    var elements: [JSONElements.Element] = []

    init(_ json: String, in table: String, _ schema: String) throws {
        let members = try #require(try JSON.parse(json).objectMembers)
        columns = members.map { ($0.name, Self.scalar($0.value)) }
        self.table = ExactText(table)
        self.schema = ExactText(schema)
    }

    private static func scalar(_ json: JSON) -> ScalarValue {
        switch json {
        case .null: .null
        case .bool(let holds): ScalarValue(holds)
        case .number(let digits): ScalarValue(digits: digits) ?? Double(digits).map { .real($0) } ?? .null
        case .string(let text): ScalarValue(text: text)
        case .array, .object: ScalarValue(text: json.text)
        }
    }

    func isOf(_ pattern: TablePattern) -> Bool {
        pattern.matches(tag: ExactText("default"), schema: schema, name: table)
    }

    func by(_ pattern: TablePattern) -> DefinitionRow {
        var row = self
        row.suffix = pattern.name.suffix(of: table) ?? ExactText("")
        return row
    }

    func column(_ input: Input, _ name: ExactText) -> ScalarValue {
        columns.first { ExactText($0.0) == name }?.1 ?? .null
    }

    func table(_ fact: TableFact, _ input: Input) -> ScalarValue {
        switch fact {
        case .schema: .text(schema)
        case .name: .text(table)
        case .suffix: .text(suffix)
        }
    }
}
