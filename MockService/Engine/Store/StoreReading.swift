import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncWire

/// What a stream that opens sees: a checkpoint, and its buckets at that checkpoint (DESIGN.md, 2).
package struct StoredView: Sendable, Equatable {
    /// The newest checkpoint of the replication stream.
    package let checkpoint: StoredCheckpoint
    /// The totals of the buckets that exist, by whole name.
    package let buckets: [ExactText: BucketTotals]
    /// What is stored of its client's write checkpoints; nil if there are none.
    package let writeCheckpoint: StoredWriteCheckpoint?
}

/// Reads the file of version 6 for streams.
package enum StoreReading {
    /// Reads the newest checkpoint, the totals of buckets and the write checkpoint of a client, all of one moment.
    ///
    /// It looks each bucket up and nothing else, whatever has been written behind the checkpoint.
    ///
    /// - Parameters:
    ///   - names: The buckets, by whole name.
    ///   - stream: Whose they are.
    ///   - key: By what the client's write checkpoints are kept; nil for nobody's.
    ///   - isCustom: Whether rows of the source set these.
    ///   - connection: One that reads, without a transaction.
    /// - Returns: The view.
    /// - Throws: `SQLiteError`; `StoreError` if the stream is gone or a row cannot be read.
    package static func view(
        of names: [String], stream: StreamNumber, key: String? = nil, isCustom: Bool = false,
        _ connection: SQLiteConnection
    ) throws -> StoredView {
        // One reading transaction: what a bucket has behind the checkpoint is told by the checkpoint of the same
        // moment.
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        let checkpoint = try connection.one(
            "SELECT checkpoint_op, checkpoint_lsn FROM replication_stream WHERE id = ?", [.integer(stream)]
        ) { row in
            StoredCheckpoint(
                operation: row.int64(0), lsn: LSN(rawValue: UInt64(bitPattern: row.int64(1))))
        }
        guard let checkpoint else { throw StoreError.noStream }
        var buckets: [ExactText: BucketTotals] = [:]
        try forEachBucket(named: names, of: stream, connection) { name, sums in
            buckets[name] = sums.totals(at: checkpoint.operation)
        }
        return StoredView(
            checkpoint: checkpoint, buckets: buckets,
            writeCheckpoint: try key.flatMap {
                try ServiceStore.writeCheckpoint(
                    key: $0, isCustom: isCustom, of: stream, at: checkpoint.operation, connection)
            })
    }

    /// Looks buckets up by their whole names; one with the prefix of another stream is none of this one.
    ///
    /// - Parameters:
    ///   - names: The buckets.
    ///   - stream: Whose they are.
    ///   - connection: One that reads, in a transaction.
    ///   - body: Gets each one that exists.
    /// - Throws: `SQLiteError`; `StoreError` if a row cannot be read; what `body` throws.
    static func forEachBucket(
        named names: [String], of stream: StreamNumber, _ connection: SQLiteConnection,
        _ body: (ExactText, BucketSums) throws -> Void
    ) throws {
        let prefix = "\(stream)#"
        let own = names.filter { $0.utf8.starts(with: prefix.utf8) }.map { name -> JSON in
            .string(String(decoding: name.utf8.dropFirst(prefix.utf8.count), as: UTF8.self))
        }
        try connection.forEach(bucketSQL, [.integer(stream), .text(JSON.array(own).text)]) { row in
            try body(ExactText(prefix + row.string(0)), try sums(row, from: 1))
        }
    }

    /// The columns of a bucket that `sums(_:from:)` reads.
    package static let sumColumns = "id, checksum, count, last_op, tail_checksum, tail_count, tail_op"

    private static let bucketSQL =
        "SELECT name, \(sumColumns) FROM bucket WHERE stream = ? AND name IN (SELECT value FROM json_each(?))"

    /// Reads the sums of a bucket.
    ///
    /// - Parameters:
    ///   - row: A row with `sumColumns`.
    ///   - first: Where these begin, from 0.
    /// - Returns: The sums.
    /// - Throws: `StoreError` if they cannot be.
    package static func sums(_ row: SQLiteRow, from first: Int) throws(StoreError) -> BucketSums {
        BucketSums(
            id: row.int64(first),
            covered: try BucketSums.Sum(
                checksum: row.int64(first + 1), count: row.int64(first + 2),
                lastOperation: row.int64(first + 3)),
            tail: try BucketSums.Sum(
                checksum: row.int64(first + 4), count: row.int64(first + 5),
                lastOperation: row.int64(first + 6)))
    }

    /// Lends the operations of a bucket behind a position, in order.
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id.
    ///   - after: The operation behind which to begin.
    ///   - last: The last operation that may be read.
    ///   - connection: One that reads.
    ///   - body: Gets each operation, with the segment that lends its bytes; returns whether to go on.
    /// - Throws: `SQLiteError`; `StoreError` if a segment cannot be read; what `body` throws.
    package static func forEachOperation(
        of bucket: Int64, after: OperationID, upTo last: OperationID, _ connection: SQLiteConnection,
        _ body: (SegmentBody.Entry, SegmentBody) throws -> Bool
    ) throws {
        try connection.withStatement(segmentSQL) { statement in
            try statement.bind([.integer(bucket), .integer(after)])
            // Segments do not overlap, so the order of their ends is that of their operations.
            while try statement.step() {
                let row = try statement.row()
                guard row.int64(0) <= last else { return }
                let goesOn = try row.withBlob(1) { bytes in
                    var segment = try SegmentBody(bytes)
                    try segment.skip(through: after)
                    while let entry = try segment.next() {
                        guard entry.id <= last, try body(entry, segment) else { return false }
                    }
                    return true
                }
                guard goesOn else { return }
            }
        }
    }

    private static let segmentSQL =
        "SELECT first_op, body FROM segment WHERE bucket = ? AND last_op > ? ORDER BY last_op"
}
