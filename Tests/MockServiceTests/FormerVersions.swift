import Foundation
import PowerSyncSQLite

/// Makes files of the state as former versions of the program did, which are set aside.
enum FormerVersions {
    /// Makes a file without rows.
    ///
    /// - Parameters:
    ///   - path: The file.
    ///   - version: From 2 to 5.
    ///   - fill: Fills the tables, which are those of version 5 until then.
    /// - Throws: `SQLiteError`, what `fill` throws.
    static func make(_ path: String, version: Int, fill: (SQLiteConnection) throws -> Void) throws {
        let connection = try SQLiteConnection(path: path)
        defer { connection.close() }
        try connection.execute("PRAGMA journal_mode = WAL")
        try connection.execute(fifth)
        try fill(connection)
        try connection.execute(statements(to: version))
    }

    /// Puts a file of a former version in the place of one of now that nobody has open: it has the same source, streams and
    /// clients.
    static func turn(_ path: String, into version: Int) throws {
        let former = path + ".former"
        try make(former, version: version) { connection in
            try connection.execute("ATTACH '\(path)' AS now")
            try connection.execute(
                """
                UPDATE counter SET last_op = (SELECT last_op FROM now.counter);
                INSERT INTO source SELECT * FROM now.source;
                INSERT INTO replication_stream SELECT * FROM now.replication_stream;
                INSERT INTO write_checkpoint SELECT * FROM now.write_checkpoint;
                """)
            try connection.execute("DETACH now")
        }
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.removeItem(atPath: path + suffix)
        }
        try FileManager.default.moveItem(atPath: former, toPath: path)
    }

    private static func statements(to version: Int) -> String {
        let fourth = """
            ALTER TABLE source_table DROP COLUMN read_until;
            PRAGMA user_version = 4;
            """
        let third = """
            ALTER TABLE replication_stream ADD COLUMN promised_lsn INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE replication_stream DROP COLUMN reported_lsn;
            ALTER TABLE replication_stream DROP COLUMN partial_position;
            ALTER TABLE source DROP COLUMN counters_since;
            ALTER TABLE write_checkpoint DROP COLUMN reached_head;
            UPDATE replication_stream SET publication = publication >> 32;
            PRAGMA user_version = 3;
            """
        let second = """
            ALTER TABLE replication_stream DROP COLUMN promised_lsn;
            ALTER TABLE replication_stream DROP COLUMN partial_lsn;
            ALTER TABLE replication_stream DROP COLUMN partial_changes;
            ALTER TABLE source_table DROP COLUMN membership;
            ALTER TABLE source_table DROP COLUMN seen;
            ALTER TABLE source_table DROP COLUMN writers;
            ALTER TABLE source_table DROP COLUMN is_incomplete;
            ALTER TABLE write_checkpoint DROP COLUMN requested_at;
            PRAGMA user_version = 2;
            """
        return [fourth, third, second].prefix(5 - version).joined(separator: "\n")
    }

    /// The tables of version 5 that version 6 has kept, as they were whatever becomes of those of now.
    ///
    /// Of its tables of rows, buckets and operations nothing is read.
    static let fifth = """
        CREATE TABLE counter(
            one INTEGER PRIMARY KEY CHECK (one = 1),
            last_op INTEGER NOT NULL
        ) STRICT;
        INSERT INTO counter VALUES (1, 0);

        CREATE TABLE source(
            one INTEGER PRIMARY KEY CHECK (one = 1),
            system_id TEXT NOT NULL,
            timeline INTEGER NOT NULL,
            database_oid INTEGER NOT NULL,
            address TEXT NOT NULL,
            counters_since TEXT NOT NULL DEFAULT ''
        ) STRICT;

        CREATE TABLE replication_stream(
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            config_hash TEXT NOT NULL,
            config TEXT NOT NULL,
            publication INTEGER NOT NULL,
            slot TEXT NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('building', 'active', 'stopped')),
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            no_checkpoint_before INTEGER NOT NULL DEFAULT 0,
            is_ahead INTEGER NOT NULL DEFAULT 0,
            applied_lsn INTEGER NOT NULL DEFAULT 0,
            partial_lsn INTEGER NOT NULL DEFAULT 0,
            partial_position INTEGER NOT NULL DEFAULT 0,
            partial_changes INTEGER NOT NULL DEFAULT 0,
            last_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_op INTEGER NOT NULL DEFAULT 0,
            checkpoint_lsn INTEGER NOT NULL DEFAULT 0,
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
            membership TEXT,
            snapshot_done INTEGER NOT NULL DEFAULT 0,
            snapshot_key TEXT,
            seen TEXT,
            read_until INTEGER NOT NULL DEFAULT 0,
            writers TEXT,
            is_replaced INTEGER NOT NULL DEFAULT 0,
            is_incomplete INTEGER NOT NULL DEFAULT 0,
            layout TEXT,
            shape INTEGER NOT NULL DEFAULT 0,
            layout_since INTEGER NOT NULL DEFAULT 0
        ) STRICT;
        CREATE INDEX source_table_of_stream ON source_table(stream);

        CREATE TABLE write_checkpoint(
            key TEXT PRIMARY KEY,
            id INTEGER NOT NULL,
            head INTEGER NOT NULL,
            reached INTEGER,
            reached_head INTEGER NOT NULL DEFAULT 0,
            requested_at INTEGER
        ) STRICT, WITHOUT ROWID;
        PRAGMA user_version = 5;
        """
}
