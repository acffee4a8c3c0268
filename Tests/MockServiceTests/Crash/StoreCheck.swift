import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncWire

@testable import PowerSyncServiceEngine

/// What must hold of the file of a state, at whatever moment its service ended.
///
/// The operations of every bucket are what its totals say, also at the checkpoint, ids ascend and none is given twice,
/// the counter is behind all of them; the places of source rows are those of their operations, and of what lookups find;
/// nothing that was acknowledged is missing, and nothing that was published goes back.
struct StoreCheck {
    /// A row that a client holds.
    struct HeldRow: Sendable, Hashable {
        /// The client's table.
        let type: String
        /// The client's id.
        let id: String
        /// The row as JSON text.
        let data: String

        /// Makes a row.
        init(type: String, id: String, data: String) {
            self.type = type
            self.id = id
            self.data = data
        }
    }

    /// What is wrong; empty if nothing is.
    private(set) var problems: [String] = []
    /// The last operation id that was ever given, as the file says.
    private(set) var lastOperation: OperationID = 0
    /// The streams, those that have been stopped, too.
    private(set) var streams: [StreamNumber: StreamRecord] = [:]
    /// What clients hold of each bucket at the checkpoint of its stream, by whole name; none without rows.
    private(set) var rows: [ExactText: Set<HeldRow>] = [:]
    private var writeCheckpoints: [ExactText: Int64] = [:]
    private let limits: StoreLimits

    /// Looks at a file, which SQLite brings to its last commit first.
    ///
    /// - Parameters:
    ///   - path: The file; nobody else may have it open. One that is missing, or without tables, holds nothing.
    ///   - promises: What the service had told when it ended.
    ///   - limits: What its segments were small by.
    /// - Throws: `SQLiteError` or `StoreError` if the file cannot be read, which is as wrong as all the rest.
    init(
        path: String, keeps promises: StorePromises = StorePromises(), limits: StoreLimits = StoreLimits()
    ) throws {
        self.limits = limits
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        // All of one moment.
        try connection.execute("BEGIN")
        let version = try connection.one("PRAGMA user_version") { $0.int64(0) } ?? 0
        if version == StoreSchema6.version {
            try readPositions(connection)
            try readOperations(StoredOperations(connection))
            try checkLookups(connection)
            try checkCustomWriteCheckpoints(connection)
        } else {
            check(version == 0, "the file has version \(version), not \(StoreSchema6.version)")
        }
        checkAcknowledged(promises)
        for (stream, checkpoints) in promises.published { checkPublished(checkpoints, of: stream) }
        let found = try connection.query("PRAGMA integrity_check") { $0.string(0) }
        check(found == ["ok"], "SQLite says: \(found)")
        try connection.execute("ROLLBACK")
    }

    mutating func check(_ condition: Bool, _ problem: String) {
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
        /// Over all of them, and over those that clients see.
        var all = BucketTotals.empty
        var covered = BucketTotals.empty
        /// Up to where clients see it.
        let visible: OperationID
        var small: Int64 = 0
        /// What clients hold, by type, id and subkey.
        var rows: [[ExactText]: HeldRow] = [:]
        /// What they would hold behind all operations.
        var newest: Set<[ExactText]> = []

        init(id: Int64, visible: OperationID) {
            self.visible = visible
            all.id = id
            covered.id = id
        }

        mutating func take(_ operation: Operation) {
            Self.add(operation, to: &all)
            let (type, id) = (operation.objectType ?? "", operation.objectID ?? "")
            let key = [type, id, operation.subkey ?? ""].map { ExactText($0) }
            let isVisible = operation.id <= visible
            if isVisible { Self.add(operation, to: &covered) }
            switch operation.kind {
            case .put:
                newest.insert(key)
                if isVisible { rows[key] = HeldRow(type: type, id: id, data: operation.data ?? "") }
            case .remove:
                newest.remove(key)
                if isVisible { rows[key] = nil }
            case .move: break
            case .clear:
                newest = []
                if isVisible { rows = [:] }
            }
        }

        private static func add(_ operation: Operation, to totals: inout BucketTotals) {
            totals.checksum += operation.checksum
            totals.count += 1
            totals.lastOperation = operation.id
        }
    }

    private mutating func readOperations(_ operations: StoredOperations) throws {
        let buckets = try operations.buckets()
        var contents: [Int64: Content] = [:]
        for (id, bucket) in buckets {
            contents[id] = Content(id: id, visible: streams[bucket.stream]?.checkpoint.operation ?? 0)
        }
        var ids: Set<OperationID> = []
        try operations.forEachSegment { segment in
            let (id, bucket) = (segment.id, segment.bucket)
            check(segment.isRight, "segment \(id) has not the operations that its row says")
            check(contents[bucket] != nil, "segment \(id) is of bucket \(bucket), which is not there")
            if segment.byteCount < limits.smallSegmentBytes { contents[bucket]?.small += 1 }
            for operation in segment.operations {
                let id = operation.id
                if !ids.insert(id).inserted { problems.append("operation \(id) stands twice") }
                if id < 1 || id > lastOperation {
                    problems.append("there is operation \(id), the counter is at \(lastOperation)")
                }
                let last = contents[bucket]?.all.lastOperation ?? 0
                if id <= last {
                    problems.append("operation \(id) of bucket \(bucket) stands behind \(last)")
                }
                contents[bucket]?.take(operation)
            }
        }
        // What stopped streams hold is deleted piece by piece.
        let live = buckets.filter { streams[$0.value.stream]?.isStopped != true }
        for (id, bucket) in live {
            guard let content = contents[id] else { continue }
            let whole = bucket.sums.totals(at: .max)
            check(
                whole == content.all,
                "bucket \(id) has the totals \(whole), its operations are \(content.all)")
            let seen = bucket.sums.totals(at: content.visible)
            check(
                seen == content.covered,
                "bucket \(id) has at its checkpoint \(seen), its operations are \(content.covered)")
            check(
                bucket.small == content.small,
                "bucket \(id) has \(content.small) small segments, and says \(bucket.small)")
            if !content.rows.isEmpty { rows[ExactText(bucket.name)] = Set(content.rows.values) }
        }
        try checkRows(operations, of: live.keys, contents)
    }

    /// Holds the places of source rows beside the rows that the operations of their buckets make.
    private mutating func checkRows(
        _ operations: StoredOperations, of buckets: some Sequence<Int64>, _ contents: [Int64: Content]
    ) throws {
        let types = try operations.outputTypes()
        let large = try operations.largeRows()
        var held: [Int64: Set<[ExactText]>] = [:]
        for row in try operations.rows() {
            for place in row.places.places {
                let key = [types[place.outputType] ?? "", place.objectID.text, row.subkey]
                held[place.bucket, default: []].insert(key.map { ExactText($0) })
            }
            let isLarge = large.contains([.integer(row.table), .blob(row.key.bytes)])
            check(
                isLarge == row.places.hasLargeValues,
                "the row \(row.subkey) \(isLarge ? "has large values unsaid" : "lacks its large values")")
        }
        for id in buckets {
            let (places, rows) = (held[id] ?? [], contents[id]?.newest ?? [])
            let differing = places.symmetricDifference(rows).map { $0.map(\.text).joined(separator: " ") }
            check(
                differing.isEmpty,
                "bucket \(id) has not the places of the source rows: \(differing.sorted())")
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
