import PowerSyncPostgres
import PowerSyncSQLite
import PowerSyncWire

/// What must hold of the file of a state, at whatever moment its service ended: for tests.
///
/// The operations of every bucket are what its totals say, ids ascend and none is given twice, the counter is behind
/// all of them; nothing that was acknowledged is missing, and nothing that was published goes back.
package struct StoreCheck {
    /// A row that a client holds.
    package struct HeldRow: Sendable, Hashable {
        /// The client's table.
        package let type: String
        /// The client's id.
        package let id: String
        /// The row as JSON text.
        package let data: String

        /// Makes a row.
        package init(type: String, id: String, data: String) {
            self.type = type
            self.id = id
            self.data = data
        }
    }

    /// What is wrong; empty if nothing is.
    package private(set) var problems: [String] = []
    /// The last operation id that was ever given, as the file says.
    package private(set) var lastOperation: OperationID = 0
    /// The streams, those that have been stopped, too.
    package private(set) var streams: [StreamNumber: StreamRecord] = [:]
    /// What clients hold of each bucket at the checkpoint of its stream, by whole name; none without rows.
    package private(set) var rows: [ExactText: Set<HeldRow>] = [:]
    private var writeCheckpoints: [ExactText: Int64] = [:]

    /// Looks at a file, which SQLite brings to its last commit first.
    ///
    /// - Parameters:
    ///   - path: The file; nobody else may have it open. One that is missing, or without tables, holds nothing.
    ///   - promises: What the service had told when it ended.
    ///   - operations: How the file holds operations.
    /// - Throws: `SQLiteError` or `StoreError` if the file cannot be read, which is as wrong as all the rest.
    package init(
        path: String, keeps promises: StorePromises = StorePromises(),
        in operations: any StoredOperations = OperationRows()
    ) throws {
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        // All of one moment.
        try connection.execute("BEGIN")
        let version = try connection.one("PRAGMA user_version") { $0.int64(0) } ?? 0
        if version == operations.version {
            try readPositions(connection)
            try readOperations(connection, operations)
        } else {
            check(version == 0, "the file has version \(version), not \(operations.version)")
        }
        checkAcknowledged(promises)
        for (stream, checkpoints) in promises.published { checkPublished(checkpoints, of: stream) }
        let found = try connection.query("PRAGMA integrity_check") { $0.string(0) }
        check(found == ["ok"], "SQLite says: \(found)")
        try connection.execute("ROLLBACK")
    }

    private mutating func check(_ condition: Bool, _ problem: String) {
        if !condition { problems.append(problem) }
    }

    private mutating func readPositions(_ connection: SQLiteConnection) throws {
        lastOperation = try connection.one("SELECT last_op FROM counter") { $0.int64(0) } ?? 0
        let records = try connection.query("SELECT \(ServiceStore.columns) FROM replication_stream") {
            ServiceStore.record($0)
        }
        for record in records {
            streams[record.number] = record
            let (number, checkpoint) = (record.number, record.checkpoint)
            check(
                record.lastOperation <= lastOperation,
                "stream \(number) has operation \(record.lastOperation), the counter is at \(lastOperation)")
            check(
                checkpoint.operation <= lastOperation,
                "stream \(number) has checkpoint \(checkpoint.operation), the counter is at \(lastOperation)")
            check(
                checkpoint.lsn <= record.appliedLSN,
                "stream \(number) has a checkpoint at \(checkpoint.lsn), applied is \(record.appliedLSN)")
        }
        let given = try connection.query("SELECT key, id FROM write_checkpoint") { row in
            (key: ExactText(row.string(0)), id: row.int64(1))
        }
        for (key, id) in given { writeCheckpoints[key] = id }
    }

    /// What is read of the operations of one bucket.
    private struct Content {
        var checksum = Checksum.zero
        var count: Int64 = 0
        var last: OperationID = 0
        /// Up to where clients see it.
        var visible: OperationID
        /// By type, id and subkey.
        var rows: [[ExactText]: HeldRow] = [:]

        var totals: String { StoredBucket.totals(count, last, checksum) }

        mutating func take(_ operation: Operation) {
            checksum += operation.checksum
            count += 1
            last = max(last, operation.id)
            guard operation.id <= visible else { return }
            let (type, id) = (operation.objectType ?? "", operation.objectID ?? "")
            let key = [type, id, operation.subkey ?? ""].map { ExactText($0) }
            switch operation.kind {
            case .put: rows[key] = HeldRow(type: type, id: id, data: operation.data ?? "")
            case .remove: rows[key] = nil
            case .move: break
            case .clear: rows = [:]
            }
        }
    }

    private mutating func readOperations(
        _ connection: SQLiteConnection, _ operations: any StoredOperations
    ) throws {
        let buckets = try operations.buckets(connection)
        var contents: [Int64: Content] = [:]
        for bucket in buckets {
            contents[bucket.id] = Content(visible: streams[bucket.stream]?.checkpoint.operation ?? 0)
        }
        var ids: Set<OperationID> = []
        try operations.forEach(connection) { bucket, operation in
            let id = operation.id
            if !ids.insert(id).inserted { problems.append("operation \(id) stands twice") }
            if id < 1 || id > lastOperation {
                problems.append("there is operation \(id), the counter is at \(lastOperation)")
            }
            guard let last = contents[bucket]?.last else {
                problems.append("operation \(id) is of bucket \(bucket), which is not there")
                return
            }
            if id < last {
                problems.append("operation \(id) of bucket \(bucket) stands behind \(last)")
            }
            contents[bucket]?.take(operation)
        }
        // What stopped streams hold is deleted piece by piece.
        for bucket in buckets where streams[bucket.stream]?.isStopped != true {
            guard let content = contents[bucket.id] else { continue }
            let (said, found) = (bucket.totals, content.totals)
            check(said == found, "bucket \(bucket.id) has the totals \(said), its operations are \(found)")
            if !content.rows.isEmpty { rows[ExactText(bucket.name)] = Set(content.rows.values) }
        }
    }

    private mutating func checkAcknowledged(_ promises: StorePromises) {
        for (stream, position) in promises.acknowledged {
            let stored = streams[stream]?.storedLSN ?? .zero
            check(
                stored >= position,
                "lost: \(position) of stream \(stream) was acknowledged, \(stored) is stored")
        }
        for (key, id) in promises.writeCheckpoints {
            let stored = writeCheckpoints[key] ?? 0
            check(stored >= id, "lost: write checkpoint \(id) was given, \(stored) is stored")
        }
    }

    private mutating func checkPublished(_ checkpoints: [StoredCheckpoint], of stream: StreamNumber) {
        let stored = streams[stream]?.checkpoint ?? StoredCheckpoint(operation: 0, lsn: .zero)
        for (before, next) in zip(checkpoints, checkpoints.dropFirst() + [stored]) {
            check(
                next.operation >= before.operation && next.lsn >= before.lsn,
                "went back: checkpoint \(before.operation) at \(before.lsn) of stream \(stream) was published, "
                    + "then comes \(next.operation) at \(next.lsn)")
        }
    }
}
