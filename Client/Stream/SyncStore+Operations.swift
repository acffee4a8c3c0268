import PowerSyncSQLite
import PowerSyncWire

/// Storing what data lines bring (client-core 6.6).
extension SyncStore {
    /// Stores the operations of one line.
    ///
    /// An operation that is not above everything seen of its bucket was stored before, by a line of an earlier
    /// connection or of this one; it changes nothing. The official core counts it twice and then fails the checksum.
    ///
    /// - Parameters:
    ///   - line: the line.
    ///   - size: its bytes as received.
    /// - Returns: the number of operations that were new.
    /// - Throws: `SyncError` for a row without type or id, `SQLiteError`.
    package func save(_ line: DataLine, size: Int) throws -> Int {
        if tuning.usesFastPaths {
            var position = WaitingPosition(stored: try position(ofBucket: line.bucket))
            let count = position.admit(line.operations)
            try save([WaitingLine(line: line, size: size)], expecting: [:])
            return count
        }
        let bucket = try bucketRow(line.bucket)
        guard !line.operations.isEmpty else { return 0 }
        var writer = OperationWriter(bucket: bucket)
        for operation in line.operations where operation.id > writer.totals.lastOp {
            try writer.store(operation, on: connection)
        }
        try add(writer.totals, size: size, to: bucket)
        return writer.totals.count
    }

    /// Adds what lines came to to their bucket.
    func add(_ totals: OperationTotals, size: Int, to bucket: BucketRow) throws {
        try connection.run(
            """
            UPDATE ps_buckets SET last_op = ?1, add_checksum = (add_checksum + ?2) & 4294967295,
            op_checksum = (op_checksum + ?3) & 4294967295, count_since_last = count_since_last + ?4,
            downloaded_size = downloaded_size + ?5 WHERE id = ?6
            """,
            [
                .integer(totals.lastOp), .integer(Int64(totals.superseded.value)),
                .integer(Int64(totals.present.value)), .integer(Int64(totals.count)), .integer(Int64(size)),
                .integer(bucket.id),
            ])
    }

    /// Returns the row of a bucket, a new one where there is none.
    func bucketRow(_ name: String) throws -> BucketRow {
        let known = try connection.one(
            "SELECT id, last_applied_op, last_op FROM ps_buckets WHERE name = ?1", [.text(name)]
        ) { BucketRow(id: $0.int64(0), lastAppliedOp: $0.int64(1), lastOp: $0.int64(2), isNew: false) }
        if let known { return known }
        try connection.run("INSERT INTO ps_buckets(name) VALUES (?1)", [.text(name)])
        return BucketRow(id: connection.lastInsertRowID, lastAppliedOp: 0, lastOp: 0, isNew: true)
    }

    /// Deletes all operations of a bucket, noting their rows first.
    static func dropOperations(of bucket: Int64, on connection: SQLiteConnection) throws {
        try connection.run(
            """
            INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id)
            SELECT row_type, row_id FROM ps_oplog WHERE bucket = ?1
            """, [.integer(bucket)])
        try connection.run("DELETE FROM ps_oplog WHERE bucket = ?1", [.integer(bucket)])
    }

    /// Deletes buckets; their rows disappear from the app's tables with the next complete checkpoint.
    package func deleteBuckets(_ names: [String]) throws {
        for name in names {
            let id = try connection.one("DELETE FROM ps_buckets WHERE name = ?1 RETURNING id", [.text(name)])
            {
                $0.int64(0)
            }
            if let id { try Self.dropOperations(of: id, on: connection) }
        }
    }
}

/// A row of `ps_buckets`, as far as storing needs it.
struct BucketRow {
    let id: Int64
    let lastAppliedOp: OperationID
    let lastOp: OperationID
    /// Whether it was made just now, so that nothing is stored of it.
    let isNew: Bool
}

/// The running totals of lines of one bucket.
struct OperationTotals {
    /// The highest operation so far; what is not above it was stored before.
    var lastOp: OperationID
    /// New operations.
    var count = 0
    /// Change of the sum over operations that are not present.
    var superseded = Checksum.zero
    /// Change of the sum over operations that are present.
    var present = Checksum.zero

    init(lastOp: OperationID) { self.lastOp = lastOp }

    /// Counts an operation that was present as one that is not.
    mutating func supersede(_ checksum: Checksum) {
        superseded += checksum
        present -= checksum
    }
}

/// Stores operations one after the other, which is the definition of what storing many at once must come to.
private struct OperationWriter {
    let bucket: Int64
    var totals: OperationTotals
    /// A bucket that was never applied shows no rows that a REMOVE could take away.
    private var hasVisibleRows: Bool

    init(bucket: BucketRow) {
        self.bucket = bucket.id
        totals = OperationTotals(lastOp: bucket.lastOp)
        hasVisibleRows = bucket.lastAppliedOp != 0
    }

    mutating func store(_ operation: Operation, on connection: SQLiteConnection) throws {
        totals.lastOp = operation.id
        totals.count += 1
        switch operation.kind {
        case .put:
            guard let type = operation.objectType, let id = operation.objectID else {
                throw SyncError.rowWithoutName
            }
            let key = Self.key(type, id, operation.subkey)
            _ = try supersede(key, on: connection)
            try connection.run(
                """
                INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                """,
                [
                    .integer(bucket), .integer(operation.id), .text(type), .text(id), .text(key),
                    SQLiteValue(operation.data), .integer(Int64(operation.checksum.signed)),
                ])
            totals.present += operation.checksum
        case .remove:
            if let type = operation.objectType, let id = operation.objectID,
                try supersede(Self.key(type, id, operation.subkey), on: connection), hasVisibleRows
            {
                try connection.run(
                    "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?1, ?2)",
                    [.text(type), .text(id)])
            }
            totals.superseded += operation.checksum
        case .move: totals.superseded += operation.checksum
        case .clear:
            try SyncStore.dropOperations(of: bucket, on: connection)
            try connection.run(
                "UPDATE ps_buckets SET last_applied_op = 0, add_checksum = ?1, op_checksum = 0 WHERE id = ?2",
                [.integer(Int64(operation.checksum.value)), .integer(bucket)])
            totals.superseded = .zero
            totals.present = .zero
            hasVisibleRows = false
        }
    }

    /// The supersede key (client-core 5.5): joined by slashes, the literal `null` for no subkey.
    private static func key(_ type: String, _ id: String, _ subkey: String?) -> String {
        "\(type)/\(id)/\(subkey ?? "null")"
    }

    /// Takes away the operations with that key; returns whether there was one.
    private mutating func supersede(_ key: String, on connection: SQLiteConnection) throws -> Bool {
        let parameters: [SQLiteValue] = [.integer(bucket), .text(key)]
        // Most keys are new, and looking is cheaper than deleting nothing.
        let hashes = try connection.query(
            "SELECT hash FROM ps_oplog WHERE bucket = ?1 AND key = ?2", parameters
        ) { Checksum(truncating: $0.int64(0)) }
        guard !hashes.isEmpty else { return false }
        try connection.run("DELETE FROM ps_oplog WHERE bucket = ?1 AND key = ?2", parameters)
        for hash in hashes {
            totals.supersede(hash)
        }
        return true
    }
}
