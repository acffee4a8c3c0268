import PowerSyncSQLite
import PowerSyncWire

/// A bucket as a stream sees it.
package typealias BucketState = BucketTotals

/// Operations of one bucket that fit into one line.
package struct BucketChunk: Sendable, Equatable {
    /// The operations, ascending.
    package var operations: [Operation]
    /// Whether the chunk ended before the bucket did, or at the number of rows asked for.
    package var isCut: Bool

    /// Makes a chunk.
    package init(operations: [Operation], isCut: Bool) {
        self.operations = operations
        self.isCut = isCut
    }
}

extension ServiceStore {
    /// The states of buckets at an operation id (service 4.3).
    ///
    /// - Parameters:
    ///   - names: The buckets.
    ///   - stream: Whose they are.
    ///   - operation: The last operation that counts; at any but that of the newest checkpoint a bucket costs the segments
    ///     behind it.
    /// - Returns: A state for each bucket that exists.
    /// - Throws: `SQLiteError`; `StoreError` if a row cannot be read.
    package func states(
        of names: [String], stream: StreamNumber, at operation: OperationID
    ) async throws -> [ExactText: BucketState] {
        try await pool.read { connection in
            try StoreReading.totals(of: names, stream: stream, at: operation, connection)
        }
    }

    /// Reads operations of one bucket for one line (service 3.4).
    ///
    /// - Parameters:
    ///   - bucket: The bucket's id.
    ///   - after: The operation behind which to begin.
    ///   - last: The last operation that may be read.
    ///   - rows: At most that many operations.
    ///   - bytes: At most that many bytes of data, unless one operation alone is larger.
    /// - Returns: The operations.
    /// - Throws: `SQLiteError`; `StoreError` if a segment cannot be read.
    package func chunk(
        bucket: Int64, after: OperationID, upTo last: OperationID, rows: Int, bytes: Int
    ) async throws -> BucketChunk {
        try await pool.read { connection in
            try StoreReading.chunk(
                bucket: bucket, after: after, upTo: last, rows: rows, bytes: bytes, connection)
        }
    }
}
