import PowerSyncPostgres

/// The schema `psb`: what the backend keeps for itself, never published (backend 6.2).
package enum BackendSchema {
    /// The SQL that refuses a row of another user; it raises `otherOwner`.
    static let refusal = "psb.refuse_other_owner()"
    /// The state with which `refusal` ends a transaction.
    static let otherOwner = "PSB01"
    /// The state of a claim whose operations overlap another's.
    static let overlap = "PSB02"

    // JSON is kept as json, not jsonb: jsonb refuses \u0000 and huge exponents, which are what a dead letter
    // may hold.

    /// The steps from an empty database to the present schema; each runs once, in order.
    static let migrations: [String] = [
        """
        CREATE TABLE psb.upload_ledger (
            user_id text NOT NULL, client_id text NOT NULL, first_op_id bigint NOT NULL,
            generation integer NOT NULL DEFAULT 0, last_op_id bigint NOT NULL, tx_id bigint,
            body_hash bytea NOT NULL, op_hashes bytea, verdict smallint NOT NULL, result json,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (user_id, client_id, first_op_id, generation));
        CREATE INDEX upload_ledger_created_at ON psb.upload_ledger (created_at);
        CREATE TABLE psb.upload_attempts (
            user_id text NOT NULL, body_hash bytea NOT NULL, sqlstate text NOT NULL,
            attempts integer NOT NULL DEFAULT 1, first_at timestamptz NOT NULL DEFAULT now(),
            last_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (user_id, body_hash, sqlstate));
        CREATE TABLE psb.dead_letters (
            id uuid PRIMARY KEY, occurred_at timestamptz NOT NULL DEFAULT now(), user_id text NOT NULL,
            client_id text, tx_id bigint, first_op_id bigint, last_op_id bigint, failed_index integer,
            error_code text NOT NULL, sqlstate text, constraint_name text, table_name text, row_id text,
            message text NOT NULL, payload json NOT NULL, claims json NOT NULL, app_version text,
            request_id text NOT NULL, attempts integer NOT NULL DEFAULT 1,
            state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'replayed', 'discarded')),
            caused_by uuid);
        CREATE INDEX dead_letters_user ON psb.dead_letters (user_id, occurred_at);
        CREATE FUNCTION psb.refuse_other_owner() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
        BEGIN
            RAISE EXCEPTION 'the row belongs to another user' USING ERRCODE = 'PSB01';
        END $$;
        CREATE FUNCTION psb.refuse_overlap(owner text, device text, first_op bigint, last_op bigint)
        RETURNS void LANGUAGE plpgsql VOLATILE AS $$
        BEGIN
            PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(owner || ' ' || device, 0));
            IF EXISTS (SELECT FROM psb.upload_ledger l WHERE l.user_id = owner AND l.client_id = device
                    AND l.first_op_id > first_op AND l.first_op_id <= last_op)
                OR first_op <= (SELECT l.last_op_id FROM psb.upload_ledger l WHERE l.user_id = owner
                    AND l.client_id = device AND l.first_op_id < first_op ORDER BY l.first_op_id DESC LIMIT 1)
            THEN
                RAISE EXCEPTION 'operations of another grouping are in the ledger' USING ERRCODE = 'PSB02';
            END IF;
        END $$;
        """
    ]

    /// Brings the schema up to date; several backends may start at once.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - hasCheckpoints: whether the table of custom checkpoints is wanted too (backend 5.2).
    /// - Throws: `BackendError` with `.database` where the role lacks a right, `PostgresError` for the rest.
    static func migrate(_ connection: PostgresConnection, hasCheckpoints: Bool) async throws {
        do {
            // The limits are those of uploads. The lock is held to the end of the transaction; 0x505342 is "PSB".
            try await connection.script(
                """
                BEGIN; SET LOCAL statement_timeout = '5min'; SET LOCAL lock_timeout = '1min';
                SELECT pg_advisory_xact_lock(\(0x505342))
                """)
            try await step(connection, hasCheckpoints)
            try await connection.script("COMMIT")
        } catch let error as PostgresError where error.sqlstate == "42501" {
            throw BackendError(
                .database,
                "the database role may not create the schema psb: GRANT CREATE ON DATABASE … TO it, or start the "
                    + "backend once as a role that may", cause: error)
        }
    }

    private static func step(_ connection: PostgresConnection, _ hasCheckpoints: Bool) async throws {
        let known = try await connection.query("SELECT to_regclass('psb.schema_migrations')::text")
        if known[0, 0] == nil {
            try await connection.script(
                """
                CREATE SCHEMA IF NOT EXISTS psb;
                CREATE TABLE psb.schema_migrations (version integer PRIMARY KEY,
                    applied_at timestamptz NOT NULL DEFAULT now())
                """)
        }
        let done = try await connection.query(
            "SELECT coalesce(max(version), 0)::text FROM psb.schema_migrations")
        let version = done[0, 0].flatMap { Int($0) } ?? 0
        for (index, migration) in migrations.enumerated().dropFirst(version) {
            try await connection.script(migration)
            _ = try await connection.query(
                "INSERT INTO psb.schema_migrations (version) VALUES ($1::integer)", [String(index + 1)])
        }
        guard hasCheckpoints else { return }
        try await connection.script(
            """
            CREATE TABLE IF NOT EXISTS public.checkpoints (user_id text NOT NULL, client_id text NOT NULL,
                checkpoint bigint NOT NULL, PRIMARY KEY (user_id, client_id))
            """)
    }

    /// Whether the publication replicates what is kept here; the service would read every ledger entry for
    /// nothing.
    static func isPublished(_ connection: PostgresConnection) async throws -> Bool {
        let found = try await connection.query(
            "SELECT FROM pg_catalog.pg_publication_tables WHERE pubname = 'powersync' AND schemaname = 'psb' LIMIT 1"
        )
        return found.rowCount > 0
    }
}
