import PowerSyncPostgres

/// What clearing up reads and writes (`AttachmentSweep`).
extension AttachmentTable {
    /// Returns uploads that nobody has asked a URL for since a moment, those first that were not tried to end for longest.
    static func unfinished(
        since limit: Double, triedBefore tried: Double, most: Int, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> [AttachmentRecord] {
        try records(
            try await connection.query(
                """
                SELECT \(AttachmentRecord.columns) FROM psb.attachments
                WHERE state = 'pending' AND signed_at <= to_timestamp($1::float8) AND looked_at <= to_timestamp($2::float8)
                ORDER BY looked_at LIMIT $3::bigint
                """, [String(limit), String(tried), String(most)], until: deadline))
    }

    /// An attachment that is about to be looked at.
    struct Unseen: Sendable {
        /// The attachment.
        let record: AttachmentRecord
        /// When somebody looked at its rows last, as the database spells it.
        let lookedAt: String
    }

    /// Returns attachments at whose rows nobody has looked since a moment.
    static func unseen(
        since limit: Double, most: Int, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> [Unseen] {
        let result = try await connection.query(
            """
            SELECT extract(epoch FROM looked_at)::text, \(AttachmentRecord.columns) FROM psb.attachments
            WHERE state = 'ready' AND looked_at <= to_timestamp($1::float8) ORDER BY looked_at LIMIT $2::bigint
            """, [String(limit), String(most)], until: deadline)
        return try (0..<result.rowCount).map { row in
            let values = result.row(row)
            guard let lookedAt = values.first ?? nil, let record = AttachmentRecord(Array(values.dropFirst()))
            else { throw malformed }
            return Unseen(record: record, lookedAt: lookedAt)
        }
    }

    /// What somebody saw who looked at the rows of an attachment.
    struct Look: Sendable {
        /// The key of the attachment.
        let key: String
        /// When somebody had looked before.
        let before: String
        /// Whether a row names it, whosever it is.
        let isNamed: Bool

        /// Makes a look at an attachment.
        init(_ unseen: Unseen, isNamed: Bool) {
            key = unseen.record.key
            before = unseen.lookedAt
            self.isNamed = isNamed
        }
    }

    /// Notes what was seen, of those that are as they were and at which nobody else has looked meanwhile.
    ///
    /// - Parameters:
    ///   - looks: what was seen.
    ///   - now: when.
    ///   - limit: a moment.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: the keys of those that no row has named since that moment.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func note(
        _ looks: [Look], at now: Double, unnamedSince limit: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Set<String> {
        let result = try await connection.query(
            """
            WITH held AS MATERIALIZED (\(holding("key = ANY ($2::text[])"))),
            seen AS (UPDATE psb.attachments a SET looked_at = to_timestamp($1::float8),
                unnamed_since = CASE WHEN NOT u.named THEN coalesce(a.unnamed_since, to_timestamp($1::float8)) END
            FROM unnest($2::text[], $3::boolean[], $4::text[]) AS u(key, named, before)
            WHERE a.key = u.key AND a.key IN (SELECT h.key FROM held h) AND a.state = 'ready'
                AND extract(epoch FROM a.looked_at)::text = u.before
            RETURNING a.key, a.unnamed_since)
            SELECT key FROM seen WHERE unnamed_since <= to_timestamp($5::float8)
            """,
            [
                String(now), arrayLiteral(looks.map(\.key)), arrayLiteral(looks.map { String($0.isNamed) }),
                arrayLiteral(looks.map(\.before)), String(limit),
            ], until: deadline)
        return Set((0..<result.rowCount).compactMap { result[$0, 0] })
    }

    /// Looks no further for now at attachments whose table nobody knows, or of which the store says nothing.
    static func pass(
        _ keys: [String], at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        try await connection.query(
            """
            WITH held AS MATERIALIZED (\(holding("key = ANY ($2::text[])")))
            UPDATE psb.attachments SET looked_at = to_timestamp($1::float8) WHERE key IN (SELECT h.key FROM held h)
            """, [String(now), arrayLiteral(keys)], until: deadline)
    }

    /// Deletes those of some attachments that no row has named since a moment, as a look at that time has seen; how many.
    static func deleteUnnamed(
        _ keys: [String], since limit: Double, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Int {
        try await connection.query(
            """
            WITH held AS MATERIALIZED (\(holding("key = ANY ($2::text[])"))),
            gone AS (UPDATE psb.attachments SET state = 'deleted', deleted_at = to_timestamp($1::float8)
                WHERE key IN (SELECT h.key FROM held h) AND state = 'ready' AND looked_at = to_timestamp($1::float8)
                    AND unnamed_since <= to_timestamp($3::float8)
                RETURNING key, upload, owner, size, signed_at)
            \(removing(at: "to_timestamp($1::float8)"))
            """, [String(now), arrayLiteral(keys), String(limit)], until: deadline
        ).rowCount
    }

    /// Forgets ids that were deleted before a moment; how many.
    static func forgetDeleted(
        before limit: Double, most: Int, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Int {
        try await connection.query(
            """
            DELETE FROM psb.attachments WHERE key IN (SELECT key FROM psb.attachments
                WHERE state = 'deleted' AND deleted_at <= to_timestamp($1::float8)
                LIMIT $2::bigint FOR UPDATE SKIP LOCKED)
            """, [String(limit), String(most)], until: deadline
        ).affectedRows
    }

    // MARK: What users have

    /// A part of the users, in their order.
    struct Users: Sendable {
        /// The last of them; nil if there are none.
        let last: String?
        /// How many there are.
        let count: Int
        /// Those whose sums are not those of their records.
        let wrong: [String]
    }

    /// Compares the sums of users with their records, in one snapshot, in which a statement and its trigger are both or neither.
    ///
    /// - Parameters:
    ///   - user: those behind this one.
    ///   - most: how many.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: the users.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func users(
        after user: String, most: Int, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Users {
        let result = try await connection.query(
            """
            SELECT o.owner, ((c.files, c.deleted, c.bytes) IS DISTINCT FROM (u.files, u.deleted, u.bytes))::text
            FROM ((SELECT DISTINCT owner FROM psb.attachments WHERE owner > $1::text ORDER BY owner LIMIT $2::bigint)
                UNION (SELECT owner FROM psb.attachment_usage WHERE owner > $1::text ORDER BY owner LIMIT $2::bigint)
                ORDER BY owner LIMIT $2::bigint) AS o
            CROSS JOIN LATERAL (SELECT \(BackendSchema.sums) FROM psb.attachments a WHERE a.owner = o.owner) AS c
            LEFT JOIN psb.attachment_usage u ON u.owner = o.owner ORDER BY o.owner
            """, [user, String(most)], until: deadline)
        let users = (0..<result.rowCount).compactMap { result[$0, 0] }
        return Users(
            last: users.last, count: users.count,
            wrong: (0..<result.rowCount).filter { result[$0, 1] == "true" }.compactMap { result[$0, 0] })
    }

    /// Counts what the files of a user take.
    static func recount(
        _ user: String, on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws {
        try await connection.query("SELECT psb.recount_attachments($1::text)", [user], until: deadline)
    }

    // MARK: What the store is to be told

    /// Returns removals that are due, the oldest first.
    static func due(
        at now: Double, most: Int, on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws -> [AttachmentRemoval] {
        try removals(
            try await connection.query(
                """
                SELECT key, upload, extract(epoch FROM last_at)::text FROM psb.attachment_removals
                WHERE due_at <= to_timestamp($1::float8) ORDER BY due_at LIMIT $2::bigint
                """, [String(now), String(most)], until: deadline))
    }

    /// Notes that the store was told, and when it is to be told again, if it is.
    static func told(
        _ removal: AttachmentRemoval, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        if let next = AttachmentRules.nextTelling(of: removal, at: now) {
            // Behind the last URL nothing comes any more, and what had come is gone.
            try await connection.query(
                """
                UPDATE psb.attachment_removals SET due_at = to_timestamp($2::float8), is_told = is_told OR $3::boolean
                WHERE key = $1::text
                """, [removal.key, String(next), String(removal.lastAt <= now)], until: deadline)
        } else {
            try await connection.query(
                "DELETE FROM psb.attachment_removals WHERE key = $1::text", [removal.key], until: deadline)
        }
    }

    /// Has a removal wait.
    static func postpone(
        _ removal: AttachmentRemoval, to moment: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        try await connection.query(
            "UPDATE psb.attachment_removals SET due_at = to_timestamp($2::float8) WHERE key = $1::text",
            [removal.key, String(moment)], until: deadline)
    }
}
