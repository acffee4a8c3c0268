import PowerSyncSQLite

/// The tables of the state file.
enum StoreSchema {
    static let version: Int64 = 2

    /// Makes the tables of a new file; refuses the file of another version.
    static func prepare(_ connection: SQLiteConnection, after last: StreamNumber) throws {
        let found = try connection.one("PRAGMA user_version") { $0.int64(0) } ?? 0
        if found == version { return }
        guard found == 0 else { throw StoreError.otherVersion(found) }
        try connection.transaction {
            try connection.execute(script)
            try connection.run(
                "INSERT INTO sqlite_sequence VALUES ('replication_stream', ?)", [.integer(last)])
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
            address TEXT NOT NULL
        ) STRICT;

        -- One for each configuration that was deployed; the id is the prefix of bucket names and is never used again.
        CREATE TABLE replication_stream(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            config_hash TEXT NOT NULL,
            config TEXT NOT NULL,
            -- The id of the publication that the slot was made for; another one misses changes.
            publication INTEGER NOT NULL,
            slot TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('building', 'active', 'stopped')),
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            no_checkpoint_before INTEGER NOT NULL DEFAULT 0,
            -- Whether rows are stored that are newer than the log, up to a position that is not known yet.
            is_ahead INTEGER NOT NULL DEFAULT 0,
            applied_lsn INTEGER NOT NULL DEFAULT 0,
            last_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_lsn INTEGER NOT NULL DEFAULT 0
        ) STRICT;

        CREATE TABLE source_table(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            stream INTEGER NOT NULL,
            uuid TEXT NOT NULL,
            oid INTEGER NOT NULL,
            schema_name TEXT NOT NULL,
            name TEXT NOT NULL,
            identity TEXT NOT NULL,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_key TEXT,
            is_replaced INTEGER NOT NULL DEFAULT 0,
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

        -- `reached` is the newest id whose head had been passed when the next one was asked for.
        CREATE TABLE write_checkpoint(
            key TEXT PRIMARY KEY,
            id INTEGER NOT NULL,
            head INTEGER NOT NULL,
            reached INTEGER
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
