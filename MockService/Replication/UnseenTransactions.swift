import PowerSyncPostgres
import PowerSyncSystem

/// Transactions that the stream has told of and that other sessions may not see yet.
///
/// Postgres sends a transaction once its commit is in the log, which is a moment before anybody sees it: what is read in
/// between, a table's columns or a row, is as it was before.
struct UnseenTransactions {
    private var ids: [UInt32] = []

    /// Notes a transaction that begins.
    mutating func note(_ message: PgOutputMessage) {
        if case .begin(_, _, let id) = message { ids.append(id) }
    }

    /// Forgets transactions of which nothing is read.
    mutating func clear() { ids.removeAll(keepingCapacity: true) }

    /// Returns once a connection sees all of them.
    ///
    /// - Parameters:
    ///   - connection: What is going to read.
    ///   - replicator: Says how long that may take.
    /// - Throws: `PostgresError`.
    mutating func wait(_ connection: PostgresConnection, _ replicator: Replicator) async throws {
        guard !ids.isEmpty else { return }
        let end = ContinuousClock.now + replicator.times.statement
        // The stream tells 32 bits of an id: it is the one that is nearest to those of now.
        let sql = """
            SELECT bool_and(txid_visible_in_snapshot(near - ((near - id) & 4294967295), now))
            FROM txid_current_snapshot() now, LATERAL (SELECT txid_snapshot_xmax(now) + 2147483648) n(near),
                unnest($1::bigint[]) id
            """
        let list = "{" + ids.map { String($0) }.joined(separator: ",") + "}"
        while try await connection.query(sql, [list]).scalar != "t" {
            guard ContinuousClock.now < end else {
                throw PostgresError(.timedOut, "a transaction is in the log and not to be seen")
            }
            try await replicator.poller.sleep(until: .now + .milliseconds(1))
        }
        clear()
    }
}
