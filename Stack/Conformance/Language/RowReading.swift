import PowerSyncSyncRules
import PowerSyncWire

/// Computes what a plan makes of rows, on values: what a row becomes, and what it is found by.
///
/// The service does the same with programs over slots; this is what they are held to.
struct RowReading {
    /// A row in a bucket.
    struct Output {
        /// The name of the bucket without `N#`.
        let bucket: ExactText
        /// The client's table.
        let table: ExactText
        /// The client's id.
        let id: String
        /// The client's columns, each once.
        let data: [(ExactText, ScalarValue)]
    }

    private let plan: SyncPlan
    private let evaluator: ExpressionRun
    private let tag = CompileOptions().defaultTag

    /// Makes a reading by a plan.
    init(_ plan: SyncPlan) {
        self.plan = plan
        evaluator = ExpressionRun(options: plan.options)
    }

    /// What a row becomes.
    ///
    /// - Parameters:
    ///   - row: the row.
    ///   - table: its table.
    /// - Returns: one element for each way into a bucket, and whether a query could not be computed for it.
    func outputs(
        of row: LanguageWorlds.Row, in table: ExactText
    ) -> (outputs: [Output], hasFailed: Bool) {
        var outputs: [Output] = []
        var hasFailed = false
        for source in plan.sources {
            for processor in source.processors where matches(processor.table, table) {
                do throws(EvaluationError) {
                    let values = RowValues(row, in: table, by: processor.table)
                    outputs += try self.outputs(of: values, processor, source.name)
                } catch {
                    // What has an error is left out, also what it had made of other elements.
                    hasFailed = true
                }
            }
        }
        return (outputs, hasFailed || failsToBeFound(row, in: table))
    }

    /// Whether a lookup of editions 1 and 2 cannot be computed for a row, which is an error of that row as recorded.
    private func failsToBeFound(_ row: LanguageWorlds.Row, in table: ExactText) -> Bool {
        guard plan.edition < 3 else { return false }
        return plan.lookups.contains { lookup in
            guard matches(lookup.table, table) else { return false }
            do throws(EvaluationError) {
                _ = try entries(of: RowValues(row, in: table, by: lookup.table), lookup)
                return false
            } catch {
                return true
            }
        }
    }

    /// The rows of all lookups by their keys.
    ///
    /// - Parameter tables: the tables.
    /// - Returns: for each key the outputs of its rows; a row that cannot be computed has none.
    func lookups(_ tables: [LanguageWorlds.Table]) -> [LookupRead: [[ScalarValue]]] {
        var found: [LookupRead: [[ScalarValue]]] = [:]
        for (index, lookup) in plan.lookups.enumerated() {
            for table in tables where matches(lookup.table, table.name) {
                for row in table.rows {
                    let values = RowValues(row, in: table.name, by: lookup.table)
                    // The service logs the error, and goes on without the row.
                    for (key, outputs) in (try? entries(of: values, lookup)) ?? [] {
                        found[LookupRead(lookup: index, key: key), default: []].append(outputs)
                    }
                }
            }
        }
        return found
    }

    private func matches(_ pattern: TablePattern, _ table: ExactText) -> Bool {
        pattern.matches(tag: tag, schema: LanguageWorlds.schemaName, name: table)
    }

    private func entries(
        of row: RowValues, _ lookup: LookupDefinition
    ) throws(EvaluationError) -> [(key: [ScalarValue], outputs: [ScalarValue])] {
        var entries: [(key: [ScalarValue], outputs: [ScalarValue])] = []
        for row in try evaluator.combinations(of: row, lookup.expansions, lookup.filters) {
            var key: [ScalarValue] = []
            for expression in lookup.keys {
                guard let value = try evaluator.value(of: expression, in: row).keyValue else { break }
                key.append(value)
            }
            guard key.count == lookup.keys.count else { continue }
            var outputs: [ScalarValue] = []
            for output in lookup.outputs { outputs.append(try evaluator.value(of: output, in: row)) }
            entries.append((key: key, outputs: outputs))
        }
        return entries
    }

    private func outputs(
        of row: RowValues, _ processor: RowProcessor, _ source: ExactText
    ) throws(EvaluationError) -> [Output] {
        var outputs: [Output] = []
        for row in try evaluator.combinations(of: row, processor.expansions, processor.filters) {
            var key: [String] = []
            for expression in processor.keys {
                let value = try evaluator.value(of: expression, in: row)
                let listsNull = processor.form.contains(.listsNull)
                guard let text = BucketSpelling.text(value, listsNull: listsNull) else { break }
                key.append(text)
            }
            guard key.count == processor.keys.count else { continue }
            var columns = OutputColumns(processor.form)
            for output in processor.outputs {
                switch output {
                case .allColumns: columns.addAll(row.columns)
                case .column(let expression, let name):
                    columns.add(name, try evaluator.value(of: expression, in: row))
                }
            }
            let table: ExactText
            switch processor.type {
            case .named(let name): table = name
            case .table: table = row.tableName
            }
            outputs.append(
                Output(
                    bucket: BucketSpelling.name(source: source, values: key), table: table, id: columns.id,
                    data: columns.data))
        }
        return outputs
    }
}

/// What the expressions of a row's queries read.
private struct RowValues: RowInputs {
    let columns: [(name: ExactText, value: ScalarValue)]
    let tableName: ExactText
    private let values: [ExactText: ScalarValue]
    private let suffix: ExactText
    var elements: [JSONElements.Element] = []

    init(_ row: LanguageWorlds.Row, in table: ExactText, by pattern: TablePattern) {
        columns = row.columns
        tableName = table
        values = Dictionary(row.columns.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
        suffix = pattern.name.suffix(of: table) ?? ExactText("")
    }

    func column(_ input: Input, _ name: ExactText) -> ScalarValue { values[name] ?? .null }

    func table(_ fact: TableFact, _ input: Input) -> ScalarValue {
        switch fact {
        case .schema: .text(LanguageWorlds.schemaName)
        case .name: .text(tableName)
        case .suffix: .text(suffix)
        }
    }
}

/// The client's columns of a row, as `*` and columns of one name come together (service 6.4).
private struct OutputColumns {
    private let form: OutputForm
    private var values: [ExactText: ScalarValue] = [:]
    private var names: [ExactText] = []
    private var idValue = ScalarValue.null

    init(_ form: OutputForm) { self.form = form }

    /// The columns in the order in which they came, each once.
    var data: [(ExactText, ScalarValue)] { names.map { ($0, values[$0] ?? .null) } }

    /// The id as text; empty if there is none.
    var id: String {
        switch idValue {
        case .null: ""
        case .integer(let integer): String(integer)
        case .wide(let integer): integer.digits.text
        case .real(let real): NumberText.normalized(real)
        case .text(let text): text.text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    mutating func addAll(_ columns: [(name: ExactText, value: ScalarValue)]) {
        for (name, value) in columns {
            if form.contains(.skipsUnderscores), name.text.utf8.first == UInt8(ascii: "_") { continue }
            if form.contains(.aliasWins), let former = values[name], !former.isNull { continue }
            add(name, value)
        }
    }

    mutating func add(_ name: ExactText, _ value: ScalarValue) {
        if name == ExactText("id") { idValue = value }
        // A BLOB is in no data, and takes no other column's place.
        if case .blob = value { return }
        if values.updateValue(value, forKey: name) == nil { names.append(name) }
    }
}
