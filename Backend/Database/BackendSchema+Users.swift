extension BackendSchema {
    /// The state of a transaction of a user who may not do anything any more.
    static let userDisabled = "PSB05"
    /// The code of its failure.
    static let userDisabledCode = "ACCOUNT_DISABLED"

    /// Who may do nothing, and which rejections a user has seen (Backend/Authentication/SPEC.md, Backend/Apply/SPEC.md).
    static let userMigration = """
        CREATE TABLE psb.disabled_users (
            user_id text PRIMARY KEY, reason text, since timestamptz NOT NULL DEFAULT now());
        ALTER TABLE psb.dead_letters ADD COLUMN acked_at timestamptz;
        """

    /// Numbers and marks of an entry are kept as they are: to compress them took Postgres 7 % of the time of a large upload.
    static let plainNumbers =
        "ALTER TABLE psb.ledger ALTER COLUMN op_ids SET STORAGE EXTERNAL, ALTER COLUMN op_hashes SET STORAGE EXTERNAL"

    /// The question before each transaction: who may send it, whether the catalog is that of its plan, what the ledger has.
    ///
    /// `psb.open` and `psb.table_digest` with fewer parameters stay, for backends of before.
    ///
    /// A session keeps its plan until statistics come. One that was made while the ledger was small would read all of it, as a
    /// table or by its times and numbers: it must go by the entries of the client alone.
    static let openingMigration = """
        CREATE OR REPLACE FUNCTION psb.table_digest(schema_name text, table_name text, reader name) RETURNS text
        LANGUAGE plpgsql STABLE AS $$ BEGIN RETURN (\(digestOfReader)); END $$;
        CREATE OR REPLACE FUNCTION psb.open(claims text, subject text, schemas text[], tables text[], digests text[],
            device text, first_op bigint, last_op bigint, considered bigint)
        RETURNS void LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
        DECLARE nothing text;
        BEGIN
            \(opening(asking: "psb.table_digest(schemas[place], tables[place])"))
        END $$;
        CREATE OR REPLACE FUNCTION psb.open(claims text, subject text, schemas text[], tables text[], digests text[],
            device text, first_op bigint, last_op bigint, considered bigint, reader name)
        RETURNS void LANGUAGE plpgsql VOLATILE SET enable_seqscan = off AS $$
        DECLARE nothing text;
        BEGIN
            IF EXISTS (SELECT FROM psb.disabled_users d WHERE d.user_id = subject COLLATE pg_catalog."default") THEN
                RAISE EXCEPTION 'the user is disabled' USING ERRCODE = 'PSB05';
            END IF;
            \(opening(asking: "psb.table_digest(schemas[place], tables[place], reader)"))
        END $$;
        """

    /// What `psb.open` does for whoever is not disabled.
    ///
    /// The lock of a client is made of a digest that nobody can aim: the client chooses its name, and locks of the app, of
    /// migrations and of other users are numbers of the same kind.
    ///
    /// What reads no table is an expression of PL/pgSQL, which costs a tenth of a statement. A parameter of the type `name`
    /// gives its collation to those that are texts, by which no index of the ledger can be read: theirs is named.
    ///
    /// - Parameter digest: tells what a table is now.
    /// - Returns: statements of PL/pgSQL.
    private static func opening(asking digest: String) -> String {
        """
        nothing := pg_catalog.set_config('request.jwt.claims', claims, true);
            nothing := pg_catalog.set_config('request.jwt.claim.sub', subject, true);
            nothing := pg_catalog.set_config('app.user_id', subject, true);
            FOR place IN 1..pg_catalog.cardinality(tables) LOOP
                IF \(digest) IS DISTINCT FROM digests[place] THEN
                    RAISE EXCEPTION 'the catalog is not the one of the plan' USING ERRCODE = 'PSB03';
                END IF;
            END LOOP;
            IF device IS NULL THEN RETURN; END IF;
            -- The length keeps "a" with "b c" and "a b" with "c" apart: nobody may hold the lock of another user.
            nothing := pg_catalog.pg_advisory_xact_lock(('x' || pg_catalog.substr(pg_catalog.encode(pg_catalog.sha256(
                pg_catalog.convert_to(pg_catalog.concat(pg_catalog.length(subject), ' ', subject, ' ', device), 'UTF8')),
                'hex'), 1, 16))::bit(64)::bigint);
            -- The sum, because no other index than that of the client's entries shall answer.
            IF EXISTS (SELECT FROM psb.ledger l WHERE l.user_id = subject COLLATE pg_catalog."default"
                AND l.client_id = device COLLATE pg_catalog."default"
                AND l.last_op_id >= first_op AND l.first_op_id <= last_op AND l.id + 0 > considered)
            THEN
                RAISE EXCEPTION 'the ledger has entries that were not consulted' USING ERRCODE = 'PSB02';
            END IF;
        """
    }

    /// What a digest is of; the parameters are `schema_name`, `table_name` and `reader`, whose privileges it tells: those of the
    /// current user, if it is NULL.
    ///
    /// Beside what a plan spells it tells what may show in which order rows are written: triggers, which foreign keys have on
    /// both sides, rules, row security, checks, every unique index and exclusion constraint, and each default by the number of
    /// its entry in the catalog, which a new one has anew.
    ///
    /// What it asks of each column it looks up: a join with the types reads all of them, at every upload.
    private static let digestOfReader = """
        SELECT pg_catalog.md5(pg_catalog.concat_ws('|', c.relkind, c.relhastriggers, c.relhasrules, c.relrowsecurity,
            c.relchecks,
            (SELECT pg_catalog.string_agg(pg_catalog.concat_ws(',', a.attnum, a.attname, a.atttypid, a.atttypmod,
                    a.attcollation, a.attgenerated, a.attidentity, a.attnotnull,
                    CASE WHEN a.atthasdef THEN (SELECT d.oid FROM pg_catalog.pg_attrdef d
                        WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum) ELSE 0 END,
                    (SELECT pg_catalog.concat_ws(',', y.typnamespace::pg_catalog.regnamespace, y.typname,
                            y.typdefault IS NULL,
                            CASE WHEN a.attnotnull AND NOT a.atthasdef THEN y.typdefault IS NULL
                                AND pg_catalog.has_column_privilege(coalesce(reader, current_user), c.oid, a.attnum, 'SELECT')
                                AND pg_catalog.has_column_privilege(coalesce(reader, current_user), c.oid, a.attnum, 'INSERT')
                            END)
                        FROM pg_catalog.pg_type y WHERE y.oid = a.atttypid)), ';' ORDER BY a.attnum)
                FROM pg_catalog.pg_attribute a
                WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
            (SELECT pg_catalog.string_agg(k.key, ';' ORDER BY k.key)
                FROM pg_catalog.pg_index i CROSS JOIN LATERAL (SELECT pg_catalog.concat_ws(':', i.indisexclusion,
                    i.indisvalid, i.indimmediate, i.indpred IS NULL, i.indnkeyatts, i.indkey) AS key) AS k
                WHERE i.indrelid = c.oid AND (i.indisunique OR i.indisexclusion))))
        FROM pg_catalog.pg_class c
        WHERE c.relname = table_name
            AND c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = schema_name)
        """
}
