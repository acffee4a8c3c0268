extension BackendSchema {
    /// What is known of attachments, the keys of which a store is still to be told that they go (backend 10.3), and by which
    /// name the store knows the database (`StoreBinding`).
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
        CREATE INDEX attachments_owner ON psb.attachments (owner, state) INCLUDE (size);
        CREATE INDEX attachments_pending ON psb.attachments (signed_at) WHERE state = 'pending';
        CREATE INDEX attachments_ready ON psb.attachments (looked_at) WHERE state = 'ready';
        CREATE INDEX attachments_deleted ON psb.attachments (deleted_at) WHERE state = 'deleted';
        CREATE TABLE psb.attachment_removals (
            key text PRIMARY KEY, upload text, owner text COLLATE "C", size bigint NOT NULL, due_at timestamptz NOT NULL,
            last_at timestamptz NOT NULL, is_told boolean NOT NULL DEFAULT false);
        CREATE INDEX attachment_removals_owner ON psb.attachment_removals (owner);
        CREATE INDEX attachment_removals_due_at ON psb.attachment_removals (due_at);
        CREATE TABLE psb.attachment_store (place integer PRIMARY KEY DEFAULT 1 CHECK (place = 1), name text NOT NULL);
        """
}
