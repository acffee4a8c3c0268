import PowerSyncSQLite
import PowerSyncWire

/// Applies very many rows by one scan along `ps_oplog_row`, without a sorter and without a search for each row.
///
/// The index has rows in the order in which they are applied, all operations on a row side by side.
struct RowScan {
    private let connection: SQLiteConnection
    /// For each bucket whose rows count: the operation up to which they are applied.
    private let applied: [Int64: OperationID]
    private let isComplete: Bool
    /// Whether `ps_updated_rows` names rows too.
    private let hasQueue: Bool

    /// Plans a scan; nil if so little changed that single searches are cheaper.
    ///
    /// - Parameters:
    ///   - connection: the writer, in a transaction.
    ///   - tuning: says from how many rows on.
    ///   - names: a JSON array of bucket names for a partial checkpoint; nil for a complete one.
    ///   - hasRawTables: whether rows may go to statements of the app, which see the order of rows.
    /// - Throws: `SQLiteError`.
    init?(_ connection: SQLiteConnection, _ tuning: StorageTuning, names: String?, hasRawTables: Bool) throws
    {
        self.connection = connection
        isComplete = names == nil
        var applied: [Int64: OperationID] = [:]
        var changed: Int64 = 0
        let scope = names == nil ? "" : "WHERE name IN (SELECT value FROM json_each(?1))"
        let total = try connection.one("SELECT max(rowid) FROM ps_oplog") { $0.int64(0) } ?? 0
        guard total >= Int64(tuning.scannedRows) else { return nil }
        try connection.forEach(
            "SELECT id, last_applied_op, last_op FROM ps_buckets \(scope)", names.map { [.text($0)] } ?? []
        ) { row in
            applied[row.int64(0)] = row.int64(1)
            guard row.int64(2) > row.int64(1) else { return }
            changed +=
                try connection.one(
                    "SELECT count(*) FROM ps_oplog WHERE bucket = ?1 AND op_id > ?2",
                    [row[0], row[1]]
                ) { $0.int64(0) } ?? 0
        }
        // Row ids grow with every operation stored, so that there are at most as many.
        guard changed >= Int64(tuning.scannedRows), changed >= total / 4 else { return nil }
        hasQueue =
            try isComplete && connection.one("SELECT 1 FROM ps_updated_rows LIMIT 1") { _ in true } == true
        // Rows of the queue without operations are taken away before the scan, not in between.
        if hasQueue, hasRawTables { return nil }
        self.applied = applied
    }

    /// Writes all rows that changed.
    ///
    /// - Throws: as ``RowWriter/write(type:id:data:)``.
    func apply(_ writer: inout RowWriter) throws {
        if hasQueue {
            try connection.forEach(Self.queuedWithoutOperations) { row in
                try row.withText(0) { type in
                    try row.withText(1) { try writer.write(type: type, id: $0, data: nil) }
                }
            }
        }
        var group = Group()
        // The operations of a bucket lie side by side more often than not.
        var bucket: (id: Int64, applied: OperationID?) = (0, nil)
        try connection.forEach(hasQueue ? Self.operationsWithQueue : Self.operations) { row in
            guard !row.isNull(0), !row.isNull(1) else { return }
            if row.int64(3) != bucket.id { bucket = (row.int64(3), applied[row.int64(3)]) }
            if bucket.applied == nil, !isComplete { return }
            try row.withText(0) { type in
                try row.withText(1) { id in
                    if !group.isOf(type, id) {
                        try group.write(to: &writer)
                        group.begin(type, id)
                    }
                }
            }
            let isQueued = hasQueue && row.int64(5) != 0
            group.take(row, isChanged: isQueued || row.int64(2) > (bucket.applied ?? .max))
        }
        try group.write(to: &writer)
    }

    private static let operations = """
        SELECT row_type, row_id, op_id, bucket, data FROM ps_oplog INDEXED BY ps_oplog_row
        ORDER BY row_type, row_id
        """

    private static let operationsWithQueue = """
        SELECT operation.row_type, operation.row_id, op_id, bucket, data, EXISTS (
            SELECT 1 FROM ps_updated_rows AS queued
            WHERE queued.row_type = operation.row_type AND queued.row_id = operation.row_id)
        FROM ps_oplog AS operation INDEXED BY ps_oplog_row
        ORDER BY operation.row_type, operation.row_id
        """

    private static let queuedWithoutOperations = """
        SELECT row_type, row_id FROM ps_updated_rows AS queued
        WHERE row_type IS NOT NULL AND row_id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM ps_oplog AS operation
            WHERE operation.row_type = queued.row_type AND operation.row_id = queued.row_id)
        """
}

/// The operations on one row, of which the last one wins.
private struct Group {
    private var type: [UInt8] = []
    private var id: [UInt8] = []
    private var data: [UInt8] = []
    private var isPresent = false
    private var winner: OperationID?
    private var isChanged = false

    func isOf(_ type: RowWriter.Text, _ id: RowWriter.Text) -> Bool {
        winner != nil && self.id.elementsEqual(id) && self.type.elementsEqual(type)
    }

    mutating func begin(_ type: RowWriter.Text, _ id: RowWriter.Text) {
        self.type.removeAll(keepingCapacity: true)
        self.type.append(contentsOf: type)
        self.id.removeAll(keepingCapacity: true)
        self.id.append(contentsOf: id)
        winner = nil
        isChanged = false
    }

    mutating func take(_ row: SQLiteRow, isChanged: Bool) {
        if isChanged { self.isChanged = true }
        let operation = row.int64(2)
        if let winner, winner >= operation { return }
        winner = operation
        isPresent = !row.isNull(4)
        data.removeAll(keepingCapacity: true)
        row.withText(4) { data.append(contentsOf: $0) }
    }

    func write(to writer: inout RowWriter) throws {
        guard isChanged else { return }
        try type.withUnsafeBufferPointer { type in
            try id.withUnsafeBufferPointer { id in
                guard isPresent else { return try writer.write(type: type, id: id, data: nil) }
                try data.withUnsafeBufferPointer { try writer.write(type: type, id: id, data: $0) }
            }
        }
    }
}
