import PowerSyncPostgres

/// What the backend itself keeps about a person, and its removal (backend 3.4, Retention).
///
/// The person's rows in the app's own tables are the app's.
package enum Erasure {
    /// How many rows of a table are about the person.
    package struct Count: Sendable, Hashable {
        /// Schema and table.
        package let table: String
        /// The rows.
        package let rows: Int
    }

    /// Counts what there is, and removes it if that is wanted, all in one transaction.
    ///
    /// Every table of the schema `psb` that names a user counts, and the custom checkpoints where they are the backend's own
    /// table: an app may have one of that name.
    ///
    /// - Parameters:
    ///   - user: the token's subject.
    ///   - removes: whether it is removed.
    ///   - connection: outside a transaction.
    /// - Returns: the counts of all tables, by name.
    /// - Throws: `PostgresError`; nothing is removed then.
    package static func run(_ user: String, removes: Bool, on connection: PostgresConnection) async throws
        -> [Count]
    {
        // The last statement fails where no backend has been started.
        try await connection.script(
            "BEGIN; SET LOCAL statement_timeout = '10min'; SELECT 'psb.dead_letters'::regclass")
        let found = try await connection.query(
            """
            SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id' AND NOT a.attisdropped
            WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND (n.nspname = 'psb' OR n.nspname = 'public' AND c.relname = 'checkpoints'
                    AND \(BackendSchema.isOwnCheckpoints("c.oid")))
            ORDER BY n.nspname, c.relname
            """)
        var counts: [Count] = []
        for row in 0..<found.rowCount {
            guard let schema = found[row, 0], let table = found[row, 1] else { continue }
            let name = quoteIdentifier(schema, table)
            let rows: Int
            if removes {
                rows = try await connection.query("DELETE FROM \(name) WHERE user_id = $1::text", [user])
                    .affectedRows
            } else {
                let count = try await connection.query(
                    "SELECT count(*)::text FROM \(name) WHERE user_id = $1::text", [user])
                rows = count.scalar.flatMap { Int($0) } ?? 0
            }
            counts.append(Count(table: "\(schema).\(table)", rows: rows))
        }
        try await connection.script("COMMIT")
        return counts
    }
}
