import PowerSyncSQLite
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// Operations of one bucket that fit into one line, as streams had them before there were frames.
struct BucketChunk: Sendable, Equatable {
    /// The operations, ascending.
    var operations: [Operation]
    /// Whether the chunk ended before the bucket did, or at the number of rows asked for.
    var isCut: Bool
}

extension StoreReading {
    /// Reads operations of one bucket for one line (service 3.4).
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id.
    ///   - after: The operation behind which to begin.
    ///   - last: The last operation that may be read.
    ///   - rows: At most that many operations.
    ///   - bytes: At most that many bytes of data, and of ids of REMOVEs, unless one operation alone is larger.
    ///   - connection: One that reads, without a transaction.
    /// - Returns: The operations.
    /// - Throws: `SQLiteError`; `StoreError` if a segment cannot be read.
    static func chunk(
        bucket: Int64, after: OperationID, upTo last: OperationID, rows: Int, bytes: Int,
        _ connection: SQLiteConnection
    ) throws -> BucketChunk {
        // Names and segments are of one moment, or a table that was removed meanwhile would have no uuid.
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        var names = OperationNames()
        var chunk = BucketChunk(operations: [], isCut: false)
        var size = 0
        try forEachOperation(of: bucket, after: after, upTo: last, connection) { entry, segment in
            switch entry.record.content {
            case .put(_, let data): size += data.count
            case .remove(let row): size += row.objectID.count
            case .move, .clear: break
            }
            if size > bytes, !chunk.operations.isEmpty {
                chunk.isCut = true
                return false
            }
            chunk.operations.append(try names.operation(entry, segment, connection))
            return chunk.operations.count < rows
        }
        if chunk.operations.count == rows { chunk.isCut = true }
        return chunk
    }

    /// Reads the totals of buckets at an operation, which need not be that of the newest checkpoint.
    ///
    /// At the newest checkpoint it looks each bucket up and nothing else. At another one, which was the newest a moment
    /// ago, it takes off what lies behind, of those buckets that have been written to since.
    ///
    /// - Parameters:
    ///   - names: The buckets, by whole name.
    ///   - stream: Whose they are.
    ///   - operation: The last operation that counts.
    ///   - connection: One that reads, without a transaction.
    /// - Returns: The totals of the buckets that exist, by whole name.
    /// - Throws: `SQLiteError`; `StoreError` if a row cannot be read.
    static func totals(
        of names: [String], stream: StreamNumber, at operation: OperationID, _ connection: SQLiteConnection
    ) throws -> [ExactText: BucketTotals] {
        // One reading transaction: sums, checkpoint and segments must be of the same moment.
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        let newest = try connection.one(
            "SELECT checkpoint_op FROM replication_stream WHERE id = ?", [.integer(stream)]
        ) { $0.int64(0) }
        var totals: [ExactText: BucketTotals] = [:]
        try forEachBucket(named: names, of: stream, connection) { name, sums in
            let isWhole = max(sums.covered.lastOperation, sums.tail.lastOperation) <= operation
            totals[name] =
                try isWhole || operation == newest
                ? sums.totals(at: operation) : Self.totals(of: sums, at: operation, connection)
        }
        return totals
    }

    /// Takes off what lies behind an operation that is not the newest checkpoint's.
    private static func totals(
        of sums: BucketSums, at operation: OperationID, _ connection: SQLiteConnection
    ) throws -> BucketTotals {
        var totals = sums.totals(at: .max)
        let bucket = SQLiteValue.integer(sums.id)
        totals.lastOperation =
            try connection.one(
                "SELECT coalesce(max(last_op), 0) FROM segment WHERE bucket = ? AND last_op <= ?",
                [bucket, .integer(operation)]
            ) { $0.int64(0) } ?? 0
        try connection.forEach(
            "SELECT first_op, count, checksum, body FROM segment WHERE bucket = ? AND last_op > ? ORDER BY last_op",
            [bucket, .integer(operation)]
        ) { row in
            guard row.int64(0) <= operation else {
                totals.count -= row.int64(1)
                totals.checksum -= Checksum(truncating: row.int64(2))
                return
            }
            try row.withBlob(3) { bytes in
                var segment = try SegmentBody(bytes)
                while let entry = try segment.next() {
                    if entry.id <= operation {
                        totals.lastOperation = entry.id
                    } else {
                        totals.count -= 1
                        totals.checksum -= entry.record.checksum
                    }
                }
            }
        }
        return totals
    }
}

extension ServiceStore {
    /// The totals of buckets at an operation id (service 4.3).
    func states(
        of names: [String], stream: StreamNumber, at operation: OperationID
    ) async throws -> [ExactText: BucketTotals] {
        try await pool.read { connection in
            try StoreReading.totals(of: names, stream: stream, at: operation, connection)
        }
    }

    /// Reads operations of one bucket for one line (service 3.4).
    func chunk(
        bucket: Int64, after: OperationID, upTo last: OperationID, rows: Int, bytes: Int
    ) async throws -> BucketChunk {
        try await pool.read { connection in
            try StoreReading.chunk(
                bucket: bucket, after: after, upTo: last, rows: rows, bytes: bytes, connection)
        }
    }

    /// What is stored of a client's write checkpoints; nil if it has asked for none.
    func writeCheckpoint(key: String) async throws -> StoredWriteCheckpoint? {
        try await pool.read { try ServiceStore.writeCheckpoint(key: key, $0) }
    }
}

extension StreamSession {
    /// Takes what was read.
    ///
    /// - Parameters:
    ///   - chunk: The operations.
    ///   - read: What was asked for.
    /// - Returns: The line to send, nil if there was nothing.
    mutating func received(_ chunk: BucketChunk, for read: BucketRead) -> SyncLine? {
        guard let last = chunk.operations.last else {
            received(nil, for: read)
            return nil
        }
        received(
            LinePart(last: last.id, count: chunk.operations.count, hasMore: chunk.isCut), for: read)
        return .data(
            DataLine(
                bucket: read.name, after: read.after, nextAfter: last.id, hasMore: chunk.isCut,
                operations: OperationList(chunk.operations)))
    }
}
