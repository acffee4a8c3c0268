extension BackendSchema {
    /// The state of a replay whose letter somebody else has seen to meanwhile.
    static let letterNotOpen = "PSB04"
    /// The code of its failure.
    static let letterNotOpenCode = "LETTER_NOT_OPEN"

    /// What sending a letter again needs of it, beside its operations: its rows, and what policies are to see.
    ///
    /// The rows of letters of before are read where that is cheap: of small ones, without the character NUL, which no text can
    /// hold. The others have none, and whoever compares them says so.
    static let fourthMigration = """
        ALTER TABLE psb.dead_letters ADD COLUMN row_ids text[], ADD COLUMN row_tables text[],
            ADD COLUMN replay_claims json, ADD COLUMN bytes bigint;
        WITH small AS MATERIALIZED (
            SELECT id, payload FROM psb.dead_letters WHERE state = 'open' AND pg_column_size(payload) <= 8192
                AND strpos(payload::text, chr(92) || 'u0000') = 0 AND json_typeof(payload) = 'array'
            ORDER BY occurred_at DESC LIMIT 10000
        )
        UPDATE psb.dead_letters l SET row_ids = (
            SELECT coalesce(array_agg(DISTINCT CASE
                WHEN n.name ~* '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN lower(n.name) ELSE n.name END), '{}')
            FROM json_array_elements(s.payload) AS e(op)
            CROSS JOIN LATERAL (SELECT coalesce(e.op ->> 'id', e.op -> 'data' ->> 'id', e.op -> 'opData' ->> 'id',
                e.op -> 'op_data' ->> 'id')) AS n(name)
            WHERE octet_length(n.name) BETWEEN 1 AND 255)
        FROM small s WHERE l.id = s.id;
        CREATE INDEX dead_letters_rows ON psb.dead_letters USING gin (row_ids) WHERE state = 'open';
        CREATE INDEX dead_letters_unread ON psb.dead_letters (occurred_at) WHERE state = 'open' AND row_ids IS NULL;
        CREATE FUNCTION psb.take_letter(letter uuid, attempt integer, is_applied boolean)
        RETURNS void LANGUAGE plpgsql VOLATILE AS $$
        BEGIN
            PERFORM FROM psb.dead_letters l WHERE l.id = letter AND l.state = 'open' AND l.attempts = attempt FOR UPDATE;
            IF NOT FOUND THEN
                RAISE EXCEPTION 'the dead letter is not open any more' USING ERRCODE = 'PSB04';
            END IF;
            IF is_applied THEN
                UPDATE psb.dead_letters l SET state = 'replayed', attempts = l.attempts + 1, replay_claims = NULL
                WHERE l.id = letter;
            END IF;
        END $$;
        """
}
