import PowerSyncSQLite
import PowerSyncWire

/// How much the lookups of one evaluation may read, over all of its stages.
package struct LookupRoom: Sendable, Hashable {
    /// How many rows there may yet be.
    package private(set) var rows: Int
    /// How many bytes of values there may yet be.
    package private(set) var bytes: Int
    /// Whether there was more: then what was read is not all.
    package private(set) var isOver = false

    /// Makes room.
    ///
    /// - Parameters:
    ///   - rows: For so many rows; of one more nothing is kept but that it was there.
    ///   - bytes: For so many bytes of values.
    package init(rows: Int, bytes: Int = StoreLimits().lookupBytes) {
        self.rows = rows
        self.bytes = bytes
    }

    /// Takes room for a value; false if there is none.
    fileprivate mutating func take(bytes count: Int) -> Bool {
        isOver = isOver || count > bytes
        if !isOver { bytes -= count }
        return !isOver
    }

    /// Takes room for rows, of which there may have been more.
    fileprivate mutating func take(rows count: Int, areAll: Bool) {
        rows -= count
        if !areAll { isOver = true }
    }
}

/// The file as it was at one moment: in it a stream reads all that it decides by, stage after stage (DESIGN.md, 2).
///
/// What is written meanwhile, also what is removed, is not seen.
package struct StoreSnapshot {
    /// Whose buckets and lookups these are.
    package let stream: StreamNumber
    /// The newest checkpoint of the stream.
    package let checkpoint: StoredCheckpoint
    private let connection: SQLiteConnection

    /// Calls a body with the file as it is now.
    ///
    /// - Parameters:
    ///   - stream: Whose buckets and lookups are read.
    ///   - connection: One that reads, without a transaction; it keeps the log for as long as the body runs.
    ///   - body: The use; the snapshot must not leave it.
    /// - Returns: What `body` returns.
    /// - Throws: `SQLiteError`; `StoreError` if the stream is gone; what `body` throws.
    package static func read<T>(
        of stream: StreamNumber, _ connection: SQLiteConnection, _ body: (StoreSnapshot) throws -> T
    ) throws -> T {
        try connection.execute("BEGIN")
        defer { connection.rollBack() }
        // What is read first makes it the moment.
        let checkpoint = try connection.one(
            "SELECT checkpoint_op, checkpoint_lsn FROM replication_stream WHERE id = ?", [.integer(stream)]
        ) { row in
            StoredCheckpoint(operation: row.int64(0), lsn: ServiceStore.lsn(row.int64(1)))
        }
        guard let checkpoint else { throw StoreError.noStream }
        return try body(StoreSnapshot(stream: stream, checkpoint: checkpoint, connection: connection))
    }

    private init(stream: StreamNumber, checkpoint: StoredCheckpoint, connection: SQLiteConnection) {
        self.stream = stream
        self.checkpoint = checkpoint
        self.connection = connection
    }

    /// Returns the totals of buckets at the checkpoint.
    ///
    /// - Parameter names: The buckets, by whole name.
    /// - Returns: The totals of those that exist, by whole name.
    /// - Throws: `SQLiteError`; `StoreError` if a row cannot be read.
    package func totals(of names: [String]) throws -> [ExactText: BucketTotals] {
        var totals: [ExactText: BucketTotals] = [:]
        try StoreReading.forEachBucket(named: names, of: stream, connection) { name, sums in
            totals[name] = sums.totals(at: checkpoint.operation)
        }
        return totals
    }

    /// Returns the id of a lookup.
    ///
    /// - Parameter name: Its name in the plan.
    /// - Returns: The id in `lookup_definition`; nil if the stream has none of that name, and so no row in it.
    /// - Throws: `SQLiteError`.
    package func definition(named name: ExactText) throws -> Int64? {
        try LookupVersions.definition(named: name, of: stream, connection)
    }

    /// Returns what keys of a lookup find at the checkpoint.
    ///
    /// - Parameters:
    ///   - definition: The id of the lookup.
    ///   - keys: The keys, each once, as `LookupValues` packs them.
    ///   - width: How many outputs the lookup has.
    ///   - room: How much may be read; reading ends where it is over.
    /// - Returns: For each key that finds something its rows, by table and row.
    /// - Throws: `SQLiteError`; `StoreError` if a value cannot be read.
    package func rows(
        of definition: Int64, keys: some Sequence<[UInt8]>, width: Int, _ room: inout LookupRoom
    ) throws -> [[UInt8]: LookupRows] {
        var found: [[UInt8]: LookupRows] = [:]
        for key in keys {
            if room.isOver { break }
            let rows = try rows(of: definition, key: key, width: width, &room)
            if !rows.rows.isEmpty { found[key] = rows }
        }
        return found
    }

    private func rows(
        of definition: Int64, key: [UInt8], width: Int, _ room: inout LookupRoom
    ) throws -> LookupRows {
        try connection.withStatement(Self.versions) { statement in
            try statement.bind([.integer(definition), .blob(key), .integer(checkpoint.operation)])
            var found = LookupRows()
            while !room.isOver, try statement.step() {
                let row = try statement.row()
                let count = row.byteCount(0)
                // A tombstone has no bytes.
                guard count > 0, room.take(bytes: count) else { continue }
                let (before, most) = (found.rows.count, room.rows)
                let areAll = try row.withBlob(0) { try found.append($0, width: width, most: most) }
                room.take(rows: found.rows.count - before, areAll: areAll)
            }
            return found
        }
    }

    /// Beside `max` the other columns are those of the row that has it, as SQLite promises.
    static let versions = """
        SELECT value, max(op_id) FROM lookup WHERE definition = ? AND key = ? AND op_id <= ?
            GROUP BY source_table, row ORDER BY source_table, row
        """
}

@available(*, unavailable)
extension StoreSnapshot: Sendable {}
