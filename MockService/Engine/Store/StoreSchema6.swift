import PowerSyncSQLite

/// The tables of version 6 of the state file (DESIGN.md, 1), in which operations are packed into segments.
///
/// A file of another version is refused, and `StateOpener` sets it aside.
package enum StoreSchema6 {
    /// The version.
    package static let version: Int64 = 6

    /// Makes the tables of a new file.
    ///
    /// - Parameters:
    ///   - connection: The one that writes, after `configure`.
    ///   - former: What a new file has to know of the one whose place it takes.
    /// - Throws: `SQLiteError`; `StoreError` for the file of another version.
    package static func prepare(_ connection: SQLiteConnection, after former: FormerState) throws {
        let found = try connection.one("PRAGMA user_version") { $0.int64(0) } ?? 0
        // Files of before have no such table.
        if found == version { return try connection.execute(customWriteCheckpoints) }
        guard found == 0 else {
            throw StoreError(
                message: "The state has version \(found), this service writes version \(version).",
                isOtherVersion: true)
        }
        try connection.transaction {
            try connection.execute(script)
            try connection.execute(customWriteCheckpoints)
            try former.write(to: connection)
            try connection.execute("PRAGMA user_version = \(version)")
        }
    }

    /// Sets what SQLite does for a connection.
    ///
    /// FULL, because what the source was told is safe with us is dropped there: after a power failure a lost
    /// transaction could not be asked for again, and op ids would go back.
    ///
    /// - Parameters:
    ///   - connection: A new connection.
    ///   - isWriter: Whether it is the one that writes.
    ///   - limits: How much is cached.
    /// - Throws: `SQLiteError`.
    package static func configure(
        _ connection: SQLiteConnection, isWriter: Bool, limits: StoreLimits = StoreLimits()
    ) throws(SQLiteError) {
        if isWriter {
            // Both are of no effect once the file has a page, which the journal's mode gives it. Larger pages would
            // multiply what a change of one row writes.
            try connection.execute("PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL")
            try connection.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
            try connection.execute("PRAGMA journal_size_limit = \(limits.keptLogBytes)")
        }
        let cache = isWriter ? limits.writerCacheBytes : limits.readerCacheBytes
        try connection.execute("PRAGMA cache_size = -\(cache >> 10); PRAGMA temp_store = MEMORY")
    }

    private static let customWriteCheckpoints = """
        -- The write checkpoints that rows of the source have set, a version for each operation id: of a key the newest one
        -- that the stream's checkpoint covers, and the newest one.
        CREATE TABLE IF NOT EXISTS custom_write_checkpoint(
            stream INTEGER NOT NULL,
            key TEXT NOT NULL,
            op_id INTEGER NOT NULL,
            id INTEGER NOT NULL,
            PRIMARY KEY (stream, key, op_id)
        ) STRICT, WITHOUT ROWID;
        """

    private static let script = """
        -- The last operation id that was ever given, of all streams.
        CREATE TABLE counter(
            one INTEGER PRIMARY KEY CHECK (one = 1),
            last_op INTEGER NOT NULL
        ) STRICT;

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
            -- The publication that the slot was made for, its id and version; another one misses changes. 0 if not
            -- noted.
            publication INTEGER NOT NULL,
            slot TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('building', 'active', 'stopped')),
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            no_checkpoint_before INTEGER NOT NULL DEFAULT 0,
            -- Whether rows are stored that are newer than the log, up to a position that is not known yet.
            is_ahead INTEGER NOT NULL DEFAULT 0,
            applied_lsn INTEGER NOT NULL DEFAULT 0,
            -- Where the transaction is committed that is stored in part, the position of the last of its changes that
            -- are, and how many of that position.
            partial_lsn INTEGER NOT NULL DEFAULT 0,
            partial_position INTEGER NOT NULL DEFAULT 0,
            partial_changes INTEGER NOT NULL DEFAULT 0,
            last_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_lsn INTEGER NOT NULL DEFAULT 0,
            -- Up to where Postgres may forget its log if that is further than what was applied; 0 before the slot is
            -- made.
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
            -- The columns that row keys are made of, a JSON array.
            identity_names TEXT NOT NULL,
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

        -- Names of the clients' tables, which operations have by number.
        CREATE TABLE output_type(
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL UNIQUE
        ) STRICT;

        -- `checksum`, `count` and `last_op` are of operations that a checkpoint of the stream covers; those of the tail
        -- are of the operations behind, and count from `tail_op` <= `checkpoint_op` on. The name has no prefix of the
        -- stream. The id is never used again: what is in memory of a bucket that is gone must not be another one's.
        CREATE TABLE bucket(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            stream INTEGER NOT NULL,
            name TEXT NOT NULL,
            checksum INTEGER NOT NULL DEFAULT 0,
            count INTEGER NOT NULL DEFAULT 0,
            last_op INTEGER NOT NULL DEFAULT 0,
            tail_checksum INTEGER NOT NULL DEFAULT 0,
            tail_count INTEGER NOT NULL DEFAULT 0,
            tail_op INTEGER NOT NULL DEFAULT 0,
            -- How many of its segments are small.
            small INTEGER NOT NULL DEFAULT 0,
            UNIQUE (stream, name)
        ) STRICT;
        CREATE INDEX bucket_to_merge ON bucket(small) WHERE small >= \(StoreLimits().smallSegments);

        -- Operations of one bucket, by ascending id, as `SegmentBody` walks them. With a rowid, so that bodies do not
        -- lie in the inner nodes of a tree, and new ones are appended.
        CREATE TABLE segment(
            id INTEGER PRIMARY KEY,
            bucket INTEGER NOT NULL,
            first_op INTEGER NOT NULL,
            last_op INTEGER NOT NULL,
            count INTEGER NOT NULL,
            checksum INTEGER NOT NULL,
            -- The largest target of its operations (service 3.5); 0 for none.
            max_target INTEGER NOT NULL,
            body BLOB NOT NULL
        ) STRICT;
        CREATE INDEX segment_of_bucket ON segment(bucket, last_op);

        -- Where each source row is synced to (`RowPlaces`), by its `RowKey`; of a row that is not nothing, unless
        -- there are large values.
        CREATE TABLE source_row(
            source_table INTEGER NOT NULL,
            key BLOB NOT NULL,
            places BLOB NOT NULL,
            PRIMARY KEY (source_table, key)
        ) STRICT, WITHOUT ROWID;

        -- The values of a row that an update may leave out (`LargeCells`), with the shape of the table they are of and a
        -- digest of its columns (`SourceTable.largeShape`); the complement of that if they are lengths.
        CREATE TABLE large_value(
            id INTEGER PRIMARY KEY,
            source_table INTEGER NOT NULL,
            key BLOB NOT NULL,
            shape INTEGER NOT NULL,
            cells BLOB NOT NULL,
            UNIQUE (source_table, key)
        ) STRICT;

        -- The id, of which each `LookupKey` is made, is never used again.
        CREATE TABLE lookup_definition(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            stream INTEGER NOT NULL,
            name TEXT NOT NULL,
            UNIQUE (stream, name)
        ) STRICT;

        -- What rows are found by, one version for each operation id; the value of a tombstone is empty.
        CREATE TABLE lookup(
            definition INTEGER NOT NULL,
            key BLOB NOT NULL,
            source_table INTEGER NOT NULL,
            row BLOB NOT NULL,
            op_id INTEGER NOT NULL,
            value BLOB NOT NULL,
            PRIMARY KEY (definition, key, source_table, row, op_id)
        ) STRICT, WITHOUT ROWID;

        -- `reached` is the newest id whose head, `reached_head`, had been passed when the next one was asked for.
        -- `requested_at` is when the client last named an id, in seconds since 1970; null if an id was given, which
        -- must never be given again.
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
