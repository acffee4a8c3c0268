import PowerSyncPostgres
import PowerSyncWire

/// The statements about `psb.dead_letters` (backend 3.4).
package enum DeadLetterTable {
    /// Which letters are meant.
    package struct Selection: Sendable, Hashable {
        /// Those of a user.
        package var user: String?
        /// Those of the user with this digest (`DeadLetterQuota.digest`).
        package var digest: String?
        /// Those in a state.
        package var state: StoredLetter.State?

        /// Makes a selection of all.
        package init(user: String? = nil, digest: String? = nil, state: StoredLetter.State? = nil) {
            self.user = user
            self.digest = digest
            self.state = state
        }

        static let condition = """
            ($1::text IS NULL OR user_id = $1::text)
                AND ($2::text IS NULL
                    OR left(encode(sha256(pg_catalog.convert_to(user_id, 'UTF8')), 'hex'), 12) = $2::text)
                AND ($3::text IS NULL OR state = $3::text)
            """

        var parameters: [String?] { [user, digest, state?.rawValue] }
    }

    /// Returns what a user's open letters take, if that is known before a deadline.
    static func usage(
        of user: String, on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws -> DeadLetterUsage {
        let result = try await connection.query(
            """
            SELECT count(*)::text, coalesce(sum(coalesce(bytes, pg_catalog.pg_column_size(payload))), 0)::text
            FROM psb.dead_letters
            WHERE user_id = $1::text AND state = 'open'
            """, [user], until: deadline)
        guard result.rowCount == 1, let rows = result[0, 0].flatMap({ Int($0) }),
            let bytes = result[0, 1].flatMap({ Int($0) })
        else { throw PostgresError(.malformedMessage, "the usage of dead letters is no number") }
        return DeadLetterUsage(rows: rows, bytes: bytes)
    }

    /// Removes letters that are older than they are kept; returns how many.
    static func prune(olderThan age: Duration, most: Int, on connection: PostgresConnection) async throws
        -> Int
    {
        try await connection.query(
            """
            DELETE FROM psb.dead_letters WHERE id IN (
                SELECT id FROM psb.dead_letters WHERE occurred_at < now() - pg_catalog.make_interval(secs => $1::float8)
                LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
            """, [String(age.milliseconds / 1_000), String(most)]
        ).affectedRows
    }

    /// Returns how many open letters are older.
    static func open(olderThan age: Duration, on connection: PostgresConnection) async throws -> Int {
        let count = try await connection.query(
            """
            SELECT count(*)::text FROM psb.dead_letters
            WHERE state = 'open' AND occurred_at < now() - pg_catalog.make_interval(secs => $1::float8)
            """, [String(age.milliseconds / 1_000)])
        return count.scalar.flatMap { Int($0) } ?? 0
    }

    /// Returns the newest letters of a selection, oldest first, and how many there are.
    package static func list(_ selection: Selection, most: Int, on connection: PostgresConnection)
        async throws
        -> (letters: [StoredLetter], total: Int)
    {
        let result = try await connection.query(
            """
            SELECT \(StoredLetter.columns) FROM psb.dead_letters WHERE \(Selection.condition)
            ORDER BY occurred_at DESC, id DESC LIMIT $4::bigint
            """, selection.parameters + [String(most)])
        let count = try await connection.query(
            "SELECT count(*)::text FROM psb.dead_letters WHERE \(Selection.condition)", selection.parameters)
        return (letters(result).reversed(), count.scalar.flatMap { Int($0) } ?? 0)
    }

    /// Returns the letters whose ids begin with a text: two at most, which shows that it names none.
    package static func find(_ prefix: String, on connection: PostgresConnection) async throws
        -> [StoredLetter]
    {
        letters(
            try await connection.query(
                """
                SELECT \(StoredLetter.columns) FROM psb.dead_letters WHERE starts_with(id::text, $1::text)
                ORDER BY id LIMIT 2
                """, [prefix]))
    }

    private static let discarding =
        "state = 'discarded', payload = 'null', replay_claims = NULL, bytes = NULL"

    /// Gives a letter up and drops its operations and claims; false if it is not open.
    package static func discard(_ id: String, on connection: PostgresConnection) async throws -> Bool {
        try await connection.query(
            "UPDATE psb.dead_letters SET \(discarding) WHERE id = $1::uuid AND state = 'open'", [id]
        ).affectedRows == 1
    }

    /// Gives up all open letters of a selection; returns how many.
    package static func discardAll(_ selection: Selection, on connection: PostgresConnection) async throws
        -> Int
    {
        var open = selection
        open.state = .open
        return try await connection.query(
            "UPDATE psb.dead_letters SET \(discarding) WHERE \(Selection.condition)",
            open.parameters
        ).affectedRows
    }

    static func letters(_ result: PostgresResult) -> [StoredLetter] {
        (0..<result.rowCount).compactMap { StoredLetter(result.row($0)) }
    }
}
