import PowerSyncPostgres
import PowerSyncServiceEngine
import PowerSyncSQLite
import PowerSyncSyncRules
import PowerSyncWire

/// Makes batches of tuples, and says what today's evaluation makes of them.
struct BatchBuilder {
    /// The batch so far.
    private(set) var batch: ChangeBatch

    /// Begins without changes.
    init(_ tables: [TablePlan]) { batch = ChangeBatch(bytes: Array("before".utf8), tables: tables) }

    /// Adds a change.
    mutating func add(
        _ kind: ChangeBatch.Change.Kind, table: Int = 0, new: PgOutputTuple? = nil, old: PgOutputTuple? = nil
    ) {
        let (new, old) = (cells(new), cells(old))
        batch.changes.append(ChangeBatch.Change(kind, table: table, new: new, old: old))
    }

    /// Adds what is told beside changes.
    mutating func add(_ mark: ChangeBatch.Mark) { batch.append(mark) }

    private mutating func cells(_ tuple: PgOutputTuple?) -> Int {
        guard let tuple else { return -1 }
        let first = batch.cells.count
        for value in tuple {
            switch value {
            case .null: batch.cells.append(.null)
            case .unchangedToast: batch.cells.append(.unchanged)
            case .text(let text):
                let start = batch.bytes.count
                batch.bytes += Array(text.utf8)
                batch.cells.append(ChangeBatch.Cell(start..<batch.bytes.count))
            }
        }
        return first
    }
}

/// A record that does not say what its operation says.
struct OtherRecord: Error {}

/// An operation as both evaluations can say it, byte for byte.
struct ComparedOperation: Hashable {
    let bucket: ExactText
    let type: ExactText
    let id: ExactText
    let data: ExactText
    let checksum: Checksum
    let replicaID: ReplicaID

    /// What today's evaluator makes of a row; a value that does not fit its type is the text of Postgres.
    static func expected(
        _ texts: [String?], of plan: TablePlan, _ config: SyncPlan, _ replicaID: ReplicaID
    ) -> [ComparedOperation] {
        let row = SourceRow(
            shape: RowShape(columns: plan.table.description.columns.map(\.name)),
            values: values(texts, of: plan, config.options))
        let description = plan.table.description
        return RowEvaluator(config).evaluate(row, schema: description.schema, table: description.name).map {
            ComparedOperation(
                bucket: ExactText($0.bucket), type: ExactText($0.type), id: ExactText($0.id),
                data: ExactText($0.data),
                checksum: OperationChecksum.put(type: $0.type, id: $0.id, data: $0.data),
                replicaID: replicaID)
        }
    }

    /// The values of texts, one for each column.
    static func values(
        _ texts: [String?], of plan: TablePlan, _ options: CompatibilityOptions
    ) -> [SQLiteValue] {
        zip(texts, plan.conversions).map { text, type in
            do throws(ConversionError) {
                return try ValueConverter(options: options).value(text, type)
            } catch {
                return SQLiteValue(text)
            }
        }
    }

    /// What a row of an evaluated batch has; `types` are those of the plan, in order of their ids from 0.
    static func found(
        _ row: EvaluatedBatch.Row, in batch: EvaluatedBatch, types: [String]
    ) throws -> [ComparedOperation] {
        try batch.operations[row.operations].map { operation in
            func text(_ range: Range<Int>) -> ExactText {
                ExactText(String(decoding: batch.bytes[range], as: UTF8.self))
            }
            return try batch.bytes[operation.record].withUnsafeBytes { bytes in
                var reader = PackedReader(bytes)
                let record = try OperationRecord(.put, from: &reader)
                guard case .put(let put, data: let data) = record.content, reader.isAtEnd,
                    put.outputType == operation.type, record.checksum == operation.checksum,
                    bytes[put.objectID].elementsEqual(batch.bytes[operation.id])
                else { throw OtherRecord() }
                return ComparedOperation(
                    bucket: text(batch.buckets[operation.bucket]),
                    type: ExactText(types[Int(operation.type)]), id: text(operation.id),
                    data: ExactText(String(decoding: bytes[data], as: UTF8.self)),
                    checksum: record.checksum, replicaID: ReplicaID(bytes: Array(bytes[put.replicaID])))
            }
        }
    }
}
