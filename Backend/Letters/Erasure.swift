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
    /// Every table of the schema `psb` that names a user counts but the one of those who may do nothing, which would let the
    /// person in again, and the custom checkpoints where they are the backend's own
    /// table: an app may have one of that name. Of attachments the keys stay until a backend that runs has had the store
    /// remove the bytes; they say nothing.
    ///
    /// - Parameters:
    ///   - user: the token's subject.
    ///   - removes: whether it is removed.
    ///   - connection: outside a transaction.
    /// - Returns: the counts of all tables, by name.
    /// - Throws: `PostgresError`; nothing is removed then.
    package static func run(
        _ user: String, removes: Bool, on connection: PostgresConnection
    ) async throws -> [Count] {
        // What others commit meanwhile is seen, whatever the database's default is. The last statement fails where no backend
        // has been started.
        try await connection.script(
            """
            BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = '10min';
            SELECT 'psb.dead_letters'::regclass
            """)
        let found = try await connection.query(
            """
            SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = 'user_id' AND NOT a.attisdropped
            WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition
                AND (n.nspname = 'psb' AND c.relname <> 'disabled_users' OR n.nspname = 'public' AND c.relname = 'checkpoints'
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
        if let attachments = try await attachments(user, removes, connection) {
            counts.append(attachments)
            counts.sort { $0.table < $1.table }
        }
        try await connection.script("COMMIT")
        return counts
    }

    /// The same for attachments; nil in a schema of before they were there.
    private static func attachments(
        _ user: String, _ removes: Bool, _ connection: PostgresConnection
    ) async throws -> Count? {
        let name = "psb.attachments"
        let found = try await connection.query(
            "SELECT pg_catalog.to_regclass($1::text) IS NOT NULL", [name])
        guard found.scalar == "t" else { return nil }
        if removes {
            return Count(table: name, rows: try await AttachmentTable.erase(user, on: connection))
        }
        let count = try await connection.query(
            "SELECT count(*)::text FROM psb.attachments WHERE owner = $1::text", [user])
        return Count(table: name, rows: count.scalar.flatMap { Int($0) } ?? 0)
    }
}
