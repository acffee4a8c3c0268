import PowerSyncSQLite
import PowerSyncWire

/// A bucket with its totals over all operations that are stored of it, behind the newest checkpoint, too.
package struct StoredBucket: Sendable {
    /// Its id in the file.
    package let id: Int64
    /// Whose it is.
    package let stream: StreamNumber
    /// The whole name, with the stream's number before it.
    package let name: String
    /// The sum of its operations' checksums.
    package let checksum: Checksum
    /// How many operations it holds.
    package let count: Int64
    /// Its last operation; 0 if there is none.
    package let lastOperation: OperationID

    /// Makes a bucket of its fields.
    package init(
        id: Int64, stream: StreamNumber, name: String, checksum: Checksum, count: Int64,
        lastOperation: OperationID
    ) {
        self.id = id
        self.stream = stream
        self.name = name
        self.checksum = checksum
        self.count = count
        self.lastOperation = lastOperation
    }

    /// What it says of its operations, for comparison and messages.
    var totals: String { Self.totals(count, lastOperation, checksum) }

    /// Totals in words.
    static func totals(_ count: Int64, _ last: OperationID, _ checksum: Checksum) -> String {
        "\(count) up to \(last), \(checksum)"
    }
}

/// How the file of a state holds buckets and operations: what `StoreCheck` has to know of a version.
package protocol StoredOperations: Sendable {
    /// The version of the files that it reads.
    var version: Int64 { get }

    /// Reads all buckets, of all streams.
    ///
    /// - Parameter connection: The open file.
    /// - Returns: The buckets.
    /// - Throws: `SQLiteError`, `StoreError`.
    func buckets(_ connection: SQLiteConnection) throws -> [StoredBucket]

    /// Reads all operations, those of one bucket in the order in which they are stored.
    ///
    /// - Parameters:
    ///   - connection: The open file.
    ///   - body: Gets the id of the bucket, which may be none that there is, and the operation.
    /// - Throws: `SQLiteError`, `StoreError`, and what `body` throws.
    func forEach(
        _ connection: SQLiteConnection, _ body: (_ bucket: Int64, _ operation: Operation) throws -> Void
    ) throws
}

/// Operations that are a row each.
package struct OperationRows: StoredOperations {
    /// The version whose files are so.
    package let version: Int64 = 5

    /// Makes a reader.
    package init() {}

    /// Reads all buckets.
    package func buckets(_ connection: SQLiteConnection) throws -> [StoredBucket] {
        try connection.query("SELECT id, stream, name, checksum, count, last_op FROM bucket") { row in
            StoredBucket(
                id: row.int64(0), stream: row.int64(1), name: row.string(2),
                checksum: Checksum(truncating: row.int64(3)), count: row.int64(4),
                lastOperation: row.int64(5))
        }
    }

    /// Reads all operations in the order of the table.
    package func forEach(
        _ connection: SQLiteConnection, _ body: (_ bucket: Int64, _ operation: Operation) throws -> Void
    ) throws {
        // Not by the index, which has an order of its own.
        let sql = """
            SELECT o.bucket, o.op_id, o.kind, o.object_type, o.object_id, t.uuid, o.replica_id, o.checksum, o.data
            FROM operation o NOT INDEXED LEFT JOIN source_table t ON t.id = o.source_table
            """
        try connection.forEach(sql) { row in
            guard let kind = OperationKind(rawValue: row.int64(2)) else { throw StoreError.unreadableRow }
            var subkey: String?
            if let uuid = row.text(5), let id = row.blob(6) {
                subkey = "\(uuid)/\(try ReplicaID(stored: id).text)"
            }
            let operation = Operation(
                id: row.int64(1), kind: kind.wire, objectType: row.text(3), objectID: row.text(4),
                subkey: subkey, checksum: Checksum(truncating: row.int64(7)), data: row.text(8))
            try body(row.int64(0), operation)
        }
    }
}
