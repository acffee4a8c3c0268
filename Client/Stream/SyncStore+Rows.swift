import PowerSyncSQLite
import PowerSyncWire

/// Writing changed rows where the app sees them (client-core 6.7 steps 5 and 6).
extension SyncStore {
    /// Publishes the rows that changed since they were last published.
    ///
    /// The outer loop runs over buckets into `ps_oplog_opid`; what it finds is sorted once, for grouping; the winner
    /// of each row is one look into `ps_oplog_row`. The grouping also fixes the set of rows before the first write.
    ///
    /// - Parameter names: a JSON array of bucket names for a partial checkpoint; nil for a complete one.
    /// - Throws: `SQLiteError`, and `SyncError` for a row that a raw table refuses.
    func publishRows(inBuckets names: String?) throws {
        let core = try CoreExtension.of(connection)
        var writer = try RowWriter(connection, rawTables: core.rawTables)
        try core.applyingSync {
            try connection.forEach(
                names == nil ? Self.changedRows : Self.changedRowsOfScope, names.map { [.text($0)] } ?? []
            ) { row in
                try writer.write(type: row.string(0), id: row.string(1), data: row.text(2))
            }
        }
    }

    private static let changedRows = """
        SELECT changed.row_type, changed.row_id, (
            SELECT winner.data FROM ps_oplog AS winner
            WHERE winner.row_type = changed.row_type AND winner.row_id = changed.row_id
            ORDER BY winner.op_id DESC LIMIT 1)
        FROM (
            SELECT row_type, row_id FROM (
                SELECT row_type, row_id FROM ps_updated_rows
                UNION ALL
                SELECT operation.row_type, operation.row_id
                FROM ps_buckets AS bucket CROSS JOIN ps_oplog AS operation
                    ON operation.bucket = bucket.id AND operation.op_id > bucket.last_applied_op)
            WHERE row_type IS NOT NULL AND row_id IS NOT NULL
            GROUP BY row_type, row_id) AS changed
        """

    private static let changedRowsOfScope = """
        WITH scope(id) AS MATERIALIZED (
            SELECT id FROM ps_buckets WHERE name IN (SELECT value FROM json_each(?1)))
        SELECT changed.row_type, changed.row_id, (
            SELECT winner.data FROM ps_oplog AS winner
            WHERE winner.row_type = changed.row_type AND winner.row_id = changed.row_id
                AND winner.bucket IN (SELECT id FROM scope)
            ORDER BY winner.op_id DESC LIMIT 1)
        FROM (
            SELECT operation.row_type, operation.row_id
            FROM ps_buckets AS bucket CROSS JOIN ps_oplog AS operation
                ON operation.bucket = bucket.id AND operation.op_id > bucket.last_applied_op
            WHERE bucket.id IN (SELECT id FROM scope)
                AND operation.row_type IS NOT NULL AND operation.row_id IS NOT NULL
            GROUP BY operation.row_type, operation.row_id) AS changed
        """
}

/// Writes single rows; looks up where a type's rows go only once.
private struct RowWriter {
    private enum Destination {
        case table(put: String, delete: String)
        case raw(RawTableWriter)
        case untyped
    }

    private let connection: SQLiteConnection
    private let rawTables: [RawTableDefinition]
    private let tables: Set<String>
    private var destinations: [String: Destination] = [:]

    init(_ connection: SQLiteConnection, rawTables: [RawTableDefinition]) throws {
        self.connection = connection
        self.rawTables = rawTables
        tables = Set(try DataTable.all(on: connection).filter { !$0.isLocal }.map(\.name))
    }

    mutating func write(type: String, id: String, data: String?) throws {
        let data = data.map(RowJSON.repaired)
        switch (try destination(of: type), data) {
        case (.table(let put, _), let data?): try connection.run(put, [.text(id), .text(data)])
        case (.table(_, let delete), nil): try connection.run(delete, [.text(id)])
        case (.raw(let writer), let data?): try writer.put(id: id, data: data)
        case (.raw(let writer), nil): try writer.delete(id: id)
        case (.untyped, let data?):
            try connection.run(
                "REPLACE INTO ps_untyped(type, id, data) VALUES (?1, ?2, ?3)",
                [.text(type), .text(id), .text(data)])
        case (.untyped, nil):
            try connection.run(
                "DELETE FROM ps_untyped WHERE type = ?1 AND id = ?2", [.text(type), .text(id)])
        }
    }

    /// A table of the schema goes before a raw table of the same name (client-core 3.5).
    private mutating func destination(of type: String) throws -> Destination {
        if let known = destinations[type] { return known }
        let destination: Destination
        if tables.contains(type) {
            let table = SQLText.identifier("ps_data__\(type)")
            destination = .table(
                put: "REPLACE INTO \(table)(id, data) VALUES (?1, ?2)",
                delete: "DELETE FROM \(table) WHERE id = ?1")
        } else if let raw = rawTables.first(where: { $0.name == type }) {
            destination = .raw(try RawTableWriter(raw, on: connection))
        } else {
            destination = .untyped
        }
        destinations[type] = destination
        return destination
    }
}
