import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// One row as it shall be in one bucket.
struct EvaluatedRow: Sendable, Equatable {
    /// The bucket's name without the prefix of the replication stream.
    let bucket: String
    /// The client's table.
    let type: String
    /// The client's id of the row.
    let id: String
    /// The row as JSON text.
    let data: String

    /// Makes a row of its fields.
    init(bucket: String, type: String, id: String, data: String) {
        self.bucket = bucket
        self.type = type
        self.id = id
        self.data = data
    }
}

/// A key of a lookup by which a row is found, with what is found.
struct FoundKey: Sendable, Hashable {
    /// The number of the lookup, from 1 in the order of the plan.
    let definition: Int64
    /// The key, as the store has it.
    let key: [UInt8]
    /// What is found, as the store has it.
    let value: [UInt8]

    /// What a batch says of a row.
    static func found(_ row: EvaluatedBatch.Row, in batch: EvaluatedBatch) -> [FoundKey] {
        batch.lookups[row.lookups].map {
            FoundKey(
                definition: $0.definition, key: Array(batch.bytes[$0.key]),
                value: Array(batch.bytes[$0.value]))
        }
    }
}

/// Decides which buckets a row belongs to, what it looks like there, and what finds it, value by value and text by text.
///
/// That is what row programs must come to. It knows edition 3.
struct RowEvaluator: Sendable {
    private let plan: SyncPlan
    private let run: ExpressionRun

    /// Makes an evaluator for all tables of a plan.
    init(_ plan: SyncPlan) {
        self.plan = plan
        run = ExpressionRun(options: plan.options)
    }

    /// Evaluates one row.
    ///
    /// - Parameters:
    ///   - row: The row with the values of now.
    ///   - schema: The schema of its table.
    ///   - table: The table.
    /// - Returns: One element for each way into a bucket; a row that a query cannot be computed for matches nothing of
    ///   that query.
    func evaluate(_ row: SourceRow, schema: String, table: String) -> [EvaluatedRow] {
        evaluate(row, schema: schema, table: table, MissingValues([]))
    }

    /// Evaluates one row of which values are missing.
    ///
    /// - Parameters:
    ///   - row: The row with the values of now.
    ///   - missing: The names of columns whose values are not known.
    ///   - schema: The schema of its table.
    ///   - table: The table.
    /// - Returns: As above; nil if a query needs a value that is missing.
    func evaluate(_ row: SourceRow, without missing: Set<String>, schema: String, table: String)
        -> [EvaluatedRow]?
    {
        let values = MissingValues(missing)
        let result = evaluate(row, schema: schema, table: table, values)
        return values.wereRead ? nil : result
    }

    private func evaluate(
        _ row: SourceRow, schema: String, table: String, _ missing: MissingValues
    ) -> [EvaluatedRow] {
        var result: [EvaluatedRow] = []
        for source in plan.sources {
            for processor in source.processors {
                guard let values = Values(row, schema, table, processor.table, missing) else { continue }
                do throws(EvaluationError) {
                    result += try rows(values, processor, source.name)
                } catch {
                    // The others go on (service 4.6).
                    continue
                }
            }
        }
        return result
    }

    /// By which keys one row is found.
    ///
    /// - Parameters:
    ///   - row: The row with the values of now.
    ///   - schema: The schema of its table.
    ///   - table: The table.
    /// - Returns: Each key once, with all that it finds of the row.
    func lookups(_ row: SourceRow, schema: String, table: String) -> [FoundKey] {
        var result: [FoundKey] = []
        for (index, lookup) in plan.lookups.enumerated() {
            guard let values = Values(row, schema, table, lookup.table, MissingValues([])) else { continue }
            do throws(EvaluationError) {
                result += try keys(values, lookup, definition: Int64(index) + 1)
            } catch {
                continue
            }
        }
        return result
    }

    private func rows(
        _ values: Values, _ processor: RowProcessor, _ source: ExactText
    ) throws(EvaluationError) -> [EvaluatedRow] {
        var result: [EvaluatedRow] = []
        for place in try run.combinations(of: values, processor.expansions, processor.filters) {
            var texts: [String] = []
            for key in processor.keys {
                guard let text = BucketSpelling.text(try run.value(of: key, in: place)) else { break }
                texts.append(text)
            }
            guard texts.count == processor.keys.count else { continue }
            var columns: [(name: String, value: SQLiteValue)] = []
            for output in processor.outputs {
                switch output {
                case .allColumns:
                    place.readAll()
                    columns += zip(place.row.shape.columns, place.row.values).map { (name: $0, value: $1) }
                case .column(let expression, let name):
                    columns.append((name.text, try run.value(of: expression, in: place).stored))
                }
            }
            let type: String =
                switch processor.type {
                case .named(let name): name.text
                case .table: place.tableName.text
                }
            let id = columns.last { $0.name == "id" }?.value ?? .null
            result.append(
                EvaluatedRow(
                    bucket: BucketSpelling.name(source: source, values: texts).text, type: type,
                    id: Self.text(id), data: RowText.json(columns)))
        }
        return result
    }

    private func keys(
        _ values: Values, _ lookup: LookupDefinition, definition: Int64
    ) throws(EvaluationError) -> [FoundKey] {
        var arena: [UInt8] = []
        var found: [(key: [UInt8], rows: [[Slot]])] = []
        for place in try run.combinations(of: values, lookup.expansions, lookup.filters) {
            var parts: [Slot] = []
            for key in lookup.keys {
                guard let value = try run.value(of: key, in: place).keyValue else { break }
                parts.append(Slot(scalar: value, in: &arena))
            }
            guard parts.count == lookup.keys.count else { continue }
            var outputs: [Slot] = []
            for output in lookup.outputs {
                outputs.append(Slot(scalar: try run.value(of: output, in: place), in: &arena))
            }
            var key: [UInt8] = []
            guard LookupValues.appendKey(parts, in: arena, to: &key) else { continue }
            if let known = found.firstIndex(where: { $0.key == key }) {
                found[known].rows.append(outputs)
            } else {
                found.append((key: key, rows: [outputs]))
            }
        }
        return found.map { key, rows in
            var value: [UInt8] = []
            LookupValues.append(rows: rows, in: arena, to: &value)
            return FoundKey(definition: definition, key: key, value: value)
        }
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

/// Columns without a value, and whether an expression has asked for one.
private final class MissingValues {
    let names: Set<String>
    var wereRead = false

    init(_ names: Set<String>) { self.names = names }
}

/// What the expressions of a row's queries read.
private struct Values: RowInputs {
    let row: SourceRow
    let tableName: ExactText
    private let schemaName: ExactText
    private let suffix: ExactText
    private let missing: MissingValues
    var elements: [JSONElements.Element] = []

    /// Makes them unless the pattern means other tables.
    init?(
        _ row: SourceRow, _ schema: String, _ table: String, _ pattern: TablePattern, _ missing: MissingValues
    ) {
        self.row = row
        self.missing = missing
        tableName = ExactText(table)
        schemaName = ExactText(schema)
        suffix = pattern.name.suffix(of: tableName) ?? ExactText("")
        guard pattern.matches(tag: ExactText("default"), schema: schemaName, name: tableName) else {
            return nil
        }
    }

    /// All columns are asked for.
    func readAll() { if !missing.names.isEmpty { missing.wereRead = true } }

    func column(_ input: Input, _ name: ExactText) -> ScalarValue {
        if missing.names.contains(name.text) { missing.wereRead = true }
        return ScalarValue(row[name.text])
    }

    func table(_ fact: TableFact, _ input: Input) -> ScalarValue {
        switch fact {
        case .schema: .text(schemaName)
        case .name: .text(tableName)
        case .suffix: .text(suffix)
        }
    }
}
