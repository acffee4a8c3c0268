import PowerSyncSQLite
import PowerSyncWire

extension PackedSegment {
    /// Stores the segment as a row of its own; how many small ones its bucket has is for the caller to say.
    ///
    /// - Parameters:
    ///   - bucket: The bucket that the operations are of.
    ///   - connection: The one that writes, in a transaction.
    /// - Throws: `SQLiteError`.
    package func store(in bucket: Int64, _ connection: SQLiteConnection) throws {
        let sql = """
            INSERT INTO segment(bucket, first_op, last_op, count, checksum, max_target, body)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        try connection.withStatement(sql) { statement in
            try statement.lending(body) { lent in
                let numbers = [
                    bucket, summary.firstOperation, summary.lastOperation, summary.count,
                    Int64(summary.checksum.value), summary.maxTarget,
                ]
                for (index, number) in numbers.enumerated() { try statement.bind(number, at: index + 1) }
                try lent.bind(blob: body.indices, at: numbers.count + 1)
                try statement.runBound()
            }
        }
    }
}
