import PowerSyncSQLite
import PowerSyncWire

/// The usual rows of a batch, written from where their bytes lie: no text and no array is made of any.
extension RowWriter {
    /// Writes a row that is in a bucket or found by a lookup, if its key is not there yet, as `insert(_:)` does.
    ///
    /// - Parameters:
    ///   - row: The row, which is there and does not wait.
    ///   - key: Where its key lies.
    ///   - large: Where its large values lie; nil if none are kept.
    ///   - batch: The batch.
    ///   - plan: Its table.
    ///   - buckets: The ids of the batch's buckets, at least of those that the row names.
    /// - Returns: Whether it was written; nil if that has to be left to `insert(_:)`.
    /// - Throws: `SQLiteError`.
    func insert(
        _ row: EvaluatedBatch.Row, key: Range<Int>, large: Range<Int>?, of batch: EvaluatedBatch,
        _ plan: TablePlan, _ buckets: [Int64]
    ) throws -> Bool? {
        let operations = batch.operations[row.operations]
        guard RowPlaces.areDistinct(operations, in: buckets, batch.bytes) else { return nil }
        pack(row, key: key, hasLargeValues: large != nil, of: batch, buckets)
        try connection.withStatement(Self.insertPlaces) { statement in
            try statement.lending(batch.bytes) { bytes in
                try statement.bind(plan.table.id, at: 1)
                try bytes.bind(blob: key, at: 2)
                try statement.lending(packed) { places in
                    try places.bind(blob: packed.indices, at: 3)
                    try statement.runBound()
                }
            }
        }
        guard connection.changes == 1 else { return false }
        try put(operations, of: batch, buckets)
        try writeLookups(of: row, key: key, in: batch, plan.table.id)
        guard let large else { return true }
        try connection.withStatement(Self.keepCells) { statement in
            try statement.lending(batch.bytes) { bytes in
                try statement.bind(plan.table.id, at: 1)
                try bytes.bind(blob: key, at: 2)
                try statement.bind(plan.table.largeShape, at: 3)
                try bytes.bind(blob: large, at: 4)
                try statement.runBound()
            }
        }
        return true
    }

    /// Returns what is stored of where a row is.
    ///
    /// - Parameters:
    ///   - key: Where its key lies.
    ///   - bytes: What it lies in.
    ///   - plan: Its table.
    /// - Returns: What `RowPlaces` reads; nil if nothing is stored of it, which includes that it is not there.
    /// - Throws: `SQLiteError`.
    func storedPlaces(of key: Range<Int>, in bytes: [UInt8], _ plan: TablePlan) throws -> [UInt8]? {
        try connection.withStatement(Self.selectPlaces) { statement in
            try statement.lending(bytes) { bytes -> [UInt8]? in
                try statement.bind(plan.table.id, at: 1)
                try bytes.bind(blob: key, at: 2)
                return try statement.step() ? try statement.row().blob(0) : nil
            }
        }
    }

    /// Writes a row that has moved nowhere, is found by the same keys, and of which no large values are kept.
    ///
    /// - Parameters:
    ///   - row: The row, which is there and does not wait.
    ///   - key: Where its key lies.
    ///   - batch: The batch.
    ///   - buckets: The ids of the batch's buckets, at least of those that the row names.
    ///   - table: The record of its table.
    ///   - stored: Where it was, as `storedPlaces` says.
    /// - Returns: Whether it was written; false if it has moved, or that cannot be said so quickly.
    /// - Throws: `SQLiteError`.
    func rewrite(
        _ row: EvaluatedBatch.Row, key: Range<Int>, of batch: EvaluatedBatch, _ buckets: [Int64],
        table: Int64, stored: [UInt8]
    ) throws -> Bool {
        let operations = batch.operations[row.operations]
        guard row.isStored, RowPlaces.areDistinct(operations, in: buckets, batch.bytes) else {
            return false
        }
        pack(row, key: key, hasLargeValues: false, of: batch, buckets)
        guard packed == stored else { return false }
        try put(operations, of: batch, buckets)
        try writeLookups(of: row, key: key, in: batch, table)
        return true
    }

    private func pack(
        _ row: EvaluatedBatch.Row, key: Range<Int>, hasLargeValues: Bool, of batch: EvaluatedBatch,
        _ buckets: [Int64]
    ) {
        packed.removeAll(keepingCapacity: true)
        RowPlaces.append(
            batch.operations[row.operations], in: buckets, hasLargeValues: hasLargeValues, of: key,
            batch.bytes, to: &packed)
        RowPlaces.append(batch.lookups[row.lookups], batch.bytes, to: &packed)
    }

    private func put(
        _ operations: ArraySlice<EvaluatedBatch.Operation>, of batch: EvaluatedBatch, _ buckets: [Int64]
    ) throws {
        for operation in operations {
            try append(
                .put, batch.bytes[operation.record], operation.checksum, to: buckets[operation.bucket])
        }
    }
}
