import PowerSyncSQLite

/// Versions 6 to 14 (client-core 1.4).
extension Migration {
    private static let addCountersV9 = [
        "ALTER TABLE ps_buckets ADD COLUMN count_at_last INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE ps_buckets ADD COLUMN count_since_last INTEGER NOT NULL DEFAULT 0",
    ]

    private static let addSizeV12 =
        "ALTER TABLE ps_buckets ADD COLUMN downloaded_size INTEGER NOT NULL DEFAULT 0"

    private static let createSyncStateV7 = """
        CREATE TABLE ps_sync_state(
          priority INTEGER NOT NULL,
          last_synced_at TEXT NOT NULL
        ) STRICT
        """

    private static let createSyncStateV8 = """
        CREATE TABLE ps_sync_state(
          priority INTEGER NOT NULL PRIMARY KEY,
          last_synced_at TEXT NOT NULL
        ) STRICT
        """

    private static let createSyncStateV13 = """
        CREATE TABLE ps_sync_state(
          priority INTEGER NOT NULL PRIMARY KEY,
          last_synced_at INTEGER NOT NULL
        ) STRICT
        """

    /// Statements that put `ps_sync_state` into another shape and copy what `select` makes of the old rows.
    private static func recreateSyncState(_ create: String, from version: Int, _ select: String) -> [String] {
        let old = "ps_sync_state_\(version)"
        return moveAside("ps_sync_state", old) + [
            create,
            "INSERT INTO ps_sync_state(priority, last_synced_at) SELECT \(select.replacing("OLD", with: old))",
            "DROP TABLE \(old)",
        ]
    }

    /// Statements that put `ps_buckets` into another shape and copy these columns beside the common ones.
    private static func recreateBuckets(
        from version: Int, _ create: [String], copying columns: [String]
    ) -> [String] {
        let old = "ps_buckets_\(version)"
        let common = [
            "id", "name", "last_applied_op", "last_op", "add_checksum", "op_checksum", "pending_delete",
        ]
        let all = (common + columns).joined(separator: ", ")
        return moveAside("ps_buckets", old) + [create[0], createBucketIndexV5] + create.dropFirst() + [
            "INSERT INTO ps_buckets(\(all)) SELECT \(all) FROM \(old)",
            "DROP TABLE \(old)",
        ]
    }

    static let later: [Migration] = [
        Migration(6, down: []) { connection, startsEmpty in
            if !startsEmpty { try queueDanglingRows(connection) }
        },
        Migration(
            7,
            up: [
                createSyncStateV7,
                """
                INSERT INTO ps_sync_state(priority, last_synced_at)
                SELECT 2147483647, value FROM ps_kv WHERE key = 'last_synced_at'
                """,
            ],
            down: [
                """
                INSERT OR REPLACE INTO ps_kv(key, value)
                SELECT 'last_synced_at', last_synced_at FROM ps_sync_state WHERE priority = 2147483647
                """,
                "DROP TABLE ps_sync_state",
            ]),
        Migration(
            8,
            up: recreateSyncState(
                createSyncStateV8, from: 7, "priority, max(last_synced_at) FROM OLD GROUP BY priority"),
            down: recreateSyncState(createSyncStateV7, from: 8, "priority, last_synced_at FROM OLD")),
        Migration(
            9, up: addCountersV9,
            down: recreateBuckets(from: 9, [createBucketsV5], copying: ["target_op"])),
        // Nothing to do: from here on triggers may use `powersync_crud`, which older libraries lack.
        Migration(10, up: [], down: [dropManagedViews]),
        Migration(
            11,
            up: [
                """
                CREATE TABLE ps_stream_subscriptions(
                  id INTEGER NOT NULL PRIMARY KEY,
                  stream_name TEXT NOT NULL,
                  active INTEGER NOT NULL DEFAULT 0,
                  is_default INTEGER NOT NULL DEFAULT 0,
                  local_priority INTEGER NULL,
                  local_params TEXT NOT NULL DEFAULT 'null',
                  ttl INTEGER NULL,
                  expires_at INTEGER NULL,
                  last_synced_at INTEGER NULL,
                  UNIQUE(stream_name, local_params)
                ) STRICT
                """
            ], down: ["DROP TABLE ps_stream_subscriptions"]),
        Migration(
            12, up: [addSizeV12],
            down: recreateBuckets(
                from: 12, [createBucketsV5] + addCountersV9,
                copying: ["target_op", "count_at_last", "count_since_last"])),
        Migration(
            13,
            up: [
                """
                UPDATE ps_stream_subscriptions SET
                  expires_at = expires_at * 1000000,
                  last_synced_at = last_synced_at * 1000000
                """
            ]
                + recreateSyncState(
                    createSyncStateV13, from: 12,
                    "priority, ifnull(unixepoch(last_synced_at), 0) * 1000000 FROM OLD"),
            down: [
                """
                UPDATE ps_stream_subscriptions SET
                  expires_at = expires_at / 1000000,
                  last_synced_at = last_synced_at / 1000000
                """
            ]
                + recreateSyncState(
                    createSyncStateV8, from: 13,
                    "priority, datetime(last_synced_at / 1000000, 'unixepoch') FROM OLD")),
        Migration(14, up: gateToKeys, down: gateToBucket),
    ]

    /// Rows of data tables that no operation explains are looked at again at the next apply.
    private static func queueDanglingRows(_ connection: SQLiteConnection) throws {
        for table in try DataTable.all(on: connection) where !table.isLocal {
            try connection.run(
                """
                INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id)
                SELECT ?1, id FROM \(SQLText.identifier(table.internalName)) AS rows
                WHERE NOT EXISTS (SELECT 1 FROM ps_oplog WHERE row_type = ?1 AND row_id = rows.id)
                """, [.text(table.name)])
        }
    }

    /// Version 14 up: the gate moves from the bucket `$local` into three keys.
    private static let gateToKeys =
        [
            """
            DELETE FROM ps_kv WHERE key IN (
              'last_applied_checkpoint_request_id',
              'last_seen_checkpoint_request_id',
              'target_checkpoint_request_id')
            """
        ]
        + [
            ("last_applied_op", "last_applied_checkpoint_request_id"),
            ("last_op", "last_seen_checkpoint_request_id"),
            ("target_op", "target_checkpoint_request_id"),
        ].map { column, key in
            """
            INSERT INTO ps_kv(key, value)
            SELECT '\(key)', \(column) FROM ps_buckets WHERE name = '$local' AND \(column) > 0
            """
        } + [
            "DELETE FROM ps_buckets WHERE name = '$local'"
        ]
        + recreateBuckets(from: 13, [createBucketsV14] + addCountersV9 + [addSizeV12], copying: addedColumns)

    private static let addedColumns = ["count_at_last", "count_since_last", "downloaded_size"]

    /// Version 14 down: the gate moves back; the keys stay for a later upgrade.
    private static let gateToBucket =
        recreateBuckets(from: 14, [createBucketsV5] + addCountersV9 + [addSizeV12], copying: addedColumns) + [
            """
            INSERT INTO ps_buckets(name, pending_delete, last_op, last_applied_op, target_op)
            SELECT '$local', 1,
              ifnull((SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_seen_checkpoint_request_id'), 0),
              ifnull((SELECT CAST(value AS INTEGER) FROM ps_kv WHERE key = 'last_applied_checkpoint_request_id'), 0),
              CAST(value AS INTEGER)
            FROM ps_kv WHERE key = 'target_checkpoint_request_id'
            ON CONFLICT(name) DO UPDATE SET
              pending_delete = excluded.pending_delete,
              last_op = excluded.last_op,
              last_applied_op = excluded.last_applied_op,
              target_op = excluded.target_op
            """
        ]
}
