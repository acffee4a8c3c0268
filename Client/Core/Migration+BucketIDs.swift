import PowerSyncSQLite

/// Version 5: buckets get integer ids, and the oplog keeps current PUT operations alone (client-core 1.4).
extension Migration {
    static let createBucketsV5 = createBuckets(targetOp: "  target_op INTEGER NOT NULL DEFAULT 0,\n")
    /// What version 14 starts from.
    static let createBucketsV14 = createBuckets(targetOp: "")

    private static func createBuckets(targetOp: String) -> String {
        """
        CREATE TABLE ps_buckets(
          id INTEGER PRIMARY KEY,
          name TEXT NOT NULL,
          last_applied_op INTEGER NOT NULL DEFAULT 0,
          last_op INTEGER NOT NULL DEFAULT 0,
        \(targetOp)\
          add_checksum INTEGER NOT NULL DEFAULT 0,
          op_checksum INTEGER NOT NULL DEFAULT 0,
          pending_delete INTEGER NOT NULL DEFAULT 0
        ) STRICT
        """
    }

    static let createBucketIndexV5 = "CREATE UNIQUE INDEX ps_buckets_name ON ps_buckets(name)"

    /// Statements that leave the rows of a table in another one alone.
    ///
    /// RENAME and DROP COLUMN would make SQLite read every view and trigger of the file again. That fails if one of
    /// the app's no longer works, or where the modules are missing that ours name; and a RENAME takes along the
    /// triggers of version 9 and before, which write to `ps_buckets` themselves.
    static func moveAside(_ table: String, _ other: String) -> [String] {
        ["CREATE TABLE \(other) AS SELECT * FROM \(table)", "DROP TABLE \(table)"]
    }

    /// Drops every managed view; the inner query is complete before the first one goes.
    static let dropManagedViews =
        "SELECT powersync_drop_view(name) FROM (\(ManagedView.query) LIMIT -1)"

    static let bucketIDs = Migration(5, down: bucketIDsDown) { connection, _ in
        // Their triggers were written for the old tables; the views stay, as other triggers may use them.
        let views = try connection.query(ManagedView.query) { ($0.string(0), $0.string(1)) }
        for (name, sql) in views {
            try connection.run("DROP VIEW \(SQLText.identifier(name))")
            try connection.run(sql)
        }
        for sql in bucketIDsUp { try connection.run(sql) }
    }

    private static let bucketIDsUp =
        moveAside("ps_buckets", "ps_buckets_old")
        + moveAside("ps_oplog", "ps_oplog_old") + [
            createBucketsV5,
            createBucketIndexV5,
            """
            CREATE TABLE ps_oplog(
              bucket INTEGER NOT NULL,
              op_id INTEGER NOT NULL,
              row_type TEXT,
              row_id TEXT,
              key TEXT,
              data TEXT,
              hash INTEGER NOT NULL
            ) STRICT
            """,
            "CREATE INDEX ps_oplog_row ON ps_oplog(row_type, row_id)",
            "CREATE INDEX ps_oplog_opid ON ps_oplog(bucket, op_id)",
            "CREATE INDEX ps_oplog_key ON ps_oplog(bucket, key)",
            """
            CREATE TABLE ps_updated_rows(
              row_type TEXT,
              row_id TEXT,
              PRIMARY KEY(row_type, row_id)
            ) STRICT, WITHOUT ROWID
            """,
            """
            INSERT INTO ps_buckets(name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete)
            SELECT name, last_applied_op, last_op, target_op, add_checksum, op_checksum, pending_delete
            FROM ps_buckets_old ORDER BY rowid
            """,
            """
            INSERT INTO ps_oplog(bucket, op_id, row_type, row_id, key, data, hash)
            SELECT b.id, o.op_id, o.row_type, o.row_id, o.key, o.data, o.hash
            FROM ps_oplog_old o JOIN ps_buckets b ON b.name = o.bucket
            WHERE o.superseded = 0 AND o.op = 3 ORDER BY b.id, o.op_id
            """,
            """
            INSERT OR IGNORE INTO ps_updated_rows(row_type, row_id)
            SELECT row_type, row_id FROM ps_oplog_old WHERE op <> 3
            """,
            """
            UPDATE ps_buckets SET
              add_checksum = (add_checksum + dropped.hash) & 4294967295,
              op_checksum = (op_checksum - dropped.hash) & 4294967295
            FROM (
              SELECT bucket, sum(hash) AS hash FROM ps_oplog_old
              WHERE superseded = 1 OR op <> 3 GROUP BY bucket) AS dropped
            WHERE ps_buckets.name = dropped.bucket
            """,
            "DROP TABLE ps_oplog_old",
            "DROP TABLE ps_buckets_old",
        ]

    private static let bucketIDsDown =
        [
            dropManagedViews
        ] + moveAside("ps_buckets", "ps_buckets_5") + moveAside("ps_oplog", "ps_oplog_5") + [
            createBucketsV1
        ] + addBucketColumnsV4 + [
            """
            INSERT INTO ps_buckets(
              name, last_applied_op, last_op, target_op, add_checksum, pending_delete, op_checksum)
            SELECT name, last_applied_op, last_op, target_op, add_checksum, pending_delete, op_checksum
            FROM ps_buckets_5 ORDER BY id
            """,
            createOplogV1,
        ] + createOplogIndexesV1 + [
            """
            INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, key, data, hash, superseded)
            SELECT b.name, o.op_id, 3, o.row_type, o.row_id, o.key, o.data, o.hash, 0
            FROM ps_oplog_5 o JOIN ps_buckets_5 b ON b.id = o.bucket ORDER BY o.rowid
            """,
            "DROP TABLE ps_oplog_5",
            "DROP TABLE ps_buckets_5",
            """
            INSERT INTO ps_oplog(bucket, op_id, op, row_type, row_id, hash, superseded)
            SELECT '$local', 1, 4, row_type, row_id, 0, 0 FROM ps_updated_rows
            """,
            """
            INSERT INTO ps_buckets(name, pending_delete, last_op, target_op)
            VALUES ('$local', 1, 0, 9223372036854775807)
            ON CONFLICT(name) DO UPDATE SET
              pending_delete = excluded.pending_delete,
              last_op = excluded.last_op,
              target_op = excluded.target_op
            """,
            "DROP TABLE ps_updated_rows",
        ]
}
