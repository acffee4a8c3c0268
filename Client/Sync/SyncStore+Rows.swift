import PowerSyncSQLite
import PowerSyncWire

/// Writing changed rows where the app sees them (client-core 6.7 steps 5 and 6).
extension SyncStore {
    /// Applies the rows that changed since they were last applied.
    ///
    /// The outer loop runs over buckets into `ps_oplog_opid`; what it finds is sorted once, for grouping; the winner
    /// of each row is one look into `ps_oplog_row`. The grouping also fixes the set of rows before the first write.
    ///
    /// - Parameter names: a JSON array of bucket names for a partial checkpoint; nil for a complete one.
    /// - Throws: `SQLiteError`, and `SyncError` for a row that a raw table refuses.
    func applyRows(inBuckets names: String?) throws {
        let core = try CoreExtension.of(connection)
        var writer = try RowWriter(connection, rawTables: core.syncedRawTables)
        defer { writer.end() }
        try core.applyingSync {
            let hasRawTables = !core.syncedRawTables.isEmpty
            if let scan = try RowScan(connection, tuning, names: names, hasRawTables: hasRawTables) {
                return try scan.apply(&writer)
            }
            try connection.forEach(
                names == nil ? Self.changedRows : Self.changedRowsOfScope, names.map { [.text($0)] } ?? []
            ) { row in
                try row.withText(0) { type in
                    try row.withText(1) { id in
                        guard !row.isNull(2) else { return try writer.write(type: type, id: id, data: nil) }
                        try row.withText(2) { try writer.write(type: type, id: id, data: $0) }
                    }
                }
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
