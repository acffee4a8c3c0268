import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncWire

/// A bucket at a checkpoint.
package struct BucketState: Sendable, Equatable {
    /// Its id in the state file; nil as long as no row was in it.
    package var id: Int64?
    /// The sum of its operations' checksums.
    package var checksum: Checksum
    /// How many operations it holds.
    package var count: Int64
    /// Its last operation; may lie behind the checkpoint, never before it.
    package var lastOperation: Int64

    /// A bucket without rows.
    package static let empty = BucketState(id: nil, checksum: .zero, count: 0, lastOperation: 0)

    /// Makes a state of its fields.
    package init(id: Int64?, checksum: Checksum, count: Int64, lastOperation: Int64) {
        self.id = id
        self.checksum = checksum
        self.count = count
        self.lastOperation = lastOperation
    }
}

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
    /// The totals of a bucket are those of now; what lies behind the operation id is taken off, which is
    /// little, since
    /// checkpoints follow each other closely.
    ///
    /// - Parameters:
    ///   - names: The buckets.
    ///   - stream: Whose they are.
    ///   - operation: The last operation that counts.
    /// - Returns: A state for each bucket that exists.
    /// - Throws: `SQLiteError`.
    package func states(
        of names: [String], stream: StreamNumber, at operation: Int64
    ) async throws -> [ExactText: BucketState] {
        let list = JSON.array(names.map { .string($0) }).text
        return try await pool.read { connection in
            // One reading transaction: totals and tails must be of the same moment.
            try connection.execute("BEGIN")
            defer { connection.rollBack() }
            var states: [ExactText: BucketState] = [:]
            try connection.forEach(
                "SELECT name, id, checksum, count, last_op FROM bucket "
                    + "WHERE stream = ? AND name IN (SELECT value FROM json_each(?))",
                [.integer(stream), .text(list)]
            ) { row in
                states[ExactText(row.string(0))] = BucketState(
                    id: row.int64(1), checksum: Checksum(truncating: row.int64(2)), count: row.int64(3),
                    lastOperation: row.int64(4))
            }
            for (name, state) in states where state.lastOperation > operation {
                let tail = try connection.one(
                    "SELECT coalesce(sum(checksum), 0), count(*) FROM operation WHERE bucket = ? AND op_id > ?",
                    [SQLiteValue(state.id), .integer(operation)]
                ) { ($0.int64(0), $0.int64(1)) }
                states[name]?.checksum -= Checksum(truncating: tail?.0 ?? 0)
                states[name]?.count -= tail?.1 ?? 0
            }
            return states
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
    /// - Throws: `SQLiteError`.
    package func chunk(
        bucket: Int64, after: Int64, upTo last: Int64, rows: Int, bytes: Int
    ) async throws -> BucketChunk {
        try await pool.read { connection in
            let statement = try connection.prepare(Self.chunkSQL)
            defer { statement.reset() }
            try statement.bind([.integer(bucket), .integer(after), .integer(last), .integer(Int64(rows))])
            var chunk = BucketChunk(operations: [], isCut: false)
            var size = 0
            while try statement.step() {
                let operation = try Self.operation(try statement.row())
                size += operation.data?.utf8.count ?? 0
                if size > bytes, !chunk.operations.isEmpty {
                    chunk.isCut = true
                    return chunk
                }
                chunk.operations.append(operation)
            }
            chunk.isCut = chunk.operations.count == rows
            return chunk
        }
    }

    private static let chunkSQL = """
        SELECT o.op_id, o.kind, o.object_type, o.object_id, t.uuid, o.replica_id, o.checksum, o.data
        FROM operation o LEFT JOIN source_table t ON t.id = o.source_table
        WHERE o.bucket = ? AND o.op_id > ? AND o.op_id <= ? ORDER BY o.op_id LIMIT ?
        """

    private static func operation(_ row: SQLiteRow) throws -> Operation {
        guard let kind = OperationKind(rawValue: row.int64(1)) else {
            throw StoreError(message: "The state file holds an operation of an unknown kind.")
        }
        var subkey: String?
        if let uuid = row.text(4), let id = row.blob(5) {
            subkey = "\(uuid)/\(try ReplicaID(stored: id).text)"
        }
        return Operation(
            id: row.int64(0), kind: kind.wire, objectType: row.text(2), objectID: row.text(3), subkey: subkey,
            checksum: Checksum(truncating: row.int64(6)), data: row.text(7))
    }
}
