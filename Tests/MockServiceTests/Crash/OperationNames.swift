import PowerSyncSQLite
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// The names that operations have by number, each read once.
struct OperationNames {
    private var tables: [Int64: String] = [:]
    private var types: [Int64: String] = [:]

    /// Spells an operation as clients get it.
    mutating func operation(
        _ entry: SegmentBody.Entry, _ segment: SegmentBody, _ connection: SQLiteConnection
    ) throws -> Operation {
        var operation = Operation(id: entry.id, kind: entry.kind, checksum: entry.record.checksum)
        switch entry.record.content {
        case .move, .clear: return operation
        case .remove(let row): try name(&operation, row, segment, connection)
        case .put(let row, let data):
            try name(&operation, row, segment, connection)
            operation.data = segment.text(data)
        }
        return operation
    }

    private mutating func name(
        _ operation: inout Operation, _ row: OperationRecord.Row, _ segment: SegmentBody,
        _ connection: SQLiteConnection
    ) throws {
        let uuid = try Self.named(
            row.sourceTable, &tables, "SELECT uuid FROM source_table WHERE id = ?", connection)
        let replicaID = ReplicaID(bytes: [UInt8](segment[row.replicaID]))
        operation.objectType = try Self.named(
            row.outputType, &types, "SELECT name FROM output_type WHERE id = ?", connection)
        operation.objectID = segment.text(row.objectID)
        operation.subkey = "\(uuid)/\(replicaID.text)"
    }

    private static func named(
        _ id: Int64, _ known: inout [Int64: String], _ sql: String, _ connection: SQLiteConnection
    ) throws -> String {
        if let name = known[id] { return name }
        guard let name = try connection.one(sql, [.integer(id)], { $0.string(0) }) else {
            throw StoreError.unreadableRow
        }
        known[id] = name
        return name
    }
}
