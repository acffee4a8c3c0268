import PowerSyncSQLite
import PowerSyncWire

/// Storing what data lines bring (client-core 6.6).
extension SyncStore {
    /// Stores the operations of data lines.
    ///
    /// An operation that is not above everything seen of its bucket was stored before, by a line of an earlier
    /// connection or of this one; it changes nothing. The official core counts it twice and then fails the checksum.
    ///
    /// - Parameter lines: the lines in the order of the stream.
    /// - Returns: for each bucket of the lines the number of operations that were new.
    /// - Throws: `SQLiteError`.
    package func save(_ lines: [StorableLine]) throws -> [ExactText: Int] {
        var names: [ExactText] = []
        var parts: [ExactText: (lists: [OperationList], size: Int)] = [:]
        for storable in lines {
            let name = ExactText(storable.line.bucket)
            if parts[name] == nil {
                names.append(name)
                parts[name] = ([], 0)
            }
            // A line without operations only makes its bucket known.
            if storable.line.operations.isEmpty { continue }
            parts[name]?.lists.append(storable.line.operations)
            parts[name]?.size += storable.size
        }
        return try SegmentWriter.lend(connection) { writer in
            var counts: [ExactText: Int] = [:]
            for name in names {
                guard let part = parts[name] else { continue }
                counts[name] = try save(part.lists, size: part.size, in: bucketRow(name.text), by: &writer)
            }
            return counts
        }
    }

    private func save(
        _ lists: [OperationList], size: Int, in bucket: BucketRow, by writer: inout SegmentWriter
    ) throws -> Int {
        guard !lists.isEmpty else { return 0 }
        try writer.begin(bucket)
        for segment in OperationSegments(lists, after: bucket.lastOp) {
            try writer.store(segment, lists)
        }
        try add(writer.totals, size: size, to: bucket)
        return writer.totals.count
    }

    /// Adds what lines came to to their bucket.
    private func add(_ totals: OperationTotals, size: Int, to bucket: BucketRow) throws {
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
    private func bucketRow(_ name: String) throws -> BucketRow {
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
