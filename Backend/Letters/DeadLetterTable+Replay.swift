import PowerSyncPostgres
import PowerSyncWire

/// What sending a letter again reads and writes.
extension DeadLetterTable {
    /// What a letter holds.
    package struct Content: Sendable {
        /// Its operations as they came.
        package let payload: String
        /// Some claims of its sender.
        package let claims: String
        /// All of them; nil if they were not kept.
        package let wholeClaims: String?
    }

    /// Returns what a letter holds.
    package static func content(of id: String, on connection: PostgresConnection) async throws -> Content? {
        let result = try await connection.query(
            "SELECT payload::text, claims::text, replay_claims::text FROM psb.dead_letters WHERE id = $1::uuid",
            [id])
        guard result.rowCount == 1, let payload = result[0, 0], let claims = result[0, 1] else { return nil }
        return Content(payload: payload, claims: claims, wholeClaims: result[0, 2])
    }

    /// Records that a letter was applied by a backend that broke off before it could say so.
    static func settle(applied replay: UploadContext.Replay, on connection: PostgresConnection) async throws {
        try await connection.query(
            """
            UPDATE psb.dead_letters SET state = 'replayed', attempts = attempts + 1, replay_claims = NULL
            WHERE id = $1::uuid AND state = 'open' AND attempts = $2::integer
            """, [replay.letterID, String(replay.attempt)])
    }

    /// Records that a letter was refused again by a backend that left a new letter and broke off before it could say so.
    ///
    /// If the new one is open it goes, and this one takes over why. If somebody has seen to it meanwhile, that was seeing to
    /// this one: they hold the same operations.
    ///
    /// - Parameters:
    ///   - replay: the letter.
    ///   - user: its sender.
    ///   - newID: the new one.
    ///   - connection: outside a transaction.
    /// - Returns: what has become of the letter; nil if it had been seen to before.
    /// - Throws: `PostgresError`.
    static func settle(
        refused replay: UploadContext.Replay, of user: String, newID: String,
        on connection: PostgresConnection
    ) async throws -> StoredLetter.State? {
        let settled = try await connection.query(
            """
            WITH again AS (SELECT * FROM psb.dead_letters WHERE id = $3::uuid AND id <> $1::uuid AND user_id = $4::text
                    AND client_id = $5::text FOR UPDATE),
                gone AS (DELETE FROM psb.dead_letters d USING again a WHERE d.id = a.id AND a.state = 'open')
            UPDATE psb.dead_letters l SET attempts = l.attempts + 1, state = coalesce(a.state, l.state),
                error_code = coalesce(a.error_code, l.error_code),
                sqlstate = CASE WHEN a.id IS NULL THEN l.sqlstate ELSE a.sqlstate END,
                constraint_name = CASE WHEN a.id IS NULL THEN l.constraint_name ELSE a.constraint_name END,
                table_name = CASE WHEN a.id IS NULL THEN l.table_name ELSE a.table_name END,
                row_id = CASE WHEN a.id IS NULL THEN l.row_id ELSE a.row_id END,
                failed_index = CASE WHEN a.id IS NULL THEN l.failed_index ELSE a.failed_index END,
                message = coalesce(a.message, l.message),
                payload = CASE WHEN a.state = 'discarded' THEN 'null' ELSE l.payload END,
                replay_claims = CASE WHEN a.state <> 'open' THEN NULL ELSE l.replay_claims END
            FROM (SELECT 1) AS one LEFT JOIN again a ON true
            WHERE l.id = $1::uuid AND l.state = 'open' AND l.attempts = $2::integer
            RETURNING l.state
            """, [replay.letterID, String(replay.attempt), newID, user, replay.clientID])
        return settled.rowCount == 1 ? settled[0, 0].flatMap(StoredLetter.State.init(rawValue:)) : nil
    }
}
