import PowerSyncSQLite

/// The tables of the state file.
enum StoreSchema {
    static let version: Int64 = 5

    /// What makes the file of a version one of the next.
    private static let steps: [Int64: [String]] = [
        2: [
            "ALTER TABLE replication_stream ADD COLUMN partial_lsn INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE replication_stream ADD COLUMN partial_changes INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE replication_stream ADD COLUMN promised_lsn INTEGER NOT NULL DEFAULT 0",
            // By what they were published nobody noted: they are read anew at their next change.
            "ALTER TABLE source_table ADD COLUMN membership TEXT",
            "ALTER TABLE source_table ADD COLUMN seen TEXT",
            "ALTER TABLE source_table ADD COLUMN writers TEXT",
            "ALTER TABLE source_table ADD COLUMN is_incomplete INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE write_checkpoint ADD COLUMN requested_at INTEGER",
        ],
        3: [
            "ALTER TABLE source ADD COLUMN counters_since TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE replication_stream ADD COLUMN reported_lsn INTEGER NOT NULL DEFAULT 0",
            // What Postgres was told was not noted, but whether a promise was open: that is not kept any more.
            """
            UPDATE replication_stream SET publication = 0, reported_lsn = CASE WHEN promised_lsn > 0 THEN 1
                WHEN snapshot_done OR applied_lsn > 0
                    OR EXISTS (SELECT 1 FROM source_table WHERE stream = replication_stream.id)
                THEN \(Int64.max) ELSE 0 END
            """,
            "ALTER TABLE replication_stream DROP COLUMN promised_lsn",
            // Changes were counted from the beginning of their transaction.
            "ALTER TABLE replication_stream ADD COLUMN partial_position INTEGER NOT NULL DEFAULT 0",
            "UPDATE replication_stream SET partial_lsn = 0, partial_changes = 0",
            "ALTER TABLE write_checkpoint ADD COLUMN reached_head INTEGER NOT NULL DEFAULT 0",
        ],
        // What had been read was applied again.
        4: ["ALTER TABLE source_table ADD COLUMN read_until INTEGER NOT NULL DEFAULT 0"],
    ]

    /// Makes the tables of a new file, or those of a former version what they are now; refuses the file of another version.
    static func prepare(_ connection: SQLiteConnection, after former: FormerState) throws {
        let found = try connection.one("PRAGMA user_version") { $0.int64(0) } ?? 0
        if found == version { return }
        guard found == 0 else {
            return try connection.transaction {
                for former in found..<max(found, version) {
                    guard let step = steps[former] else { throw StoreError.otherVersion(found) }
                    for statement in step { try connection.execute(statement) }
                }
                guard found < version else { throw StoreError.otherVersion(found) }
                try connection.execute("PRAGMA user_version = \(version)")
            }
        }
        try connection.transaction {
            try connection.execute(script)
            try former.write(to: connection)
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }

    /// FULL, because what Postgres was told is safe with us is dropped there: after a power failure a lost
    /// SQLite
    /// transaction could not be asked for again, and op ids would go back.
    static func configure(_ connection: SQLiteConnection, isWriter: Bool) throws {
        if isWriter {
            try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
        }
        try connection.execute("PRAGMA cache_size = -8000; PRAGMA temp_store = MEMORY")
    }

    private static let script = """
        CREATE TABLE counter(
            one INTEGER PRIMARY KEY CHECK (one = 1),
            last_op INTEGER NOT NULL
        ) STRICT;
        INSERT INTO counter VALUES (1, 0);

        -- The database that everything here was made from.
        CREATE TABLE source(
            one INTEGER PRIMARY KEY CHECK (one = 1),
            system_id TEXT NOT NULL,
            timeline INTEGER NOT NULL,
            database_oid INTEGER NOT NULL,
            address TEXT NOT NULL,
            -- Since when the source counts what it does: it begins anew after each crash.
            counters_since TEXT NOT NULL DEFAULT ''
        ) STRICT;

        -- One for each configuration that was deployed; the id is the prefix of bucket names and is never used again.
        CREATE TABLE replication_stream(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            config_hash TEXT NOT NULL,
            config TEXT NOT NULL,
            -- The publication that the slot was made for, its id and version; another one misses changes. 0 if not noted.
            publication INTEGER NOT NULL,
            slot TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('building', 'active', 'stopped')),
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            no_checkpoint_before INTEGER NOT NULL DEFAULT 0,
            -- Whether rows are stored that are newer than the log, up to a position that is not known yet.
            is_ahead INTEGER NOT NULL DEFAULT 0,
            applied_lsn INTEGER NOT NULL DEFAULT 0,
            -- Where the transaction is committed that is stored in part, the position of the last of its changes that are,
            -- and how many of that position.
            partial_lsn INTEGER NOT NULL DEFAULT 0,
            partial_position INTEGER NOT NULL DEFAULT 0,
            partial_changes INTEGER NOT NULL DEFAULT 0,
            last_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_lsn INTEGER NOT NULL DEFAULT 0,
            -- Up to where Postgres may forget its log if that is further than what was applied; 0 before the slot is made.
            reported_lsn INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        CREATE TABLE source_table(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            stream INTEGER NOT NULL,
            uuid TEXT NOT NULL,
            oid INTEGER NOT NULL,
            schema_name TEXT NOT NULL,
            name TEXT NOT NULL,
            identity TEXT NOT NULL,
            -- By what it was published when it was read; NULL if it was not.
            membership TEXT,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_key TEXT,
            -- The transactions that were seen before its rows were read.
            seen TEXT,
            -- The position of the log behind these, of which nothing is applied again; 0 if it is.
            read_until INTEGER NOT NULL DEFAULT 0,
            -- The transactions that had changed it before it was published, and were open when it was read.
            writers TEXT,
            is_replaced INTEGER NOT NULL DEFAULT 0,
            -- Whether rows are missing that are being read, although the log does not bring them again.
            is_incomplete INTEGER NOT NULL DEFAULT 0,
            -- Where the rows lie and what their columns are; `shape` counts how often that has changed.
            layout TEXT,
            shape INTEGER NOT NULL DEFAULT 0,
            -- The position of the log at which the layout was first seen.
            layout_since INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX source_table_of_stream ON source_table(stream);

        -- What is known of each source row: the values that an update may leave out, with the shape of the table they
        -- are of, and where it is synced to.
        CREATE TABLE source_row(
            source_table INTEGER NOT NULL,
            replica_id BLOB NOT NULL,
            large_values TEXT,
            shape INTEGER NOT NULL,
            entries TEXT NOT NULL,
            PRIMARY KEY (source_table, replica_id)
        ) STRICT, WITHOUT ROWID;

        -- Totals over all operations of the bucket, also those behind the newest checkpoint.
        CREATE TABLE bucket(
            id INTEGER PRIMARY KEY,
            stream INTEGER NOT NULL,
            name TEXT NOT NULL,
            checksum INTEGER NOT NULL DEFAULT 0,
            count INTEGER NOT NULL DEFAULT 0,
            last_op INTEGER NOT NULL DEFAULT 0,
            UNIQUE (stream, name)
        ) STRICT;

        CREATE TABLE operation(
            op_id INTEGER PRIMARY KEY,
            bucket INTEGER NOT NULL,
            kind INTEGER NOT NULL,
            source_table INTEGER,
            replica_id BLOB,
            object_type TEXT,
            object_id TEXT,
            checksum INTEGER NOT NULL,
            data TEXT
        ) STRICT;
        CREATE INDEX operation_of_bucket ON operation(bucket, op_id);

        -- `reached` is the newest id whose head, `reached_head`, had been passed when the next one was asked for.
        -- `requested_at` is when the client last named an id, in seconds since 1970; null if an id was given, which must
        -- never be given again.
        CREATE TABLE write_checkpoint(
            key TEXT PRIMARY KEY,
            id INTEGER NOT NULL,
            head INTEGER NOT NULL,
            reached INTEGER,
            reached_head INTEGER NOT NULL DEFAULT 0,
            requested_at INTEGER
        ) STRICT, WITHOUT ROWID;
        """
}

/// Why the state cannot be used.
package struct StoreError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong and what helps.
    package let message: String
    /// Whether the file is of another version of this program.
    var isOtherVersion = false

    /// The message.
    package var description: String { message }

    static func otherVersion(_ found: Int64) -> StoreError {
        StoreError(
            message:
                "The state has version \(found), this service writes version \(StoreSchema.version).",
            isOtherVersion: true)
    }

    static let unreadableRow = StoreError(message: "The state file holds a row that cannot be read.")

    static let noStream = StoreError(
        message: "The replication stream is not in the state file, or another one has taken its place.")
}
