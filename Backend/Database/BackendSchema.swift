import PowerSyncPostgres

/// The schema `psb`: what the backend keeps for itself, never published (backend 6.2).
package enum BackendSchema {
    /// The state of a claim with entries in its range that were not consulted.
    static let overlap = "PSB02"
    /// The state of a transaction whose plan was made with another catalog.
    static let otherCatalog = "PSB03"

    // JSON is kept as json, not jsonb: jsonb refuses \u0000 and huge exponents, which are what a dead letter
    // may hold.

    /// The steps from an empty database to the present schema; each runs once, in order.
    static let migrations: [String] = [
        firstMigration, secondMigration, thirdMigration, fourthMigration, fullerDigest,
        keptDigest + attachmentMigration, userMigration, plainNumbers, openingMigration,
    ]

    /// The version of the schema that this backend works with.
    package static var version: Int { migrations.count }

    /// What the first backends made.
    package static let firstMigration = """
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

    /// The ledger by operations, and the catalog as something to compare with.
    ///
    /// Backends of before write to the tables of before: they are told to go, with a state that makes them answer 503.
    private static let secondMigration = """
        LOCK TABLE psb.upload_ledger IN ACCESS EXCLUSIVE MODE;
        CREATE TABLE psb.ledger (
            user_id text NOT NULL, client_id text NOT NULL, first_op_id bigint NOT NULL, last_op_id bigint NOT NULL,
            id bigint GENERATED ALWAYS AS IDENTITY, confirmed_op_id bigint NOT NULL, tx_id bigint,
            op_ids bigint[] NOT NULL, op_hashes bigint[] NOT NULL, hashing smallint NOT NULL, verdict smallint NOT NULL,
            result json, created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (user_id, client_id, last_op_id, id));
        CREATE INDEX ledger_created_at ON psb.ledger (created_at, id);
        CREATE TABLE psb.commits (id uuid PRIMARY KEY, verdict smallint NOT NULL, result json,
            created_at timestamptz NOT NULL DEFAULT now());
        CREATE INDEX commits_created_at ON psb.commits (created_at);
        INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, tx_id, op_ids, op_hashes,
                hashing, verdict, result, created_at)
            SELECT l.user_id, l.client_id, l.first_op_id, l.last_op_id, l.first_op_id - 1, l.tx_id, m.ids, m.hashes, 1,
                l.verdict, l.result, l.created_at
            FROM psb.upload_ledger l CROSS JOIN LATERAL (
                SELECT array_agg(('x' || encode(substring(l.op_hashes FROM 16 * n + 1 FOR 8), 'hex'))::bit(64)::bigint
                        ORDER BY n) AS ids,
                    array_agg(('x' || encode(substring(l.op_hashes FROM 16 * n + 9 FOR 8), 'hex'))::bit(64)::bigint
                        ORDER BY n) AS hashes
                FROM generate_series(0, length(l.op_hashes) / 16 - 1) AS n) m
            WHERE l.op_hashes IS NOT NULL AND m.ids IS NOT NULL ORDER BY l.created_at, l.first_op_id, l.generation;
        TRUNCATE psb.upload_ledger;
        CREATE FUNCTION psb.refuse_older_backend() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            RAISE EXCEPTION 'this backend is older than the schema psb of its database: replace it'
                USING ERRCODE = '57P03';
        END $$;
        CREATE TRIGGER refuse_older_backend BEFORE INSERT ON psb.upload_ledger
            FOR EACH STATEMENT EXECUTE FUNCTION psb.refuse_older_backend();
        CREATE OR REPLACE FUNCTION psb.refuse_overlap(owner text, device text, first_op bigint, last_op bigint)
        RETURNS void LANGUAGE plpgsql VOLATILE AS $$
        BEGIN
            RAISE EXCEPTION 'this backend is older than the schema psb of its database: replace it'
                USING ERRCODE = '57P03';
        END $$;
        CREATE FUNCTION psb.table_digest(schema_name text, table_name text) RETURNS text LANGUAGE sql STABLE AS $$
            SELECT pg_catalog.md5(pg_catalog.concat_ws('|', c.relkind,
                (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(',', a.attnum, a.attname, a.atttypid, a.atttypmod,
                        a.attgenerated, a.attidentity, a.attnotnull, a.atthasdef), ';' ORDER BY a.attnum)
                    FROM pg_catalog.pg_attribute a
                    WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
                (SELECT pg_catalog.string_agg(i.indkey::text, ';' ORDER BY i.indkey::text) FROM pg_catalog.pg_index i
                    WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
                        AND i.indpred IS NULL)))
            FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = schema_name AND c.relname = table_name
        $$;
        CREATE FUNCTION psb.open(claims text, subject text, schemas text[], tables text[], digests text[],
            device text, first_op bigint, last_op bigint, considered bigint)
        RETURNS void LANGUAGE plpgsql VOLATILE AS $$
        BEGIN
            PERFORM pg_catalog.set_config('request.jwt.claims', claims, true),
                pg_catalog.set_config('request.jwt.claim.sub', subject, true),
                pg_catalog.set_config('app.user_id', subject, true);
            IF EXISTS (SELECT FROM unnest(schemas, tables, digests) AS e(schema_name, table_name, digest)
                WHERE psb.table_digest(e.schema_name, e.table_name) IS DISTINCT FROM e.digest)
            THEN
                RAISE EXCEPTION 'the catalog is not the one of the plan' USING ERRCODE = 'PSB03';
            END IF;
            IF device IS NULL THEN RETURN; END IF;
            -- The length keeps "a" with "b c" and "a b" with "c" apart: nobody may hold the lock of another user.
            PERFORM pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
                pg_catalog.concat(pg_catalog.length(subject), ' ', subject, ' ', device), 0));
            IF EXISTS (SELECT FROM psb.ledger l WHERE l.user_id = subject AND l.client_id = device
                AND l.last_op_id >= first_op AND l.first_op_id <= last_op AND l.id > considered)
            THEN
                RAISE EXCEPTION 'the ledger has entries that were not consulted' USING ERRCODE = 'PSB02';
            END IF;
        END $$;
        """

    /// What looking at the open letters of one user and removing old letters find by an index.
    private static let thirdMigration = """
        CREATE INDEX dead_letters_open ON psb.dead_letters (user_id) WHERE state = 'open';
        CREATE INDEX dead_letters_occurred_at ON psb.dead_letters (occurred_at);
        """

    /// The digest of a table tells all that a plan spells or counts on: the names of types beside their numbers, what a new
    /// row must name (as `CatalogSQL.columns` says), collations, and which columns of a unique index are its key.
    private static let fullerDigest = """
        CREATE OR REPLACE FUNCTION psb.table_digest(schema_name text, table_name text) RETURNS text LANGUAGE sql STABLE
        AS $$ \(digest) $$;
        """

    /// The same digest, by a plan that a session keeps: a function of SQL is planned anew at each call, which took most of the
    /// time of the question before an upload.
    private static let keptDigest = """
        CREATE OR REPLACE FUNCTION psb.table_digest(schema_name text, table_name text) RETURNS text
        LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (\(digest)); END $$;
        """

    /// What a digest is of; the parameters are `schema_name` and `table_name`.
    private static let digest = """
        SELECT pg_catalog.md5(pg_catalog.concat_ws('|', c.relkind,
            (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(',', a.attnum, a.attname, a.atttypid, a.atttypmod,
                    a.attcollation, a.attgenerated, a.attidentity, a.attnotnull, a.atthasdef, s.nspname, y.typname,
                    CASE WHEN a.attnotnull AND NOT a.atthasdef THEN y.typdefault IS NULL
                        AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'SELECT')
                        AND pg_catalog.has_column_privilege(c.oid, a.attnum, 'INSERT') END), ';' ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid
                JOIN pg_catalog.pg_namespace s ON s.oid = y.typnamespace
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
            (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(':', i.indnkeyatts, i.indkey), ';'
                    ORDER BY i.indnkeyatts, i.indkey::text)
                FROM pg_catalog.pg_index i
                WHERE i.indrelid = c.oid AND i.indisunique AND i.indisvalid AND i.indimmediate
                    AND i.indpred IS NULL)))
        FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = schema_name AND c.relname = table_name
        """

    /// Returns the SQL that says whether a table is the one of custom checkpoints as `SchemaMigration` makes it.
    ///
    /// - Parameter table: an expression for its oid.
    /// - Returns: an expression.
    static func isOwnCheckpoints(_ table: String) -> String {
        """
        (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(' ', a.attnum, a.attname, a.atttypid::pg_catalog.regtype), ', '
                ORDER BY a.attnum)
            FROM pg_catalog.pg_attribute a WHERE a.attrelid = \(table) AND a.attnum > 0 AND NOT a.attisdropped)
                = '1 user_id text, 2 client_id text, 3 checkpoint bigint'
            AND EXISTS (SELECT FROM pg_catalog.pg_index i
                WHERE i.indrelid = \(table) AND i.indisprimary AND i.indkey::text = '1 2')
        """
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
