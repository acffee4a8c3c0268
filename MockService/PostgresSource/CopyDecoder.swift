import PowerSyncPostgres
import PowerSyncServiceEngine

/// Reads rows of a COPY … TO STDOUT into batches: texts stay where they were received, and escapes are undone in place.
package struct CopyDecoder {
    private let plan: TablePlan
    private let key: Int?
    private var values: [PostgresCell] = []

    /// Makes a decoder.
    ///
    /// - Parameters:
    ///   - plan: The table, whose columns the rows have.
    ///   - key: The column along which the rows come, which is never NULL; nil if there is none.
    package init(_ plan: TablePlan, key: Int?) {
        self.plan = plan
        self.key = key
    }

    /// Makes a batch of the rows of a buffer.
    ///
    /// - Parameter frames: The rows, at least one; nothing is left in it.
    /// - Returns: The batch; along a key it says up to where the table has been read.
    package mutating func batch(_ frames: inout PostgresFrames) -> ChangeBatch {
        var batch = ChangeBatch(tables: [plan], isAhead: true)
        var ends: [Int] = []
        (batch.bytes, ends) = frames.take()
        batch.changes.reserveCapacity(ends.count)
        batch.cells.reserveCapacity(ends.count * plan.conversions.count)
        var start = 0
        for end in ends {
            values.removeAll(keepingCapacity: true)
            PostgresCopyRow.unescape(start..<end, in: &batch.bytes, cells: &values)
            let row = batch.append(values[...], columns: plan.conversions.count)
            batch.changes.append(ChangeBatch.Change(.snapshot, table: 0, new: row.first))
            start = end
        }
        if let key, let last = batch.changes.last, let range = batch.cells[last.new + key].range {
            batch.append(.readUpTo(0, key: String(decoding: batch.bytes[range], as: UTF8.self)))
        }
        return batch
    }
}
