/// The SQL of the upload queue (client-core 8.1).
enum CrudQueue {
    /// The oldest rows; parameter: how many at most.
    static let oldest = "SELECT id, tx_id, data FROM ps_crud ORDER BY id ASC LIMIT ?"

    /// The oldest transaction after an id; parameter: the id.
    ///
    /// It is the row with the smallest id and those that follow it without a gap in the same transaction. A row
    /// without transaction stands alone, because NULL equals nothing.
    static let nextTransaction = """
        WITH RECURSIVE run(id, tx_id, data) AS (
            SELECT id, tx_id, data FROM
                (SELECT id, tx_id, data FROM ps_crud WHERE id > ? ORDER BY id ASC LIMIT 1)
            UNION ALL
            SELECT next.id, next.tx_id, next.data FROM run
                JOIN ps_crud AS next ON next.id = run.id + 1 AND next.tx_id = run.tx_id
        )
        SELECT id, tx_id, data FROM run ORDER BY id
        """

    /// The target "unknown yet, block applying".
    static let blockingTarget = Int64.max

    /// Removes everything up to an entry and says what the server must have seen before its data is applied.
    ///
    /// Nothing happens if all of that was removed before.
    ///
    /// - Parameters:
    ///   - lastId: the last entry that was uploaded.
    ///   - writeCheckpoint: the app's own checkpoint; it counts if the queue is empty then.
    ///   - transaction: the write transaction.
    /// - Throws: `PowerSyncError`, also for a checkpoint that is no number.
    static func complete(
        through lastId: Int64, writeCheckpoint: String?, in transaction: any Transaction
    ) throws {
        let removed = try transaction.execute(
            sql: "DELETE FROM ps_crud WHERE id <= ?", parameters: [lastId])
        // Completed before, or cleared: what waits for a checkpoint now, if anything, are other writes, maybe of the next
        // user, to whom a checkpoint of these would never be shown.
        guard removed > 0 else { return }
        let isEmpty =
            try transaction.getOptional(sql: "SELECT 1 FROM ps_crud LIMIT 1", parameters: []) { _ in true }
            == nil
        if let writeCheckpoint, isEmpty {
            _ = try target(in: transaction, setting: writeCheckpoint)
        } else if try target(in: transaction, setting: nil) != nil {
            // Without a target there never was a gated write: nothing to block (client-core 8.1).
            _ = try target(in: transaction, setting: blockingTarget)
        }
    }

    /// Returns the target and replaces it, unless there is nothing to replace it by.
    private static func target(
        in transaction: any Transaction, setting new: (any Sendable)?
    ) throws -> Int64? {
        try transaction.get(
            sql: "SELECT powersync_control('target_checkpoint_request_id', ?)", parameters: [new]
        ) { $0.getInt64Optional(index: 0) }
    }
}
