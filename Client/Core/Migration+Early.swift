/// Versions 1 to 4: buckets are known by their name (client-core 1.4).
extension Migration {
    static let createOplogV1 = """
        CREATE TABLE ps_oplog(
          bucket TEXT NOT NULL,
          op_id INTEGER NOT NULL,
          op INTEGER NOT NULL,
          row_type TEXT,
          row_id TEXT,
          key TEXT,
          data TEXT,
          hash INTEGER NOT NULL,
          superseded INTEGER NOT NULL)
        """

    static let createOplogIndexesV1 = [
        "CREATE INDEX ps_oplog_by_row ON ps_oplog(row_type, row_id) WHERE superseded = 0",
        "CREATE INDEX ps_oplog_by_opid ON ps_oplog(bucket, op_id)",
        "CREATE INDEX ps_oplog_by_key ON ps_oplog(bucket, key) WHERE superseded = 0",
    ]

    static let createBucketsV1 = """
        CREATE TABLE ps_buckets(
          name TEXT PRIMARY KEY,
          last_applied_op INTEGER NOT NULL DEFAULT 0,
          last_op INTEGER NOT NULL DEFAULT 0,
          target_op INTEGER NOT NULL DEFAULT 0,
          add_checksum INTEGER NOT NULL DEFAULT 0,
          pending_delete INTEGER NOT NULL DEFAULT 0)
        """

    static let addBucketColumnsV4 = [
        "ALTER TABLE ps_buckets ADD COLUMN op_checksum INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE ps_buckets ADD COLUMN remove_operations INTEGER NOT NULL DEFAULT 0",
    ]

    static let early: [Migration] = [
        Migration(
            1,
            up: [createOplogV1] + createOplogIndexesV1 + [
                createBucketsV1,
                "CREATE TABLE ps_untyped(type TEXT NOT NULL, id TEXT NOT NULL, data TEXT, PRIMARY KEY(type, id))",
                "CREATE TABLE ps_crud(id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT)",
            ], down: nil),
        Migration(
            2,
            up: [
                """
                CREATE TABLE ps_tx(
                  id INTEGER PRIMARY KEY NOT NULL,
                  current_tx INTEGER,
                  next_tx INTEGER)
                """,
                "INSERT INTO ps_tx(id, current_tx, next_tx) VALUES (1, NULL, 1)",
                "ALTER TABLE ps_crud ADD COLUMN tx_id INTEGER",
            ],
            down: ["DROP TABLE ps_tx", "ALTER TABLE ps_crud DROP COLUMN tx_id"]),
        Migration(
            3,
            up: [
                "CREATE TABLE ps_kv(key TEXT PRIMARY KEY NOT NULL, value BLOB)",
                "INSERT INTO ps_kv(key, value) VALUES ('client_id', uuid())",
            ], down: ["DROP TABLE ps_kv"]),
        Migration(
            4,
            up: addBucketColumnsV4 + [
                """
                UPDATE ps_buckets SET op_checksum = (
                  SELECT ifnull(sum(hash), 0) & 4294967295 FROM ps_oplog WHERE bucket = ps_buckets.name)
                """
            ],
            down: [
                "ALTER TABLE ps_buckets DROP COLUMN op_checksum",
                "ALTER TABLE ps_buckets DROP COLUMN remove_operations",
            ]),
    ]
}
