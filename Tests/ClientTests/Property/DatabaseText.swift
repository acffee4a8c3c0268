import PowerSyncSQLite

/// The tables of a client as text, to be compared.
struct DatabaseText: Equatable {
    /// Lines by the name of what they tell.
    var parts: [String: String] = [:]

    /// Reads all tables in one statement, so that they are of one commit.
    static func read(_ connection: SQLiteConnection) throws -> DatabaseText {
        let parts = try connection.one(statement) { row in
            (0..<queries.count).map { row.text(Int($0)) ?? "" }
        }
        guard let parts else { return DatabaseText() }
        return DatabaseText(parts: Dictionary(uniqueKeysWithValues: zip(queries.map(\.name), parts)))
    }

    /// Says where two texts differ.
    func difference(to expected: DatabaseText) -> String {
        parts.keys.sorted().filter { parts[$0] != expected.parts[$0] }.map { name in
            let actual = Set((parts[name] ?? "").split(separator: "\n"))
            let wanted = Set((expected.parts[name] ?? "").split(separator: "\n"))
            let lines =
                wanted.subtracting(actual).sorted().map { "    lacks \($0)" }
                + actual.subtracting(wanted).sorted().map { "    holds \($0)" }
            return "  \(name):\n" + (lines.isEmpty ? "    another order" : lines.joined(separator: "\n"))
        }.joined(separator: "\n")
    }

    private static let statement =
        "SELECT "
        + queries.map { "(SELECT group_concat(line, char(10)) FROM (\($0.sql)))" }.joined(separator: ", ")

    private static let queries: [(name: String, sql: String)] = [
        (
            "buckets",
            """
            SELECT name || ' applied ' || last_applied_op || ' last ' || last_op || ' add ' || add_checksum \
            || ' op ' || op_checksum || ' count ' || count_at_last || '+' || count_since_last || ' size ' \
            || downloaded_size AS line FROM ps_buckets ORDER BY id
            """
        ),
        (
            "operations",
            """
            SELECT ifnull(b.name, 'no bucket') || ' ' || op_id || ' ' || row_type || ' ' || row_id || ' ' \
            || key || ' ' || hash || ' ' || data AS line \
            FROM ps_oplog LEFT JOIN ps_buckets b ON b.id = bucket ORDER BY b.name, op_id, key
            """
        ),
        (
            "updated",
            """
            SELECT row_type || '/' || row_id AS line FROM ps_updated_rows ORDER BY row_type, row_id
            """
        ),
        (
            "rows",
            """
            SELECT type || '/' || id || ' ' || data AS line FROM ( \
            SELECT 'todos' AS type, id, data FROM ps_data__todos \
            UNION ALL SELECT 'lists', id, data FROM ps_data__lists \
            UNION ALL SELECT 'notes', id, data FROM ps_data__notes \
            UNION ALL SELECT 'local drafts', id, data FROM ps_data_local__drafts \
            UNION ALL SELECT type, id, data FROM ps_untyped) ORDER BY type, id
            """
        ),
        // The numbers of transactions have gaps; what counts is which entries share one.
        (
            "queue",
            """
            SELECT dense_rank() OVER (ORDER BY tx_id) || ' ' || data AS line FROM ps_crud ORDER BY id
            """
        ),
        (
            "gate",
            """
            SELECT 'target ' || ifnull(max(value) FILTER (WHERE key = 'target_checkpoint_request_id'), '-') \
            || ' seen ' || ifnull(max(value) FILTER (WHERE key = 'last_seen_checkpoint_request_id'), '-') \
            || ' applied ' \
            || ifnull(max(value) FILTER (WHERE key = 'last_applied_checkpoint_request_id'), '-') AS line \
            FROM ps_kv
            """
        ),
        (
            "synced", "SELECT priority || ' ' || last_synced_at AS line FROM ps_sync_state ORDER BY priority"
        ),
        (
            "subscriptions",
            """
            SELECT stream_name || ' ' || local_params || ' ' || active || ' ' || is_default || ' ' \
            || ifnull(ttl, '-') || ' ' || ifnull(expires_at, '-') || ' ' || ifnull(last_synced_at, '-') AS line \
            FROM ps_stream_subscriptions ORDER BY id
            """
        ),
    ]
}
