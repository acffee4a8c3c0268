import PowerSyncSQLite

@testable import PowerSyncServiceEngine

/// What a state has, as texts: two that were written alike have the same.
enum StateDump {
    /// Where rows are, and what is kept of them.
    static let rows = [
        "SELECT hex(key), hex(places) FROM source_row ORDER BY source_table, key",
        "SELECT hex(key), shape, hex(cells) FROM large_value ORDER BY source_table, key",
    ]
    /// Everything that one transaction writes, byte by byte.
    static let everything =
        rows + [
            "SELECT stream, name, checksum, count, last_op, tail_checksum, tail_count, tail_op, small "
                + "FROM bucket ORDER BY id",
            "SELECT bucket, first_op, last_op, count, checksum, max_target, hex(body) "
                + "FROM segment ORDER BY id",
            "SELECT applied_lsn, is_ahead, snapshot_done, no_checkpoint_before, checkpoint_op, "
                + "checkpoint_lsn, last_op, partial_lsn, partial_position, partial_changes "
                + "FROM replication_stream",
            "SELECT id, is_incomplete, shape FROM source_table ORDER BY id", "SELECT last_op FROM counter",
        ]

    /// Reads what queries give.
    static func of(_ store: ServiceStore, _ queries: [String]) async throws -> [String] {
        try await store.pool.write { connection in
            try queries.flatMap { query in
                try connection.query(query) { row in
                    (0..<row.count).map { row.string($0) }.joined(separator: " ")
                }
            }
        }
    }
}
