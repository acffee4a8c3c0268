import PowerSyncSQLite
import PowerSyncWire

/// One changed row on top of a synced database: diff, data and complete line, parsing included, beside a bare
/// transaction that writes the same rows of the same tables.
enum OneChangeBenchmark {
    private static let warmUp = 50
    private static let samples = 500

    /// Measures on top of a number of rows.
    static func run(rows count: Int) throws -> BenchmarkReport.Row {
        BenchmarkReport.progress("one change on top of \(count) rows: syncing them")
        let rows = BenchmarkRows(count: count)
        let database = try BenchmarkDatabase()
        defer { database.close() }
        try database.install(BenchmarkRows.table)
        var sync = try BenchmarkSync(database.connection)
        try rows.forEachLine { try sync.take($0) }
        let copy = try BenchmarkDatabase(copying: database)
        defer { copy.close() }
        let bare = try BareChange(copy)
        defer { bare.finalize() }
        var changes = Changes(of: rows)
        var times = PairedTimes()
        for sample in 0..<warmUp + samples {
            let change = changes.next()
            let limit = try ContinuousClock().measure { try bare.write(change) }
            let ours = try ContinuousClock().measure { for line in change.lines { try sync.take(line) } }
            if sample >= warmUp { times.add(ours: ours, limit: limit) }
        }
        let applied = try database.connection.one("SELECT last_applied_op FROM ps_buckets") { $0.int64(0) }
        guard applied == changes.lastOpID else { throw BenchmarkError("not all changes were applied") }
        BenchmarkReport.progress("one change on top of \(count) rows: \(times.last)")
        return times.row("one change on \(count) rows", goal: "≤ 340 µs")
    }
}

/// A new version of one row.
private struct Change {
    let lines: [[UInt8]]
    let operationID: Int64
    /// Id, key and JSON of the row, in this order.
    let bytes: [UInt8]
    let id: Range<Int>
    let key: Range<Int>
    let data: Range<Int>
}

/// Changes of random rows, one after the other.
private struct Changes {
    private let rows: BenchmarkRows
    private var random = SplitMix(seed: 7)
    private var checksum: Checksum
    private(set) var lastOpID: Int64

    init(of rows: BenchmarkRows) {
        self.rows = rows
        checksum = rows.checksum
        lastOpID = Int64(rows.count)
    }

    mutating func next() -> Change {
        let row = Int.random(in: 0..<rows.count, using: &random)
        let before = rows.operation(row)
        let id = rows.text(rows.id(row))
        let key = rows.text(rows.keys[row])
        let data = BenchmarkRows.json(id, row, &random)
        let previous = lastOpID
        lastOpID += 1
        checksum += Checksum(1)
        let whole = BucketChecksum(
            bucket: BenchmarkRows.bucket, checksum: checksum, priority: 3, count: lastOpID)
        let operation = Operation(
            id: lastOpID, kind: .put, objectType: "todos", objectID: id, subkey: before.subkey,
            checksum: Checksum(1), data: data)
        let lines: [SyncLine] = [
            .checkpointDiff(CheckpointDiff(lastOpID: lastOpID, updatedBuckets: [whole], removedBuckets: [])),
            .data(
                DataLine(
                    bucket: BenchmarkRows.bucket, after: previous, hasMore: false, operations: [operation])),
            .checkpointComplete(lastOpID: lastOpID),
        ]
        let ends = [id, key, data].reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.utf8.count) }
        return Change(
            lines: lines.map { $0.encoded() }, operationID: lastOpID, bytes: Array((id + key + data).utf8),
            id: ends[0]..<ends[1], key: ends[1]..<ends[2], data: ends[2]..<ends[3])
    }
}

/// The statements that must run at least.
private struct BareChange {
    private let statements: [BareStatement]

    init(_ database: BenchmarkDatabase) throws {
        statements = try [
            "BEGIN IMMEDIATE", "DELETE FROM ps_oplog WHERE bucket = 1 AND key = ?",
            """
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
            VALUES (1, ?, 'todos', ?, ?, ?, 1)
            """,
            "UPDATE ps_data__todos SET data = ? WHERE id = ?",
            """
            UPDATE ps_buckets SET last_op = ?1, last_applied_op = ?1, op_checksum = op_checksum + 1 WHERE id = 1
            """,
            "COMMIT",
        ].map { try database.prepare($0) }
    }

    func finalize() { for statement in statements { statement.finalize() } }

    func write(_ change: Change) throws {
        try change.bytes.withUnsafeBufferPointer { bytes in
            statements[1].bind(1, bytes, change.key)
            statements[2].bind(1, change.operationID)
            statements[2].bind(2, bytes, change.id)
            statements[2].bind(3, bytes, change.key)
            statements[2].bind(4, bytes, change.data)
            statements[3].bind(1, bytes, change.data)
            statements[3].bind(2, bytes, change.id)
            statements[4].bind(1, change.operationID)
            for statement in statements { try statement.run() }
        }
    }
}
