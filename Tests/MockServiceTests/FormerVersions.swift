/// Makes of a state what a former version of the program had.
enum FormerVersions {
    static func statements(to version: Int) -> String {
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
}
