extension BackendSchema {
    /// What is known of attachments, the keys of which a store is still to be told that they go (backend 10.3), by which name
    /// the store knows the database (`StoreBinding`), and what the files of each user take.
    ///
    /// An id is its uploader's; one that is shared is also that of all rows of its table, which has no owner. No time is the
    /// database's, but when a user is erased: all are those of the backends, which have the rules.
    static let attachmentMigration = """
        CREATE TABLE psb.attachments (
            key text PRIMARY KEY, id text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL,
            is_shared boolean NOT NULL DEFAULT false, table_schema text NOT NULL, table_name text NOT NULL, row_id text,
            filename text NOT NULL, content_type text NOT NULL, size bigint NOT NULL CHECK (size >= 0),
            sha256 bytea NOT NULL, upload text,
            state text NOT NULL CHECK (state IN ('pending', 'ready', 'deleted')),
            created_at timestamptz NOT NULL, signed_at timestamptz NOT NULL, deleted_at timestamptz,
            looked_at timestamptz NOT NULL, unnamed_since timestamptz, UNIQUE (id, owner));
        CREATE UNIQUE INDEX attachments_shared ON psb.attachments (id, table_schema, table_name) WHERE is_shared;
        CREATE INDEX attachments_owner ON psb.attachments (owner);
        CREATE INDEX attachments_pending ON psb.attachments (signed_at) WHERE state = 'pending';
        CREATE INDEX attachments_ready ON psb.attachments (looked_at) WHERE state = 'ready';
        CREATE INDEX attachments_deleted ON psb.attachments (deleted_at) WHERE state = 'deleted';
        CREATE TABLE psb.attachment_removals (
            key text PRIMARY KEY, upload text, owner text COLLATE "C", size bigint NOT NULL, due_at timestamptz NOT NULL,
            last_at timestamptz NOT NULL, is_told boolean NOT NULL DEFAULT false);
        CREATE INDEX attachment_removals_owner ON psb.attachment_removals (owner, is_told) INCLUDE (size);
        CREATE INDEX attachment_removals_due_at ON psb.attachment_removals (due_at);
        CREATE TABLE psb.attachment_store (place integer PRIMARY KEY DEFAULT 1 CHECK (place = 1), name text NOT NULL);
        \(usage)
        """

    /// What the files of each user take, without what a store is still to be told of: kept by triggers, which no statement can
    /// forget, so that a question for an upload does not count all files.
    ///
    /// The function has the rights of its owner: nobody else changes the sums. Users are taken in their order, so that two
    /// statements about the same ones do not wait for each other, and who has nothing more is not named. It may be there from a
    /// schema of before.
    private static let usage = """
        CREATE TABLE psb.attachment_usage (
            owner text COLLATE "C" PRIMARY KEY, files bigint NOT NULL, deleted bigint NOT NULL, bytes numeric NOT NULL);
        CREATE OR REPLACE FUNCTION psb.count_attachments() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
            SET search_path = pg_catalog, pg_temp AS $$
        BEGIN
            CASE TG_OP
            WHEN 'INSERT' THEN
                \(counting(made));
            WHEN 'UPDATE' THEN
                \(counting(made + " UNION ALL " + gone));
            WHEN 'DELETE' THEN
                \(counting(gone));
            ELSE
                DELETE FROM psb.attachment_usage;
            END CASE;
            IF FOUND AND TG_OP IN ('UPDATE', 'DELETE') THEN
                DELETE FROM psb.attachment_usage u
                WHERE u.owner IN (SELECT g.owner FROM gone g) AND u.files = 0 AND u.deleted = 0;
            END IF;
            RETURN NULL;
        END $$;
        REVOKE ALL ON FUNCTION psb.count_attachments() FROM PUBLIC;
        CREATE TRIGGER count_inserted AFTER INSERT ON psb.attachments REFERENCING NEW TABLE AS made
            FOR EACH STATEMENT EXECUTE FUNCTION psb.count_attachments();
        CREATE TRIGGER count_updated AFTER UPDATE ON psb.attachments REFERENCING OLD TABLE AS gone NEW TABLE AS made
            FOR EACH STATEMENT EXECUTE FUNCTION psb.count_attachments();
        CREATE TRIGGER count_deleted AFTER DELETE ON psb.attachments REFERENCING OLD TABLE AS gone
            FOR EACH STATEMENT EXECUTE FUNCTION psb.count_attachments();
        CREATE TRIGGER count_truncated AFTER TRUNCATE ON psb.attachments
            FOR EACH STATEMENT EXECUTE FUNCTION psb.count_attachments();
        \(recount)
        """

    /// Counts what the files of one user take, for sums that are wrong: triggers may be passed over, as when data alone are
    /// restored, and what is restored beside the sums counts twice.
    ///
    /// Whoever changes records of the user waits behind the row of the sums, in its trigger; the table comes before it, as it
    /// does for them. So what is committed is counted, and what is not adds itself later.
    private static let recount = """
        CREATE OR REPLACE FUNCTION psb.recount_attachments(subject text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
            SET search_path = pg_catalog, pg_temp AS $$
        BEGIN
            LOCK TABLE psb.attachments IN ACCESS SHARE MODE;
            INSERT INTO psb.attachment_usage AS u (owner, files, deleted, bytes) VALUES (subject, 0, 0, 0)
                ON CONFLICT (owner) DO UPDATE SET files = u.files;
            UPDATE psb.attachment_usage u SET files = c.files, deleted = c.deleted, bytes = c.bytes
            FROM (SELECT \(sums) FROM psb.attachments a WHERE a.owner = subject) AS c WHERE u.owner = subject;
            DELETE FROM psb.attachment_usage u WHERE u.owner = subject AND u.files = 0 AND u.deleted = 0;
        END $$;
        REVOKE ALL ON FUNCTION psb.recount_attachments(text) FROM PUBLIC;
        """

    /// The sums of records `a`, counted.
    static let sums = """
        count(*) FILTER (WHERE a.state <> 'deleted') AS files, count(*) FILTER (WHERE a.state = 'deleted') AS deleted,
            coalesce(sum(a.size) FILTER (WHERE a.state <> 'deleted'), 0) AS bytes
        """

    /// What a statement has made, and what it has taken away.
    private static let made = "SELECT 1 AS sign, m.owner, m.state, m.size FROM made m"
    private static let gone = "SELECT -1 AS sign, g.owner, g.state, g.size FROM gone g"

    /// Adds to the sums of users what a statement has changed; those whose sums stay are not touched.
    ///
    /// - Parameter changes: a query for `sign`, `owner`, `state` and `size`.
    /// - Returns: the SQL.
    private static func counting(_ changes: String) -> String {
        """
        INSERT INTO psb.attachment_usage AS u (owner, files, deleted, bytes)
        SELECT d.owner, d.files, d.deleted, d.bytes FROM (
            SELECT c.owner, coalesce(sum(c.sign) FILTER (WHERE c.state <> 'deleted'), 0) AS files,
                coalesce(sum(c.sign) FILTER (WHERE c.state = 'deleted'), 0) AS deleted,
                coalesce(sum(c.sign * c.size) FILTER (WHERE c.state <> 'deleted'), 0) AS bytes
            FROM (\(changes)) AS c GROUP BY c.owner) AS d
        WHERE d.files <> 0 OR d.deleted <> 0 OR d.bytes <> 0 ORDER BY d.owner
        ON CONFLICT (owner) DO UPDATE SET files = u.files + excluded.files, deleted = u.deleted + excluded.deleted,
            bytes = u.bytes + excluded.bytes
        """
    }
}
