import PowerSyncSQLite
import PowerSyncWire

/// The position of a bucket while its lines wait to be stored.
struct WaitingPosition: Sendable {
    /// What was stored of the bucket when its first line came.
    let stored: OperationID
    /// The highest operation since.
    private(set) var last: OperationID

    init(stored: OperationID) {
        self.stored = stored
        last = stored
    }

    /// Takes in a line.
    ///
    /// - Returns: the number of its operations that are new.
    mutating func admit(_ operations: OperationList) -> Int {
        var count = 0
        for operation in operations.entries where operation.id > last {
            last = operation.id
            count += 1
        }
        return count
    }
}

/// A data line that waits.
struct WaitingLine: Sendable {
    /// The line.
    let line: DataLine
    /// Its bytes as received.
    let size: Int
}

/// Storing many lines at once: what is left in the end is the same as line by line (client-core 6.6).
extension SyncStore {
    /// Returns the position behind what is stored of a bucket; 0 for a bucket that is not known.
    func position(ofBucket name: String) throws -> OperationID {
        try connection.one("SELECT last_op FROM ps_buckets WHERE name = ?1", [.text(name)]) { $0.int64(0) }
            ?? 0
    }

    /// Stores lines that waited.
    ///
    /// - Parameters:
    ///   - lines: the lines in the order of the stream.
    ///   - positions: for each bucket what its lines were compared with.
    /// - Throws: `SyncError` if something else was stored meanwhile; `SQLiteError`.
    func save(_ lines: [WaitingLine], expecting positions: [ExactText: WaitingPosition]) throws {
        guard tuning.usesFastPaths else {
            for waiting in lines { _ = try save(waiting.line, size: waiting.size) }
            return
        }
        var names: [ExactText] = []
        var runs: [ExactText: (lists: [OperationList], size: Int)] = [:]
        for waiting in lines {
            let name = ExactText(waiting.line.bucket)
            if runs[name] == nil {
                names.append(name)
                runs[name] = ([], 0)
            }
            // A line without operations only makes its bucket known.
            if waiting.line.operations.isEmpty { continue }
            runs[name]?.lists.append(waiting.line.operations)
            runs[name]?.size += waiting.size
        }
        for name in names {
            guard let run = runs[name] else { continue }
            let bucket = try bucketRow(name.text)
            if let position = positions[name], position.stored != bucket.lastOp {
                throw SyncError(.storedElsewhere, "Something else was stored while lines waited")
            }
            guard !run.lists.isEmpty else { continue }
            try save(run.lists, size: run.size, in: bucket)
        }
    }

    private func save(_ lists: [OperationList], size: Int, in bucket: BucketRow) throws {
        var writer = try SegmentWriter(bucket, connection)
        defer { writer.end() }
        for segment in OperationSegments(lists, after: bucket.lastOp) { try writer.store(segment, lists) }
        try add(writer.totals, size: size, to: bucket)
    }
}

/// Writes the segments of one bucket.
private struct SegmentWriter {
    private let connection: SQLiteConnection
    private let bucket: Int64
    private(set) var totals: OperationTotals
    private var hasVisibleRows: Bool
    /// Whether `ps_oplog` may hold rows of this bucket, so that keys must be looked up.
    private var hasRows: Bool
    private let insert: SQLiteStatement
    private let find: SQLiteStatement
    private let replace: SQLiteStatement

    init(_ bucket: BucketRow, _ connection: SQLiteConnection) throws {
        self.connection = connection
        self.bucket = bucket.id
        totals = OperationTotals(lastOp: bucket.lastOp)
        hasVisibleRows = bucket.lastAppliedOp != 0
        hasRows =
            try bucket.isNew
            ? false
            : connection.one("SELECT 1 FROM ps_oplog WHERE bucket = ?1 LIMIT 1", [.integer(bucket.id)]) { _ in
                true
            } ?? false
        insert = try connection.borrow(
            """
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        find = try connection.borrow(
            "SELECT rowid, hash, row_type = ?3 AND row_id = ?4 FROM ps_oplog WHERE bucket = ?1 AND key = ?2")
        replace = try connection.borrow(
            "UPDATE ps_oplog SET op_id = ?1, data = ?2, hash = ?3 WHERE rowid = ?4")
        try insert.bind(self.bucket, at: 1)
        try find.bind(self.bucket, at: 1)
    }

    func end() { for statement in [insert, find, replace] { connection.giveBack(statement) } }

    mutating func store(_ segment: OperationSegment, _ lists: [OperationList]) throws {
        totals.lastOp = segment.lastOp
        totals.count += segment.count
        totals.superseded += segment.loose
        let keyed = segment.keyed
        try segment.keys.withUnsafeBufferPointer { keys in
            var first = 0
            while first < keyed.count {
                var end = first + 1
                while end < keyed.count, OperationSegment.haveSameKey(keyed[first], keyed[end], in: keys) {
                    end += 1
                }
                try store(keyed[first..<end], lists, keys)
                first = end
            }
        }
        if !keyed.isEmpty { hasRows = true }
        guard let checksum = segment.clear else { return }
        try SyncStore.dropOperations(of: bucket, on: connection)
        try connection.run(
            "UPDATE ps_buckets SET last_applied_op = 0, add_checksum = ?1, op_checksum = 0 WHERE id = ?2",
            [.integer(Int64(checksum.value)), .integer(bucket)])
        totals.superseded = .zero
        totals.present = .zero
        hasVisibleRows = false
        hasRows = false
    }

    /// Leaves what the operations of one key come to.
    private mutating func store(
        _ operations: ArraySlice<OperationSegment.Keyed>, _ lists: [OperationList],
        _ keys: UnsafeBufferPointer<UInt8>
    ) throws {
        guard let first = operations.first else { return }
        let known = hasRows ? try stored(first, keys) : []
        for row in known { totals.supersede(row.hash) }
        var isPresent = !known.isEmpty
        var current: (keyed: OperationSegment.Keyed, entry: OperationList.Entry)?
        for keyed in operations {
            let entry = lists[keyed.list].entries[keyed.entry]
            if let before = current { totals.supersede(before.entry.checksum) }
            current = nil
            if entry.kind == .put {
                totals.present += entry.checksum
                current = (keyed, entry)
            } else {
                totals.superseded += entry.checksum
                if isPresent, hasVisibleRows { try queue(keyed, keys) }
            }
            isPresent = entry.kind == .put
        }
        guard let current else {
            for row in known { try delete(row.id) }
            return
        }
        // A row of the same name is changed in place, which leaves two of the three indexes alone.
        let kept = known.first { $0.hasSameName }
        for row in known where row.id != kept?.id { try delete(row.id) }
        try lists[current.keyed.list].bytes.withUnsafeBufferPointer { bytes in
            if let kept {
                try replace.bind(current.entry.id, at: 1)
                try Self.bind(current.entry.data, of: bytes, to: replace, at: 2)
                try replace.bind(Int64(current.entry.checksum.signed), at: 3)
                try replace.bind(kept.id, at: 4)
                return try replace.runBound()
            }
            let keyed = current.keyed
            try insert.bind(current.entry.id, at: 2)
            try insert.bind(uncopied: UnsafeBufferPointer(rebasing: keys[keyed.type]), at: 3)
            try insert.bind(uncopied: UnsafeBufferPointer(rebasing: keys[keyed.id]), at: 4)
            try insert.bind(uncopied: UnsafeBufferPointer(rebasing: keys[keyed.key]), at: 5)
            try Self.bind(current.entry.data, of: bytes, to: insert, at: 6)
            try insert.bind(Int64(current.entry.checksum.signed), at: 7)
            try insert.runBound()
        }
    }

    private static func bind(
        _ text: OperationList.Text, of bytes: UnsafeBufferPointer<UInt8>, to statement: SQLiteStatement,
        at index: Int
    ) throws {
        if text.isAbsent { return try statement.bind(.null, at: index) }
        try statement.bind(uncopied: UnsafeBufferPointer(rebasing: bytes[text.range]), at: index)
    }

    private struct StoredRow {
        let id: Int64
        let hash: Checksum
        let hasSameName: Bool
    }

    /// The rows with that key; files of other clients may hold several.
    private func stored(
        _ keyed: OperationSegment.Keyed, _ keys: UnsafeBufferPointer<UInt8>
    ) throws -> [StoredRow] {
        defer { find.reset() }
        try find.bind(uncopied: UnsafeBufferPointer(rebasing: keys[keyed.key]), at: 2)
        try find.bind(uncopied: UnsafeBufferPointer(rebasing: keys[keyed.type]), at: 3)
        try find.bind(uncopied: UnsafeBufferPointer(rebasing: keys[keyed.id]), at: 4)
        var rows: [StoredRow] = []
        while try find.step() {
            let row = try find.row()
            rows.append(
                StoredRow(
                    id: row.int64(0), hash: Checksum(truncating: row.int64(1)), hasSameName: row.int64(2) != 0
                ))
        }
        return rows
    }

    private func delete(_ row: Int64) throws {
        try connection.run("DELETE FROM ps_oplog WHERE rowid = ?1", [.integer(row)])
    }

    private func queue(_ keyed: OperationSegment.Keyed, _ keys: UnsafeBufferPointer<UInt8>) throws {
        try connection.run(
            "INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id) VALUES (?1, ?2)",
            [
                .text(String(decoding: keys[keyed.type], as: UTF8.self)),
                .text(String(decoding: keys[keyed.id], as: UTF8.self)),
            ])
    }
}
