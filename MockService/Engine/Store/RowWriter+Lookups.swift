import PowerSyncSQLite
import PowerSyncWire

/// What rows are found by (DESIGN.md, 1; service 4.6): versions follow the operations of their row.
extension RowWriter {
    /// Writes what is found of a row now, and tombstones for keys that it has left.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - previous: The keys by which it was found.
    /// - Throws: `SQLiteError`.
    func writeLookups(of row: Row, replacing previous: [RowPlaces.Lookup]) throws {
        for lookup in row.lookups {
            let place = LookupVersions.Place(
                definition: lookup.definition, key: lookup.key, sourceTable: row.table.id, row: row.key)
            try write(lookup.value, at: place, in: row.bytes)
        }
        guard !previous.isEmpty else { return }
        let current = Set(Self.lookups(of: row))
        try removeLookups(previous.filter { !current.contains($0) }, of: row.key, in: row.table)
    }

    /// Writes what is found now of a row of a batch, which has left no key.
    ///
    /// - Parameters:
    ///   - row: The row.
    ///   - key: Where its key lies.
    ///   - batch: The batch.
    ///   - table: The record of its table.
    /// - Throws: `SQLiteError`, `StoreError`.
    func writeLookups(
        of row: EvaluatedBatch.Row, key: Range<Int>, in batch: EvaluatedBatch, _ table: Int64
    ) throws {
        guard !row.lookups.isEmpty else { return }
        let rowKey = try RowKey(stored: Array(batch.bytes[key]))
        for lookup in batch.lookups[row.lookups] {
            let place = LookupVersions.Place(
                definition: lookup.definition, key: lookup.key, sourceTable: table, row: rowKey)
            try write(lookup.value, at: place, in: batch.bytes)
        }
    }

    /// Writes tombstones: the row is found by these keys no more.
    ///
    /// - Parameters:
    ///   - lookups: The keys by which it was found.
    ///   - key: What the row is found by in its table.
    ///   - table: The table.
    /// - Throws: `SQLiteError`.
    func removeLookups(_ lookups: [RowPlaces.Lookup], of key: RowKey, in table: SourceTable) throws {
        for lookup in lookups {
            let place = LookupVersions.Place(
                definition: lookup.definition, key: lookup.key.indices, sourceTable: table.id, row: key)
            try write(0..<0, at: place, in: lookup.key)
        }
    }

    /// The keys by which a row is found, as `source_row` keeps them.
    static func lookups(of row: Row) -> [RowPlaces.Lookup] {
        row.lookups.map {
            RowPlaces.Lookup(definition: $0.definition, key: Array(row.bytes[$0.key]))
        }
    }

    private func write(_ value: Range<Int>, at place: LookupVersions.Place, in bytes: [UInt8]) throws {
        let isWritten = try LookupVersions(connection).write(
            value, at: place, in: bytes, checkpoint: checkpoint, id: { nextOperation() })
        guard isWritten else { return }
        noteChanged(LookupKey(definition: place.definition, key: bytes[place.key]))
    }
}
