import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// The records of the source's tables.
extension ServiceStore {
    /// Finds the record of a table; nil if there is none that fits.
    package func table(
        matching description: TableDescription, types: TypeCatalog, _ context: EvaluationContext
    ) async throws -> SourceTable? {
        try await records(context.stream).last { $0.fits(description, types) }?.table(description, types)
    }

    /// Finds the record of a table, or makes one.
    ///
    /// A record of the same relation or name that does not fit any more, because another table took the name,
    /// or the
    /// identity changed, is replaced: all its rows are removed (service 4.8).
    ///
    /// - Parameters:
    ///   - description: What the source says of the table.
    ///   - types: The types of its columns.
    ///   - context: The stream.
    ///   - membership: By what the table is published now, if it is to be read: a record that was read by another misses
    ///     what was changed in between, and does not fit. Nil if it is not read.
    ///   - anew: Whether a record that fits is replaced, too; the new one is incomplete until it is read.
    /// - Returns: The table; its snapshot is to be made if it is not done.
    /// - Throws: `SQLiteError`.
    package func resolve(
        _ description: TableDescription, types: TypeCatalog, _ context: EvaluationContext,
        membership: String? = nil, anew: Bool = false
    ) async throws -> SourceTable {
        let related = try await records(context.stream).filter { record in
            let other = record.description
            return other.oid == description.oid
                || ExactText(other.schema) == ExactText(description.schema)
                    && ExactText(other.name) == ExactText(description.name)
        }
        // Two that fit are there if the service ended while one took the other's place.
        let match = related.last { record in
            record.fits(description, types) && !anew && (membership == nil || record.membership == membership)
        }
        // First the new one: should the service end before the other is removed, the new one is known to be incomplete. Who
        // had changed the table before it was published has still to be waited for.
        let table =
            if let match { match.table(description, types) } else {
                try await add(
                    description, types, context.stream, membership: membership,
                    writers: related.last { $0.description.oid == description.oid }?.writers,
                    isIncomplete: anew || (membership != nil && !related.isEmpty))
            }
        for record in related where record.id != table.id { try await replace(record, context) }
        return table
    }

    /// A record of the state file; of the columns only the identity's spelling is kept.
    private struct TableRecord: Sendable {
        let id: Int64
        let uuid: String
        let description: TableDescription
        let storedIdentity: ExactText
        let identityNames: [String]
        let isSnapshotDone: Bool
        let snapshotKey: String?
        let membership: String?
        let seen: SeenTransactions?
        let readUntil: LSN
        let writers: String?
        let layout: TableLayout.Version

        func fits(_ other: TableDescription, _ types: TypeCatalog) -> Bool {
            description.hasSameName(as: other) && storedIdentity == other.identity(types)
        }

        func table(_ description: TableDescription, _ types: TypeCatalog) -> SourceTable {
            var table = SourceTable(
                id: id, uuid: uuid, description: description, isSnapshotDone: isSnapshotDone,
                snapshotKey: snapshotKey, types: types)
            table.membership = membership
            table.seen = seen
            table.readUntil = readUntil
            table.layout = layout
            // Where no columns are known, rows are found by what their keys were made of.
            table.identityNames = identityNames
            return table
        }
    }

    private func records(_ stream: StreamNumber) async throws -> [TableRecord] {
        try await pool.write { connection in
            try connection.query(
                "SELECT id, uuid, oid, schema_name, name, identity, snapshot_done, snapshot_key, shape, layout_since, "
                    + "seen, membership, writers, read_until, identity_names FROM source_table "
                    + "WHERE stream = ? AND is_replaced = 0 ORDER BY id", [.integer(stream)]
            ) { row in
                guard let names = try JSON.parse(row.string(14)).arrayValue else {
                    throw StoreError.unreadableRow
                }
                return TableRecord(
                    id: row.int64(0), uuid: row.string(1),
                    description: TableDescription(
                        oid: UInt32(truncatingIfNeeded: row.int64(2)), schema: row.string(3),
                        name: row.string(4),
                        columns: []),
                    storedIdentity: ExactText(row.string(5)),
                    identityNames: names.compactMap(\.stringValue), isSnapshotDone: row.int64(6) != 0,
                    snapshotKey: row.text(7),
                    membership: row.text(11), seen: row.text(10).flatMap { SeenTransactions(text: $0) },
                    readUntil: Self.lsn(row.int64(13)), writers: row.text(12),
                    layout: TableLayout.Version(shape: row.int64(8), since: Self.lsn(row.int64(9))))
            }
        }
    }

    private func add(
        _ description: TableDescription, _ types: TypeCatalog, _ stream: StreamNumber, membership: String?,
        writers: String?, isIncomplete: Bool
    ) async throws -> SourceTable {
        let uuid = ReplicaID.random().text
        let names = description.columns.filter(\.isIdentity).map { JSON.string($0.name) }
        let id = try await pool.write { connection in
            try connection.run(
                "INSERT INTO source_table(stream, uuid, oid, schema_name, name, identity, identity_names, membership, "
                    + "writers, is_incomplete) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    .integer(stream), .text(uuid), .integer(Int64(description.oid)),
                    .text(description.schema),
                    .text(description.name), .text(description.identity(types).text),
                    .text(JSON.array(names).text),
                    SQLiteValue(membership), SQLiteValue(writers), .integer(isIncomplete ? 1 : 0),
                ])
            return connection.lastInsertRowID
        }
        var table = SourceTable(
            id: id, uuid: uuid, description: description, isSnapshotDone: false, snapshotKey: nil,
            types: types)
        table.membership = membership
        return table
    }

    /// Removes the rows of a relation that no longer belongs to the configuration.
    package func forget(oid: UInt32, _ context: EvaluationContext) async throws {
        for record in try await records(context.stream) where record.description.oid == oid {
            try await replace(record, context)
        }
    }

    private func replace(_ record: TableRecord, _ context: EvaluationContext) async throws {
        try await pool.write { connection in
            // Rows go in pieces. Should the service end between two, nobody takes the rest for the table: none has this
            // identity.
            try connection.run(
                "UPDATE source_table SET identity = 'replaced' WHERE id = ?", [.integer(record.id)])
        }
        // Removing needs no columns, and so no types.
        let plan = TablePlan(record.table(record.description, TypeCatalog()))
        let batch = RowEvaluation.evaluateAtOnce(
            ChangeBatch(.truncate(0), tables: [plan]), context.converter, limits: limits)
        _ = try await GroupWriter(self, context).write([batch])
        try await pool.write { connection in
            try connection.run("UPDATE source_table SET is_replaced = 1 WHERE id = ?", [.integer(record.id)])
        }
    }

    /// Notes where the rows of a table lie by now; if they have moved, the large values that are known are so no more.
    ///
    /// - Parameters:
    ///   - layout: What the source says.
    ///   - table: The table.
    /// - Returns: The table with the version of its layout.
    /// - Throws: `SQLiteError`.
    package func note(_ layout: TableLayout, of table: SourceTable) async throws -> SourceTable {
        let version = try await pool.write { connection in
            try connection.run(
                "UPDATE source_table SET shape = shape + 1, layout = ?1, layout_since = ?2 "
                    + "WHERE id = ?3 AND layout IS NOT ?1",
                [.text(layout.text), Self.value(layout.seenAt), .integer(table.id)])
            return try connection.one(
                "SELECT shape, layout_since FROM source_table WHERE id = ?", [.integer(table.id)]
            ) { TableLayout.Version(shape: $0.int64(0), since: Self.lsn($0.int64(1))) }
        }
        var table = table
        table.layout = version ?? TableLayout.Version()
        return table
    }

    /// The relations of which rows are missing that the log does not bring again: the link was lost before they were read.
    ///
    /// - Parameter context: The stream.
    /// - Returns: The ids, and whether all of a table has to be read; if not, it was being read and can go on.
    /// - Throws: `SQLiteError`.
    package func incompleteTables(
        _ context: EvaluationContext
    ) async throws -> [(oid: UInt32, isAnew: Bool)] {
        try await pool.write { connection in
            try connection.query(
                "SELECT oid, snapshot_done FROM source_table "
                    + "WHERE stream = ? AND is_incomplete = 1 AND is_replaced = 0 ORDER BY id",
                [.integer(context.stream)]
            ) { (oid: UInt32(truncatingIfNeeded: $0.int64(0)), isAnew: $0.int64(1) != 0) }
        }
    }

    /// Notes that the rows that were missing have been read again.
    package func noteComplete(_ tables: [SourceTable]) async throws {
        try await pool.write { connection in
            try connection.transaction {
                for id in Set(tables.map(\.id)) {
                    try connection.run(
                        "UPDATE source_table SET is_incomplete = 0 WHERE id = ?", [.integer(id)])
                }
            }
        }
    }

    /// Notes what is seen before the rows of a table are read.
    ///
    /// - Parameters:
    ///   - seen: What is seen now.
    ///   - table: The table.
    ///   - position: The position of the log behind that; zero if what the stream tells of it is applied again.
    ///   - isBeginning: Whether what was read of it so far is removed next.
    /// - Returns: The table with what was seen before the first of its rows was read, if that has begun.
    /// - Throws: `SQLiteError`.
    package func note(
        _ seen: SeenTransactions, of table: SourceTable, until position: LSN = .zero,
        isBeginning: Bool = false
    ) async throws -> SourceTable {
        let first = try await pool.write { connection in
            try connection.run(
                "UPDATE source_table SET seen = ?, read_until = ? WHERE id = ? AND (seen IS NULL OR ?)",
                [
                    .text(seen.text), Self.value(position), .integer(table.id),
                    .integer(isBeginning ? 1 : 0),
                ])
            return try connection.one(
                "SELECT seen, read_until FROM source_table WHERE id = ?", [.integer(table.id)]
            ) { (seen: SeenTransactions(text: $0.string(0)), until: Self.lsn($0.int64(1))) }
        }
        var table = table
        table.seen = first?.seen
        table.readUntil = first?.until ?? .zero
        return table
    }

    /// Notes the transactions of which a table's rows have yet to be read, once they have ended.
    package func note(_ writers: OpenTransactions, of table: SourceTable) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE source_table SET writers = coalesce(rtrim(writers, '}') || ',' || ltrim(?1, '{'), ?1) "
                    + "WHERE id = ?2",
                [.text(writers.ids), .integer(table.id)])
        }
        streamsWithoutWriters.withLock { $0 = [] }
    }

    /// The relations that have to be read again once transactions have ended.
    package func tablesWithWriters(
        _ context: EvaluationContext
    ) async throws -> [(oid: UInt32, writers: OpenTransactions)] {
        guard !streamsWithoutWriters.withLock({ $0.contains(context.stream) }) else { return [] }
        let tables: [(oid: UInt32, writers: OpenTransactions)] = try await pool.write { connection in
            try connection.query(
                "SELECT oid, writers FROM source_table "
                    + "WHERE stream = ? AND writers IS NOT NULL AND is_replaced = 0 ORDER BY id",
                [.integer(context.stream)]
            ) { (oid: UInt32(truncatingIfNeeded: $0.int64(0)), writers: OpenTransactions(ids: $0.string(1))) }
        }
        if tables.isEmpty { streamsWithoutWriters.withLock { _ = $0.insert(context.stream) } }
        return tables
    }

    /// Notes that a relation was read again after all its former writers had ended.
    package func forgetWriters(oid: UInt32, _ context: EvaluationContext) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE source_table SET writers = NULL WHERE stream = ? AND oid = ?",
                [.integer(context.stream), .integer(Int64(oid))])
        }
    }

    /// Notes how far the snapshot of a table has come.
    static func noteSnapshot(
        _ table: Int64, key: String?, isDone: Bool, _ connection: SQLiteConnection
    ) throws {
        try connection.run(
            "UPDATE source_table SET snapshot_done = ?1, snapshot_key = ?2, "
                + "is_incomplete = iif(?1, 0, is_incomplete) WHERE id = ?3",
            [.integer(isDone ? 1 : 0), SQLiteValue(key), .integer(table)])
    }
}
