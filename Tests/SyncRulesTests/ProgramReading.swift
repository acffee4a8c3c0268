import PowerSyncSyncRules
import PowerSyncWire

/// What processors and lookups make of rows, on values: what programs are held to.
struct ProgramReading {
    /// One place of a row, with its output.
    struct Place: Hashable {
        let bucket: String
        let id: String
        let data: String
    }

    /// One way in which a row is found; values as texts, so that what is no number equals itself.
    struct Entry: Hashable {
        let key: [String]
        let outputs: [String]
    }

    let options: CompatibilityOptions
    let shape: TableShape

    private var run: ExpressionRun { ExpressionRun(options: options) }

    /// A row with the elements of its expansions.
    private struct Row: RowInputs {
        let shape: TableShape
        let suffix: ExactText
        let values: [ScalarValue]
        var elements: [JSONElements.Element] = []

        func column(_ input: Input, _ name: ExactText) -> ScalarValue {
            shape.columns.firstIndex(of: name).map { values[$0] } ?? .null
        }

        func table(_ fact: TableFact, _ input: Input) -> ScalarValue {
            switch fact {
            case .schema: .text(shape.schema)
            case .name: .text(shape.name)
            case .suffix: .text(suffix)
            }
        }
    }

    /// The places of a row.
    func places(of values: [ScalarValue], by processor: RowProcessor) throws(EvaluationError) -> [Place] {
        var places: [Place] = []
        for row in try combinations(values, processor.table, processor.expansions, processor.filters) {
            var key: [String] = []
            for expression in processor.keys {
                let value = try run.value(of: expression, in: row)
                let listsNull = processor.form.contains(.listsNull)
                guard let text = BucketSpelling.text(value, listsNull: listsNull) else { break }
                key.append(text)
            }
            guard key.count == processor.keys.count else { continue }
            let output = try output(of: row, processor)
            places.append(Place(bucket: key.joined(separator: ","), id: output.id, data: output.data))
        }
        return places
    }

    /// The ways in which a row is found.
    func entries(
        of values: [ScalarValue], by lookup: LookupDefinition
    ) throws(EvaluationError) -> [Entry] {
        var entries: [Entry] = []
        for row in try combinations(values, lookup.table, lookup.expansions, lookup.filters) {
            var key: [String] = []
            for expression in lookup.keys {
                let value = try run.value(of: expression, in: row)
                guard value.keyValue != nil else { break }
                key.append("\(value)")
            }
            guard key.count == lookup.keys.count else { continue }
            var outputs: [String] = []
            for output in lookup.outputs { outputs.append("\(try run.value(of: output, in: row))") }
            entries.append(Entry(key: key, outputs: outputs))
        }
        return entries
    }

    /// The row with the elements of each combination for which the filters hold.
    private func combinations(
        _ values: [ScalarValue], _ pattern: TablePattern, _ expansions: [Expression], _ filters: [Expression]
    ) throws(EvaluationError) -> [Row] {
        let suffix = pattern.name.suffix(of: shape.name) ?? ExactText("")
        let row = Row(shape: shape, suffix: suffix, values: values)
        return try run.combinations(of: row, expansions, filters)
    }

    private func output(
        of row: Row, _ processor: RowProcessor
    ) throws(EvaluationError) -> (id: String, data: String) {
        var columns: [(name: ExactText, value: ScalarValue)] = []
        var id = ScalarValue.null
        func add(_ name: ExactText, _ value: ScalarValue) {
            if name == ExactText("id") { id = value }
            if case .blob = value { return }
            if let place = columns.firstIndex(where: { $0.name == name }) {
                columns[place].value = value
            } else {
                columns.append((name: name, value: value))
            }
        }
        for output in processor.outputs {
            switch output {
            case .column(let expression, let name): add(name, try run.value(of: expression, in: row))
            case .allColumns:
                for (name, value) in zip(shape.columns, row.values) {
                    if processor.form.contains(.skipsUnderscores), name.text.hasPrefix("_") { continue }
                    let former = columns.first { $0.name == name }?.value ?? .null
                    if processor.form.contains(.aliasWins), !former.isNull { continue }
                    add(name, value)
                }
            }
        }
        let indexes = columns.filter { UInt32($0.name.text) != nil }
            .sorted { UInt32($0.name.text) ?? 0 < UInt32($1.name.text) ?? 0 }
        let ordered = indexes + columns.filter { UInt32($0.name.text) == nil }
        let members = ordered.map { "\(JSON.quoted($0.name.text)):\(Self.json($0.value))" }
        return (id: Self.text(id), data: "{\(members.joined(separator: ","))}")
    }

    private static func json(_ value: ScalarValue) -> String {
        switch value {
        case .null, .blob: "null"
        case .integer(let integer): String(integer)
        case .wide(let integer): integer.digits.text
        case .real(let real): NumberText.real(real)
        case .text(let text): JSON.quoted(text.text)
        }
    }

    private static func text(_ id: ScalarValue) -> String {
        if case .real(let real) = id { return NumberText.normalized(real) }
        return id.textForm ?? ""
    }
}
