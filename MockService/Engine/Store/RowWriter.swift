import PowerSyncSQLite
import PowerSyncWire

/// Writes rows as operations, inside one SQLite transaction (DESIGN.md, 1; service 4.6).
///
/// A row becomes a PUT for each place where it is, then a REMOVE for each that it has left. The state keeps its places,
/// if it has any, and of some rows the values that an update may leave out. Operations are collected into segments,
/// bucket by bucket: what does not fill one is stored by `finish`, or once all that were begun are too much.
package final class RowWriter {
    /// What becomes of the values that an update may leave out.
    package enum LargeValues: Sendable, Hashable {
        /// None are kept.
        case nothing
        /// What is kept stays: it is what the row has.
        case unchanged
        /// These are kept: where the bytes of `LargeCells` lie among those of the row.
        case cells(Range<Int>)
        /// The same of a row that is too large: their lengths are kept.
        case lengths(Range<Int>)
    }

    /// A row as it is now.
    package struct Row: Sendable {
        /// Its table.
        package let table: SourceTable
        /// What it is found by.
        package let key: RowKey
        /// Its PUTs in order; several in one place are one place.
        package let operations: ArraySlice<EvaluatedBatch.Operation>
        /// The buckets that the operations name by index, as `bucket(named:)` gives them.
        package let buckets: [Int64]
        /// What becomes of its large values.
        package let large: LargeValues
        /// The bytes that all ranges are of.
        package let bytes: [UInt8]
        /// What it is found by.
        package let lookups: ArraySlice<EvaluatedBatch.Lookup>

        /// Makes a row of its parts.
        package init(
            table: SourceTable, key: RowKey, operations: ArraySlice<EvaluatedBatch.Operation>,
            buckets: [Int64], large: LargeValues, bytes: [UInt8],
            lookups: ArraySlice<EvaluatedBatch.Lookup> = []
        ) {
            self.table = table
            self.key = key
            self.operations = operations
            self.buckets = buckets
            self.large = large
            self.bytes = bytes
            self.lookups = lookups
        }
    }

    /// A bucket that the transaction has to do with.
    private struct Bucket {
        /// The whole name.
        let name: ExactText
        /// The last operation before the transaction.
        let before: OperationID
        var sums: BucketSums
        /// How many of its segments are small.
        var small: Int64
        var segment: SegmentBuilder
        var isChanged = false
        /// Whether it was asked if somebody holds it.
        var isAsked = false
        /// What was written to it; nil if nobody holds it, or that is too much to be kept.
        var kept: KeptOperations?

        init(_ name: ExactText, _ sums: BucketSums, small: Int64, limit: Int) {
            self.name = name
            before = max(sums.covered.lastOperation, sums.tail.lastOperation)
            self.sums = sums
            self.small = small
            segment = SegmentBuilder(limit: limit)
        }

        /// Adds an operation; returns the segment that it does not fit into, and by how much the one in work grows.
        mutating func append(
            _ kind: Operation.Kind, _ id: OperationID, _ record: ArraySlice<UInt8>, _ checksum: Checksum,
            checkpoint: OperationID
        ) -> (full: PackedSegment?, growth: Int) {
            isChanged = true
            sums.add(checksum, id: id, checkpoint: checkpoint)
            let before = segment.byteCount
            let full = segment.append(kind, id: id, record: record, checksum: checksum)
            return (full, segment.byteCount - before)
        }
    }

    let connection: SQLiteConnection
    private let stream: StreamNumber
    private let limits: StoreLimits
    private let isHeld: (ExactText) -> Bool
    private let progress: () -> Void
    /// How many bytes of records were written.
    private var recordBytes = 0
    /// How many segments were stored.
    private var storedSegments = 0
    /// How many bytes of operations are kept.
    private var keptBytes = 0
    /// How many bytes of segments have been begun, and are not stored yet.
    private var begunBytes = 0
    private var hasher = OperationHasher()
    /// The places of the row that is written from a batch.
    var packed: [UInt8] = []
    private var bucketIDs: [ExactText: Int64] = [:]
    private var buckets: [Int64: Bucket] = [:]
    private var outputTypes: [ExactText: Int64] = [:]
    /// The last operation that is published, or will be with this transaction.
    private(set) var checkpoint: OperationID
    /// The last operation id before this writer.
    private let firstOperation: OperationID
    /// The last operation id that was used.
    package private(set) var lastOperation: OperationID
    /// The keys of lookups that find something else behind the last commit that becomes visible.
    private var lookupsBehind = ChangedLookups()
    /// Those that do at that commit.
    private var lookupsUpToCommit = ChangedLookups()
    /// The write checkpoints that rows have set behind that commit.
    private var writeCheckpointsBehind = SetWriteCheckpoints()
    /// Those of before it.
    private var writeCheckpointsUpToCommit = SetWriteCheckpoints()

    /// Begins where the counter of the file stands.
    ///
    /// - Parameters:
    ///   - connection: The one that writes, in a transaction that the writer does not outlive.
    ///   - stream: Whose buckets these are.
    ///   - checkpoint: The last operation of its newest checkpoint.
    ///   - limits: How large segments are, how many operations are kept, and how many are enough.
    ///   - isHeld: Whether a stream holds a bucket, by whole name: then what is written to it is kept.
    ///   - progress: Is called now and then while much is written.
    /// - Throws: `SQLiteError`.
    package init(
        _ connection: SQLiteConnection, stream: StreamNumber, checkpoint: OperationID,
        limits: StoreLimits = StoreLimits(), isHeld: @escaping (ExactText) -> Bool = { _ in false },
        progress: @escaping () -> Void = {}
    ) throws {
        self.connection = connection
        self.stream = stream
        self.checkpoint = checkpoint
        self.limits = limits
        self.isHeld = isHeld
        self.progress = progress
        lookupsBehind = ChangedLookups(limit: limits.changedLookups)
        lookupsUpToCommit = lookupsBehind
        writeCheckpointsBehind = SetWriteCheckpoints(limit: limits.changedLookups)
        writeCheckpointsUpToCommit = writeCheckpointsBehind
        lastOperation = try connection.one("SELECT last_op FROM counter") { $0.int64(0) } ?? 0
        firstOperation = lastOperation
    }

    /// Whether there are operations.
    package var hasWritten: Bool { lastOperation > firstOperation }

    /// Whether so much was written that the rest is left to another transaction, for which others wait less long.
    package var isFull: Bool {
        lastOperation - firstOperation >= limits.groupOperations || recordBytes >= limits.groupRecordBytes
    }

    /// The buckets that were written to, by whole name.
    package var changed: [ExactText: BucketSums] {
        var changed: [ExactText: BucketSums] = [:]
        for bucket in buckets.values where bucket.isChanged { changed[bucket.name] = bucket.sums }
        return changed
    }

    /// What streams have to be told of these: of buckets with operations that become visible with this transaction, and of
    /// those with others.
    package var written: WrittenBuckets {
        var written = WrittenBuckets()
        for bucket in buckets.values where bucket.isChanged {
            let (covered, tail) = (bucket.sums.covered.lastOperation, bucket.sums.tail.lastOperation)
            if covered > firstOperation || (tail > firstOperation && tail <= checkpoint) {
                written.upToCommit.insert(bucket.name, bucket.sums.totals(at: checkpoint))
            }
            if tail > checkpoint { written.behind.insert(bucket.name, bucket.sums.totals(at: .max)) }
            written.operations[bucket.name] = bucket.kept
        }
        written.lookupsUpToCommit = lookupsUpToCommit
        written.lookupsBehind = lookupsBehind
        written.writeCheckpointsUpToCommit = writeCheckpointsUpToCommit
        written.writeCheckpointsBehind = writeCheckpointsBehind
        return written
    }

    /// The keys of lookups that find something else than before; nil if they are too many to say.
    package var changedLookups: Set<LookupKey>? {
        var changed = lookupsUpToCommit
        changed.formUnion(lookupsBehind)
        return changed.known
    }

    /// Notes a key that finds something else than before.
    func noteChanged(_ key: LookupKey) { lookupsBehind.insert(key) }

    /// Sets the write checkpoint of a client; an id that is not larger than the one before changes nothing (service 7.9).
    ///
    /// - Parameter named: What a row says.
    /// - Throws: `SQLiteError`.
    func set(_ named: CustomWriteCheckpoint) throws {
        let isWritten = try CustomWriteCheckpointVersions(connection).write(
            named, of: stream, checkpoint: checkpoint, operation: { nextOperation() })
        if isWritten { writeCheckpointsBehind.insert(named) }
    }

    /// Takes note of a commit that becomes visible with this transaction: what is written from now on lies behind it.
    ///
    /// - Parameter operation: The last operation of its checkpoint.
    package func cover(through operation: OperationID) {
        checkpoint = operation
        lookupsUpToCommit.formUnion(lookupsBehind)
        lookupsBehind = ChangedLookups(limit: limits.changedLookups)
        writeCheckpointsUpToCommit.formUnion(writeCheckpointsBehind)
        writeCheckpointsBehind = SetWriteCheckpoints(limit: limits.changedLookups)
    }

    /// Gives the next operation id.
    func nextOperation() -> OperationID {
        lastOperation += 1
        return lastOperation
    }
}

@available(*, unavailable)
extension RowWriter: Sendable {}

// MARK: Names

extension RowWriter {
    private static let bucketColumns = "\(StoreReading.sumColumns), small, name"
    private static let bucketByName = "SELECT \(bucketColumns) FROM bucket WHERE stream = ? AND name = ?"
    private static let bucketByID = "SELECT \(bucketColumns) FROM bucket WHERE id = ?"

    /// Returns the id of a bucket, which is made if there is none.
    ///
    /// - Parameter name: Its name without the prefix of the stream.
    /// - Returns: The id.
    /// - Throws: `SQLiteError`, `StoreError`.
    package func bucket(named name: String) throws -> Int64 {
        let exact = ExactText(name)
        if let known = bucketIDs[exact] { return known }
        let parameters: [SQLiteValue] = [.integer(stream), .text(name)]
        let id: Int64
        if let found = try connection.one(Self.bucketByName, parameters, { try bucket($0) }) {
            id = found.sums.id
            // A REMOVE may have come before, of which the file knows nothing yet.
            if buckets[id] == nil { buckets[id] = found }
        } else {
            try connection.run("INSERT INTO bucket(stream, name) VALUES (?, ?)", parameters)
            id = connection.lastInsertRowID
            buckets[id] = Bucket(
                whole(name), BucketSums(id: id), small: 0, limit: limits.segmentBytes)
        }
        bucketIDs[exact] = id
        return id
    }

    private func bucket(_ row: SQLiteRow) throws -> Bucket {
        Bucket(
            whole(row.string(8)), try StoreReading.sums(row, from: 0), small: row.int64(7),
            limit: limits.segmentBytes)
    }

    private func whole(_ name: String) -> ExactText { ExactText("\(stream)#\(name)") }

    /// Returns the id of what rows are called on the client, which is given if there is none.
    ///
    /// - Parameter name: The client's table.
    /// - Returns: The id.
    /// - Throws: `SQLiteError`.
    package func outputType(named name: String) throws -> Int64 {
        let exact = ExactText(name)
        if let known = outputTypes[exact] { return known }
        let id = try Self.outputType(named: name, connection)
        outputTypes[exact] = id
        return id
    }

    /// The same for who writes no row.
    static func outputType(named name: String, _ connection: SQLiteConnection) throws -> Int64 {
        let select = "SELECT id FROM output_type WHERE name = ?"
        let found = try connection.one(select, [.text(name)]) { $0.int64(0) }
        if found == nil { try connection.run("INSERT INTO output_type(name) VALUES (?)", [.text(name)]) }
        return found ?? connection.lastInsertRowID
    }
}

// MARK: Rows

extension RowWriter {
    /// A row as the state has it.
    private typealias StoredRow = (key: RowKey, id: ReplicaID, places: RowPlaces)

    /// Returns where a row is.
    ///
    /// - Parameters:
    ///   - key: What it is found by.
    ///   - table: Its table.
    /// - Returns: Its places, none if large values alone are kept of it; nil if nothing is, which includes that it is not
    ///   there.
    /// - Throws: `SQLiteError`, `StoreError`.
    package func places(of key: RowKey, in table: SourceTable) throws -> RowPlaces? {
        try connection.one(Self.selectPlaces, [.integer(table.id), .blob(key.bytes)]) {
            try RowPlaces(stored: $0.blob(0) ?? [], of: key)
        }
    }

    /// Returns the values of a row that an update may leave out.
    ///
    /// - Parameters:
    ///   - key: What it is found by.
    ///   - table: Its table as it is now.
    /// - Returns: A cell for each of the table's large columns, or their lengths; nil if none are kept, or those of a layout
    ///   that is over.
    /// - Throws: `SQLiteError`, `StoreError`.
    package func largeCells(of key: RowKey, in table: SourceTable) throws -> LargeCells? {
        try connection.one(
            "SELECT shape, cells FROM large_value WHERE source_table = ? AND key = ?",
            [.integer(table.id), .blob(key.bytes)]
        ) { row -> LargeCells? in
            let shape = row.int64(0)
            guard shape == table.largeShape || shape == ~table.largeShape else { return nil }
            return try LargeCells(
                stored: row.blob(1) ?? [], count: table.largeColumns.count,
                areLengths: shape != table.largeShape)
        } ?? nil
    }

    /// Keeps the places of a row unless its key is there.
    static let insertPlaces =
        "INSERT INTO source_row(source_table, key, places) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    /// Says where a row is.
    static let selectPlaces = "SELECT places FROM source_row WHERE source_table = ? AND key = ?"

    /// Writes a row that is in a bucket or found by a lookup, if its key is not there yet: what snapshots and inserts bring
    /// as a rule.
    ///
    /// - Parameter row: The row.
    /// - Returns: Whether it was written; false also for a row that is in none, whose key may be there.
    /// - Throws: `SQLiteError`, `StoreError`.
    package func insert(_ row: Row) throws -> Bool {
        guard !row.operations.isEmpty || !row.lookups.isEmpty else { return false }
        let places = places(of: row, replacing: nil)
        try connection.run(
            Self.insertPlaces,
            [.integer(row.table.id), .blob(row.key.bytes), .blob(try places.bytes(of: row.key))])
        guard connection.changes == 1 else { return false }
        try put(row)
        try writeLookups(of: row, replacing: [])
        try keepLargeValues(row, places, replacing: nil)
        return true
    }

    /// Writes a row as it is now.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - previous: Where it was, as `places(of:in:)` says.
    /// - Throws: `SQLiteError`, `StoreError`.
    package func write(_ row: Row, replacing previous: RowPlaces?) throws {
        let (table, key) = (row.table, row.key)
        let places = places(of: row, replacing: previous)
        try put(row)
        if let previous, previous.places != places.places {
            let current = Set(places.places)
            try remove(key, from: previous.places.filter { !current.contains($0) }, of: table)
        }
        try writeLookups(of: row, replacing: previous?.lookups ?? [])
        try keepLargeValues(row, places, replacing: previous)
        let found: [SQLiteValue] = [.integer(table.id), .blob(key.bytes)]
        if places.isEmpty {
            guard previous != nil else { return }
            try connection.run("DELETE FROM source_row WHERE source_table = ? AND key = ?", found)
        } else if previous == nil {
            try connection.run(
                "INSERT INTO source_row(source_table, key, places) VALUES (?, ?, ?)",
                found + [.blob(try places.bytes(of: key))])
        } else if previous != places {
            try connection.run(
                "UPDATE source_row SET places = ?3 WHERE source_table = ?1 AND key = ?2",
                found + [.blob(try places.bytes(of: key))])
        }
    }

    /// Removes a row from all of its places; does nothing if it is in none.
    ///
    /// - Parameters:
    ///   - key: What it is found by.
    ///   - table: Its table.
    /// - Throws: `SQLiteError`, `StoreError`.
    package func remove(_ key: RowKey, from table: SourceTable) throws {
        let parameters: [SQLiteValue] = [.integer(table.id), .blob(key.bytes)]
        let previous = try connection.one(
            "DELETE FROM source_row WHERE source_table = ? AND key = ? RETURNING places", parameters
        ) { try RowPlaces(stored: $0.blob(0) ?? [], of: key) }
        guard let previous else { return }
        try remove(key, from: previous.places, of: table)
        try removeLookups(previous.lookups, of: key, in: table)
        guard previous.hasLargeValues else { return }
        try connection.run(Self.forgetLargeValues, parameters)
    }

    /// Removes rows of a table, those with the lowest keys, in the order of their replica ids (service 4.6).
    ///
    /// Their places are bounded, too, as far as one transaction goes; but one row at least goes.
    ///
    /// - Parameters:
    ///   - table: The table, of whose columns the names of the identity alone count.
    ///   - limit: How many at most.
    /// - Returns: How many there were, and whether that is all: then none is left.
    /// - Throws: `SQLiteError`, `StoreError`.
    package func removeRows(of table: SourceTable, limit: Int) throws -> (count: Int, isAll: Bool) {
        let (rows, isAll) = try firstRows(of: table, limit: limit)
        guard let last = rows.last else { return (0, isAll) }
        for row in rows.sorted(by: { $0.id.bytes.lexicographicallyPrecedes($1.id.bytes) }) {
            try remove(row.id, from: row.places.places, of: table)
            try removeLookups(row.places.lookups, of: row.key, in: table)
        }
        for kept in ["source_row", "large_value"] {
            try connection.run(
                "DELETE FROM \(kept) WHERE source_table = ? AND key <= ?",
                [.integer(table.id), .blob(last.key.bytes)])
        }
        return (rows.count, isAll)
    }

    /// The rows of a table with the lowest keys, as many as one transaction removes, and whether there are no others.
    private func firstRows(of table: SourceTable, limit: Int) throws -> (rows: [StoredRow], isAll: Bool) {
        try connection.withStatement(
            "SELECT key, places FROM source_row WHERE source_table = ? ORDER BY key"
        ) { statement -> (rows: [StoredRow], isAll: Bool) in
            try statement.bind([.integer(table.id)])
            var rows: [StoredRow] = []
            var (operations, bytes) = (lastOperation - firstOperation, 0)
            while rows.isEmpty
                || (rows.count < limit && operations < limits.groupOperations && bytes < limits.removedBytes)
            {
                guard try statement.step() else { return (rows, true) }
                let row = try statement.row()
                let key = try RowKey(stored: row.blob(0))
                let stored = row.blob(1) ?? []
                let places = try RowPlaces(stored: stored, of: key)
                operations += Int64(places.places.count + places.lookups.count)
                bytes += stored.count
                rows.append((key, try key.replicaID(names: table.identityNames), places))
            }
            return (rows, false)
        }
    }

    /// Where a row is now, each place once.
    private func places(of row: Row, replacing previous: RowPlaces?) -> RowPlaces {
        var places = RowPlaces()
        var seen: Set<RowPlaces.Place> = []
        for operation in row.operations {
            let place = RowPlaces.Place(
                bucket: row.buckets[operation.bucket], outputType: operation.type,
                objectID: String(decoding: row.bytes[operation.id], as: UTF8.self))
            if row.operations.count == 1 || seen.insert(place).inserted { places.places.append(place) }
        }
        places.lookups = Self.lookups(of: row)
        switch row.large {
        case .nothing: break
        case .unchanged: places.hasLargeValues = previous?.hasLargeValues ?? false
        case .cells, .lengths: places.hasLargeValues = true
        }
        return places
    }

    private static let forgetLargeValues = "DELETE FROM large_value WHERE source_table = ? AND key = ?"
    /// Keeps the large values of a row in place of others.
    static let keepCells = """
        INSERT INTO large_value(source_table, key, shape, cells) VALUES (?, ?, ?, ?)
        ON CONFLICT(source_table, key) DO UPDATE SET shape = excluded.shape, cells = excluded.cells
        """

    private func keepLargeValues(_ row: Row, _ places: RowPlaces, replacing previous: RowPlaces?) throws {
        guard places.hasLargeValues else {
            guard previous?.hasLargeValues == true else { return }
            return try connection.run(
                Self.forgetLargeValues, [.integer(row.table.id), .blob(row.key.bytes)])
        }
        let range: Range<Int>
        let shape: Int64
        switch row.large {
        case .nothing, .unchanged: return
        case .cells(let cells): (range, shape) = (cells, row.table.largeShape)
        case .lengths(let lengths): (range, shape) = (lengths, ~row.table.largeShape)
        }
        try connection.withStatement(Self.keepCells) { statement in
            try statement.lending(row.bytes) { lent in
                try statement.bind(row.table.id, at: 1)
                try statement.bind(.blob(row.key.bytes), at: 2)
                try statement.bind(shape, at: 3)
                try lent.bind(blob: range, at: 4)
                try statement.runBound()
            }
        }
    }
}

// MARK: Operations

extension RowWriter {
    private func put(_ row: Row) throws {
        for operation in row.operations {
            try append(
                .put, row.bytes[operation.record], operation.checksum, to: row.buckets[operation.bucket])
        }
    }

    /// Appends the REMOVEs of a row whose id is of no use if it has left nothing.
    private func remove(_ key: RowKey, from places: [RowPlaces.Place], of table: SourceTable) throws {
        guard !places.isEmpty else { return }
        try remove(try key.replicaID(names: table.identityNames), from: places, of: table)
    }

    private func remove(_ id: ReplicaID, from places: [RowPlaces.Place], of table: SourceTable) throws {
        let checksum = hasher.remove(subkey: Array(table.subkey(id).utf8))
        for place in places {
            var record: [UInt8] = []
            OperationRecord.appendRemove(
                checksum, sourceTable: table.id, outputType: place.outputType, replicaID: id,
                objectID: place.objectID.text.utf8, to: &record)
            if buckets[place.bucket] == nil {
                let found = try connection.one(Self.bucketByID, [.integer(place.bucket)]) { try bucket($0) }
                guard let found else { throw StoreError.unreadableRow }
                buckets[place.bucket] = found
            }
            try append(.remove, record[...], checksum, to: place.bucket)
        }
    }

    func append(
        _ kind: Operation.Kind, _ record: ArraySlice<UInt8>, _ checksum: Checksum, to bucket: Int64
    ) throws {
        precondition(buckets[bucket] != nil, "a bucket is looked up before it is written to")
        let id = nextOperation()
        // In place: a copy would take the bytes of the segment along.
        let added = buckets[bucket]?.append(kind, id, record, checksum, checkpoint: checkpoint)
        if let full = added?.full { try store(full, in: bucket) }
        begunBytes += added?.growth ?? 0
        recordBytes += record.count
        if begunBytes > limits.begunSegmentBytes { try storeBegun() }
    }

    /// Stores all segments that were begun; returns the ids of the buckets that were written to.
    @discardableResult private func storeBegun() throws -> [Int64] {
        let changed = buckets.keys.sorted().filter { buckets[$0]?.isChanged == true }
        for id in changed {
            if let begun = buckets[id]?.segment.finish() { try store(begun, in: id) }
        }
        begunBytes = 0
        return changed
    }

    private func store(_ segment: PackedSegment, in bucket: Int64) throws {
        try segment.store(in: bucket, connection)
        storedSegments += 1
        if storedSegments.isMultiple(of: limits.progressSegments) { progress() }
        if segment.body.count < limits.smallSegmentBytes { buckets[bucket]?.small += 1 }
        keep(segment, of: bucket)
    }

    /// Keeps what streams are going to send, unless it is too much: then they read it.
    private func keep(_ segment: PackedSegment, of id: Int64) {
        if let bucket = buckets[id], !bucket.isAsked {
            let kept = isHeld(bucket.name) ? KeptOperations(of: id, after: bucket.before) : nil
            buckets[id]?.kept = kept
            buckets[id]?.isAsked = true
        }
        guard buckets[id]?.kept != nil else { return }
        buckets[id]?.kept?.append(segment)
        keptBytes += KeptOperations.size(of: segment)
        guard let count = buckets[id]?.kept?.byteCount,
            count > limits.publishedFrameBytes || keptBytes > limits.publicationBytes
        else { return }
        keptBytes -= count
        buckets[id]?.kept = nil
    }

    /// Stores what is left of segments, sums and counters; the last call before the commit.
    ///
    /// - Throws: `SQLiteError`.
    package func finish() throws {
        guard hasWritten else { return }
        for id in try storeBegun() {
            guard let bucket = buckets[id] else { continue }
            let (covered, tail) = (bucket.sums.covered, bucket.sums.tail)
            try connection.run(
                "UPDATE bucket SET checksum = ?, count = ?, last_op = ?, tail_checksum = ?, tail_count = ?, "
                    + "tail_op = ?, small = ? WHERE id = ?",
                [
                    .integer(Int64(covered.checksum.value)), .integer(covered.count),
                    .integer(covered.lastOperation), .integer(Int64(tail.checksum.value)),
                    .integer(tail.count), .integer(tail.lastOperation), .integer(bucket.small), .integer(id),
                ])
        }
        try connection.run("UPDATE counter SET last_op = ?", [.integer(lastOperation)])
        try connection.run(
            "UPDATE replication_stream SET last_op = ? WHERE id = ?",
            [.integer(lastOperation), .integer(stream)])
    }
}
