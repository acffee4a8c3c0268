import PowerSyncPostgres

/// The statements about `psb.attachments` and `psb.attachment_removals`; times are seconds since 1970.
package enum AttachmentTable {
    // MARK: One attachment

    /// Lets one question for an upload of a user be answered at a time, until the end of the transaction.
    static func lock(_ owner: String, on connection: PostgresConnection, until deadline: ContinuousClock.Instant)
        async throws
    {
        // The length keeps the locks of users apart from all others that are taken by names.
        try await connection.query(
            """
            SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
                pg_catalog.concat('attachments ', pg_catalog.length($1::text), ' ', $1::text), 0))
            """, [owner], until: deadline)
    }

    /// Returns what is known of what a user has uploaded under an id; nil if that is nothing.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - owner: who has uploaded it.
    ///   - isLocked: whether nobody else may change it until the end of the transaction.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: the record.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func record(
        _ id: String, of owner: String, isLocked: Bool = false, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord? {
        try records(
            try await connection.query(
                "SELECT \(AttachmentRecord.columns) FROM psb.attachments WHERE id = $1::text AND owner = $2::text"
                    + (isLocked ? " FOR UPDATE" : ""), [id, owner], until: deadline)
        ).first
    }

    /// Returns what the rows of a table without an owner name by an id; nil if that is nothing.
    static func shared(
        _ id: String, in table: Catalog.Name, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord? {
        try records(
            try await connection.query(
                """
                SELECT \(AttachmentRecord.columns) FROM psb.attachments
                WHERE id = $1::text AND table_schema = $2::text AND table_name = $3::text AND is_shared
                """, [id, table.schema, table.table], until: deadline)
        ).first
    }

    /// Returns a record as it is now; nil if it is not there any more.
    static func present(
        _ record: AttachmentRecord, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord? {
        try records(
            try await connection.query(
                "SELECT \(AttachmentRecord.columns) FROM psb.attachments WHERE key = $1::text", [record.key],
                until: deadline)
        ).first
    }

    /// Returns the query that locks records, in the order of their keys: two statements about several of them do not wait for each
    /// other.
    ///
    /// - Parameter condition: which, in SQL.
    /// - Returns: the SQL, with the keys of those that it has locked.
    static func holding(_ condition: String) -> String {
        "SELECT key FROM psb.attachments WHERE \(condition) ORDER BY key FOR NO KEY UPDATE"
    }

    static let malformed = PostgresError(
        .malformedMessage, "a row of psb.attachments is not as it must be")

    /// Returns what the files of a user take, without counting them: `psb.attachment_usage` has the sums.
    ///
    /// The bytes of those that are deleted count as long as a URL may still bring them, and until the store was told behind that.
    static func usage(
        of owner: String, on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUsage {
        let result = try await connection.query(
            """
            SELECT coalesce(sum(files), 0)::text, coalesce(sum(deleted), 0)::text,
                (coalesce(sum(bytes), 0) + (SELECT coalesce(sum(r.size), 0) FROM psb.attachment_removals r
                    WHERE r.owner = $1::text AND NOT r.is_told))::text
            FROM psb.attachment_usage WHERE owner = $1::text
            """, [owner], until: deadline)
        guard result.rowCount == 1, let files = result[0, 0].flatMap({ Int($0) }),
            let deleted = result[0, 1].flatMap({ Int($0) }), let bytes = result[0, 2].flatMap({ Int64($0) })
        else { throw malformed }
        return AttachmentUsage(files: files, bytes: bytes, deleted: deleted)
    }

    /// Makes a record; false if the user, or the table that shares it, has got one of that id in the meantime.
    static func insert(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await connection.query(
            """
            INSERT INTO psb.attachments (id, key, owner, is_shared, table_schema, table_name, row_id, filename, content_type,
                size, sha256, state, created_at, signed_at, looked_at)
            VALUES ($1::text, $2::text, $3::text, $4::boolean, $5::text, $6::text, $7::text, $8::text, $9::text,
                $10::bigint, decode($11::text, 'hex'), 'pending', to_timestamp($12::float8), to_timestamp($12::float8),
                to_timestamp($12::float8))
            ON CONFLICT DO NOTHING
            """,
            [
                record.id, record.key, record.owner, String(record.isShared), record.table.schema,
                record.table.table, record.rowID, record.filename, record.contentType, String(record.size),
                record.sha256, String(now),
            ], until: deadline
        ).affectedRows == 1
    }

    /// Has the rows of a table without an owner name a file.
    ///
    /// - Parameters:
    ///   - record: the file, which no table shares.
    ///   - table: the table.
    ///   - row: the id of the row that names it.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: false if the table has got a file of that id in the meantime; the transaction has failed then.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func share(
        _ record: AttachmentRecord, in table: Catalog.Name, row: String?, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        do {
            try await connection.query(
                """
                UPDATE psb.attachments
                SET is_shared = true, table_schema = $2::text, table_name = $3::text, row_id = $4::text
                WHERE key = $1::text
                """, [record.key, table.schema, table.table, row], until: deadline)
            return true
        } catch let error as PostgresError where error.sqlstate == "23505" {
            return false
        }
    }

    /// Notes that a URL for an upload is about to be signed.
    static func sign(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        try await connection.query(
            """
            UPDATE psb.attachments SET signed_at = greatest(signed_at, to_timestamp($2::float8)), unnamed_since = NULL
            WHERE key = $1::text
            """, [record.key, String(now)], until: deadline)
    }

    /// Notes that a row names an attachment which nobody seemed to name.
    static func isNamed(
        _ record: AttachmentRecord, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        guard record.isUnnamed else { return }
        try await connection.query(
            "UPDATE psb.attachments SET unnamed_since = NULL WHERE key = $1::text", [record.key],
            until: deadline)
    }

    /// Notes that the store has the bytes; false if the record is not pending any more.
    static func makeReady(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await connection.query(
            """
            UPDATE psb.attachments SET state = 'ready', upload = NULL, looked_at = to_timestamp($2::float8)
            WHERE key = $1::text AND state = 'pending'
            """, [record.key, String(now)], until: deadline
        ).affectedRows == 1
    }

    /// Notes that the bytes of an attachment are to be brought again, under the same key.
    static func restart(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        try await connection.query(
            """
            UPDATE psb.attachments SET state = 'pending', signed_at = to_timestamp($2::float8)
            WHERE key = $1::text AND state = 'ready'
            """, [record.key, String(now)], until: deadline)
    }

    /// Notes what the store calls the upload in parts, or that there is none any more.
    ///
    /// - Parameters:
    ///   - upload: the name; nil for none.
    ///   - record: the record as it was read: if it has another one by now nothing is changed.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: whether it was changed.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func setUpload(
        _ upload: String?, of record: AttachmentRecord, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await connection.query(
            """
            UPDATE psb.attachments SET upload = $3::text
            WHERE key = $1::text AND state = 'pending' AND upload IS NOT DISTINCT FROM $2::text
            """, [record.key, record.upload, upload], until: deadline
        ).affectedRows == 1
    }

    // MARK: Deleting

    /// What is kept of the keys of rows `gone`, in a statement that deletes them: they are due at once.
    ///
    /// - Parameter now: the time in SQL: whoever completes one in this moment may make an object behind that.
    /// - Returns: the end of the statement.
    static func removing(at now: String) -> String {
        """
        INSERT INTO psb.attachment_removals (key, upload, owner, size, due_at, last_at)
        SELECT key, upload, owner, size, signed_at,
            greatest(signed_at + make_interval(secs => \(AttachmentRules.settled)), \(now))
        FROM gone ON CONFLICT (key) DO NOTHING
        RETURNING key, upload, extract(epoch FROM last_at)::text
        """
    }

    /// Deletes an attachment; nil if it is deleted already.
    static func delete(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRemoval? {
        let result = try await connection.query(
            """
            WITH gone AS (UPDATE psb.attachments SET state = 'deleted', deleted_at = to_timestamp($1::float8)
                WHERE key = $2::text AND state <> 'deleted' RETURNING key, upload, owner, size, signed_at)
            \(removing(at: "to_timestamp($1::float8)"))
            """, [String(now), record.key], until: deadline)
        return try removals(result).first
    }

    /// Forgets an upload that has not been finished, if nobody has asked a URL for it since; whether it was.
    static func forget(
        _ record: AttachmentRecord, notSignedSince limit: Double, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await connection.query(
            """
            WITH gone AS (DELETE FROM psb.attachments WHERE key = $1::text AND state = 'pending'
                    AND signed_at <= to_timestamp($2::float8) RETURNING key, upload, owner, size, signed_at)
            \(removing(at: "to_timestamp($3::float8)"))
            """, [record.key, String(limit), String(now)], until: deadline
        ).rowCount == 1
    }

    /// Forgets everything about a user's attachments; the keys stay until the store has been told.
    ///
    /// The time is the database's: whoever runs the command knows that of no backend.
    ///
    /// - Parameters:
    ///   - owner: the user.
    ///   - connection: the connection.
    /// - Returns: how many records there were.
    /// - Throws: `PostgresError`.
    static func erase(_ owner: String, on connection: PostgresConnection) async throws -> Int {
        let result = try await connection.query(
            """
            WITH held AS MATERIALIZED (\(holding("owner = $1::text"))),
                all_gone AS (DELETE FROM psb.attachments WHERE key IN (SELECT h.key FROM held h)
                    RETURNING key, upload, size, signed_at, state),
                gone AS (SELECT key, upload, NULL::text AS owner, size, signed_at FROM all_gone WHERE state <> 'deleted'),
                told AS (\(removing(at: "pg_catalog.now()"))),
                nameless AS (UPDATE psb.attachment_removals SET owner = NULL WHERE owner = $1::text)
            SELECT count(*)::text FROM all_gone
            """, [owner])
        guard let count = result.scalar.flatMap({ Int($0) }) else { throw malformed }
        return count
    }

    static func records(_ result: PostgresResult) throws -> [AttachmentRecord] {
        try (0..<result.rowCount).map { row in
            guard let record = AttachmentRecord(result.row(row)) else { throw malformed }
            return record
        }
    }

    static func removals(_ result: PostgresResult) throws -> [AttachmentRemoval] {
        try (0..<result.rowCount).map { row in
            guard let key = result[row, 0], let lastAt = result[row, 2].flatMap({ Double($0) }) else {
                throw malformed
            }
            return AttachmentRemoval(key: key, upload: result[row, 1], lastAt: lastAt)
        }
    }
}
