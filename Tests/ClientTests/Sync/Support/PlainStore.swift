import PowerSync
import PowerSyncSQLite
import PowerSyncWire

/// Stores one operation after the other and applies without a scan: what it leaves is what the store has to leave
/// (client-core 6.6).
struct PlainStore {
    private let store: SyncStore
    private var connection: SQLiteConnection { store.connection }

    init(_ store: SyncStore) {
        var tuning = store.tuning
        tuning.scannedRows = .max
        self.store = SyncStore(connection: store.connection, now: store.now, tuning: tuning)
    }

    /// Does a task as ``SyncStore/perform(_:)`` does it.
    func perform(_ task: SyncTask) throws -> SyncEvent? {
        guard case .save(let lines) = task else { return try store.perform(task) }
        var counts: [ExactText: Int] = [:]
        for line in lines { counts[ExactText(line.line.bucket), default: 0] += try save(line) }
        return .saved(counts)
    }

    /// Returns the number of operations that were new.
    private func save(_ storable: StorableLine) throws -> Int {
        let line = storable.line
        try connection.run(
            "INSERT INTO ps_buckets(name) VALUES (?1) ON CONFLICT(name) DO NOTHING", [.text(line.bucket)])
        var bucket = try Bucket(line.bucket, connection)
        for operation in line.operations where operation.id > bucket.last {
            try bucket.store(operation, connection)
        }
        if !line.operations.isEmpty { try bucket.write(size: storable.size, connection) }
        return bucket.count
    }

    private struct Bucket {
        let id: Int64
        var last: Int64
        var count = 0
        private var superseded: Int64
        private var present: Int64
        /// A bucket that was never applied shows no rows that a REMOVE could take away.
        private var hasVisibleRows: Bool

        init(_ name: String, _ connection: SQLiteConnection) throws {
            let row = try connection.one(
                """
                SELECT id, last_op, add_checksum, op_checksum, last_applied_op FROM ps_buckets WHERE name = ?1
                """, [.text(name)]
            ) { row in (0..<5).map { row.int64($0) } }
            guard let row else { throw ScriptError("bucket \(name) has no row") }
            id = row[0]
            last = row[1]
            superseded = row[2]
            present = row[3]
            hasVisibleRows = row[4] != 0
        }

        mutating func store(_ operation: Operation, _ connection: SQLiteConnection) throws {
            last = operation.id
            count += 1
            let checksum = Int64(operation.checksum.value)
            switch operation.kind {
            case .put:
                guard let type = operation.objectType, let id = operation.objectID else {
                    throw ScriptError("operation \(operation.id) names no row")
                }
                let key = "\(type)/\(id)/\(operation.subkey ?? "null")"
                _ = try supersede(key, connection)
                try connection.run(
                    """
                    INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
                    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                    """,
                    [
                        .integer(self.id), .integer(operation.id), .text(type), .text(id), .text(key),
                        SQLiteValue(operation.data), .integer(Int64(operation.checksum.signed)),
                    ])
                present += checksum
            case .remove:
                superseded += checksum
                guard let type = operation.objectType, let id = operation.objectID else { return }
                let key = "\(type)/\(id)/\(operation.subkey ?? "null")"
                guard try supersede(key, connection), hasVisibleRows else { return }
                try connection.run(
                    "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?1, ?2)",
                    [.text(type), .text(id)])
            case .move: superseded += checksum
            case .clear:
                try connection.run(
                    """
                    INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id)
                    SELECT row_type, row_id FROM ps_oplog WHERE bucket = ?1
                    """, [.integer(id)])
                try connection.run("DELETE FROM ps_oplog WHERE bucket = ?1", [.integer(id)])
                try connection.run("UPDATE ps_buckets SET last_applied_op = 0 WHERE id = ?1", [.integer(id)])
                superseded = checksum
                present = 0
                hasVisibleRows = false
            }
        }

        /// Takes away the operations with that key; returns whether there was one.
        private mutating func supersede(_ key: String, _ connection: SQLiteConnection) throws -> Bool {
            let hashes = try connection.query(
                "DELETE FROM ps_oplog WHERE bucket = ?1 AND key = ?2 RETURNING hash",
                [.integer(id), .text(key)]
            ) { $0.int64(0) }
            for hash in hashes {
                superseded += hash
                present -= hash
            }
            return !hashes.isEmpty
        }

        func write(size: Int, _ connection: SQLiteConnection) throws {
            try connection.run(
                """
                UPDATE ps_buckets SET last_op = ?1, add_checksum = ?2 & 4294967295,
                op_checksum = ?3 & 4294967295, count_since_last = count_since_last + ?4,
                downloaded_size = downloaded_size + ?5 WHERE id = ?6
                """,
                [
                    .integer(last), .integer(superseded), .integer(present), .integer(Int64(count)),
                    .integer(Int64(size)), .integer(id),
                ])
        }
    }
}
