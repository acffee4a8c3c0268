import PowerSyncSQLite
import PowerSyncWire

/// One row as it shall be in one bucket.
package struct EvaluatedRow: Sendable, Equatable {
    /// The bucket's name without the prefix of the replication stream.
    package let bucket: String
    /// The client's table.
    package let type: String
    /// The client's id of the row.
    package let id: String
    /// The row as JSON text.
    package let data: String

    /// Makes a row of its fields.
    package init(bucket: String, type: String, id: String, data: String) {
        self.bucket = bucket
        self.type = type
        self.id = id
        self.data = data
    }
}

/// Decides which buckets a row belongs to and what it looks like there.
package struct RowEvaluator: Sendable {
    private struct Entry: Sendable {
        let bucket: String
        let processor: RowProcessor
    }

    private let entries: [ExactText: [Entry]]

    /// Makes an evaluator for all tables of a configuration.
    package init(_ config: CompiledSyncConfig) {
        var entries: [ExactText: [Entry]] = [:]
        for source in config.sources {
            for processor in source.processors {
                entries[Self.key(processor.schema.text, processor.table.text), default: []].append(
                    Entry(bucket: source.name, processor: processor))
            }
        }
        self.entries = entries
    }

    /// The tables that the configuration names, as (schema, name), in stable order.
    package var tables: [(schema: String, name: String)] {
        var seen: Set<ExactText> = []
        return entries.values.joined().map { ($0.processor.schema.text, $0.processor.table.text) }
            .filter { seen.insert(Self.key($0.0, $0.1)).inserted }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }
            .map { (schema: $0.0, name: $0.1) }
    }

    /// Whether rows of a table matter.
    package func uses(schema: String, table: String) -> Bool { entries[Self.key(schema, table)] != nil }

    /// Evaluates one row.
    ///
    /// - Parameters:
    ///   - row: The row with the values of now.
    ///   - schema: The schema of its table.
    ///   - table: The table.
    /// - Returns: One element for each bucket; a row that a query cannot be computed for matches nothing of
    ///   that query.
    package func evaluate(_ row: SourceRow, schema: String, table: String) -> [EvaluatedRow] {
        evaluate(row, without: [], schema: schema, table: table) ?? []
    }

    /// Evaluates one row of which values may not be known.
    ///
    /// - Parameters:
    ///   - row: The row, with NULL for what is not known.
    ///   - missing: The columns whose values are not known.
    ///   - schema: The schema of its table.
    ///   - table: The table.
    /// - Returns: As of a row that is known; nil if a query needs one of these columns to say whether it has the row, or
    ///   puts one out.
    package func evaluate(
        _ row: SourceRow, without missing: Set<Int>, schema: String, table: String
    ) -> [EvaluatedRow]? {
        guard let entries = entries[Self.key(schema, table)] else { return [] }
        var needsMissing = false
        let evaluator =
            missing.isEmpty
            ? ExpressionEvaluator.row(row)
            : ExpressionEvaluator(
                column: { name in
                    if let index = row.shape.index(of: name), missing.contains(index) { needsMissing = true }
                    return row[name]
                }, parameter: { _ in .null })
        var result: [EvaluatedRow] = []
        for entry in entries {
            do throws(EvaluationError) {
                guard let evaluated = try Self.evaluate(entry, row, evaluator) else { continue }
                result.append(evaluated)
                if !missing.isEmpty, entry.processor.outputs.contains(.allColumns) { needsMissing = true }
            } catch {
                // An expression without a value matches nothing of that query (service 4.6); the others go
                // on.
                continue
            }
        }
        return needsMissing ? nil : result
    }

    private static func key(_ schema: String, _ table: String) -> ExactText {
        ExactText("\(schema.utf8.count):\(schema).\(table)")
    }

    private static func evaluate(
        _ entry: Entry, _ row: SourceRow, _ evaluator: ExpressionEvaluator
    ) throws(EvaluationError) -> EvaluatedRow? {
        for filter in entry.processor.filters where try !evaluator.holds(filter) { return nil }
        var values: [SQLiteValue] = []
        for key in entry.processor.partitionKeys { values.append(try evaluator.value(of: key)) }
        guard let bucket = BucketName.make(source: entry.bucket, values: values) else { return nil }
        var columns: [(name: String, value: SQLiteValue)] = []
        for output in entry.processor.outputs {
            switch output {
            case .allColumns: columns += zip(row.shape.columns, row.values).map { (name: $0, value: $1) }
            case .column(let expression, let name):
                columns.append((name.text, try evaluator.value(of: expression)))
            }
        }
        let id = columns.last { $0.name == "id" }?.value ?? .null
        return EvaluatedRow(
            bucket: bucket, type: entry.processor.outputTable.text, id: Self.text(id),
            data: RowText.json(columns))
    }

    /// The id as text; what has none is empty (service 6.4).
    private static func text(_ value: SQLiteValue) -> String {
        switch value {
        case .null: ""
        case .integer(let integer): String(integer)
        case .real(let real): NumberText.normalized(real)
        case .text(let text): text
        case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }
}
