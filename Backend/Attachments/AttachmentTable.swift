import PowerSyncPostgres

/// The statements about `psb.attachments` and `psb.attachment_removals`; times are seconds since 1970.
package enum AttachmentTable {
    // MARK: One attachment

    /// Lets one question for an upload of a user be answered at a time, until the end of the transaction.
    static func lock(
        _ owner: String, on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    )
        async throws
    {
        // The length keeps the locks of users apart from all others that are taken by names.
        try await connection.query(
            """
            SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
                pg_catalog.concat('attachments ', pg_catalog.length($1::text), ' ', $1::text), 0))
            """, [owner], until: deadline)
    }

    /// Returns what is known of an id; nil if that is nothing.
    ///
    /// - Parameters:
    ///   - id: the attachment.
    ///   - isLocked: whether nobody else may change it until the end of the transaction.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: the record.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func record(
        _ id: String, isLocked: Bool = false, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRecord? {
        let result = try await connection.query(
            "SELECT \(AttachmentRecord.columns) FROM psb.attachments WHERE id = $1::text"
                + (isLocked ? " FOR UPDATE" : ""), [id], until: deadline)
        guard result.rowCount > 0 else { return nil }
        guard let record = AttachmentRecord(id: id, result.row(0)) else { throw malformed }
        return record
    }

    static let malformed = PostgresError(
        .malformedMessage, "a row of psb.attachments is not as it must be")

    /// Returns what the files of a user take that are not deleted.
    static func usage(
        of owner: String, on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentUsage {
        let result = try await connection.query(
            """
            SELECT count(*)::text, coalesce(sum(size), 0)::text FROM psb.attachments
            WHERE owner = $1::text AND state <> 'deleted'
            """, [owner], until: deadline)
        guard result.rowCount == 1, let files = result[0, 0].flatMap({ Int($0) }),
            let bytes = result[0, 1].flatMap({ Int64($0) })
        else { throw malformed }
        return AttachmentUsage(files: files, bytes: bytes)
    }

    /// Makes a record; false if the id has got one in the meantime.
    static func insert(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await connection.query(
            """
            INSERT INTO psb.attachments (id, key, owner, table_schema, table_name, row_id, filename, content_type, size, sha256,
                state, created_at, signed_at, looked_at)
            VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::text, $9::bigint,
                decode($10::text, 'hex'), 'pending', to_timestamp($11::float8), to_timestamp($11::float8),
                to_timestamp($11::float8))
            ON CONFLICT (id) DO NOTHING
            """,
            [
                record.id, record.key, record.owner, record.table.schema, record.table.table, record.rowID,
                record.filename, record.contentType, String(record.size), record.sha256, String(now),
            ], until: deadline
        ).affectedRows == 1
    }

    /// Notes that a URL for an upload is about to be signed.
    static func sign(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        try await connection.query(
            """
            UPDATE psb.attachments SET signed_at = greatest(signed_at, to_timestamp($2::float8)), unnamed_since = NULL
            WHERE id = $1::text
            """, [record.id, String(now)], until: deadline)
    }

    /// Notes that a row names an attachment which nobody seemed to name.
    static func isNamed(
        _ record: AttachmentRecord, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        guard record.isUnnamed else { return }
        try await connection.query(
            "UPDATE psb.attachments SET unnamed_since = NULL WHERE id = $1::text", [record.id],
            until: deadline)
    }

    /// Notes that the store has the bytes; false if the record is not pending any more, or is another one.
    static func makeReady(
        _ record: AttachmentRecord, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await connection.query(
            """
            UPDATE psb.attachments SET state = 'ready', upload = NULL, completed_at = to_timestamp($3::float8),
                looked_at = to_timestamp($3::float8)
            WHERE id = $1::text AND key = $2::text AND state = 'pending'
            """, [record.id, record.key, String(now)], until: deadline
        ).affectedRows == 1
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
            UPDATE psb.attachments SET upload = $4::text
            WHERE id = $1::text AND key = $2::text AND state = 'pending' AND upload IS NOT DISTINCT FROM $3::text
            """, [record.id, record.key, record.upload, upload], until: deadline
        ).affectedRows == 1
    }

    // MARK: Deleting

    /// What is kept of the keys of rows `gone`, in a statement that deletes them: they are due at once.
    static let removing = """
        INSERT INTO psb.attachment_removals (key, upload, due_at, last_at)
        SELECT key, upload, signed_at, signed_at + make_interval(secs => \(AttachmentRules.settled))
        FROM gone ON CONFLICT (key) DO NOTHING
        RETURNING key, upload, extract(epoch FROM last_at)::text
        """

    /// Deletes an attachment; nil if it is deleted already.
    static func delete(
        _ id: String, at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> AttachmentRemoval? {
        let result = try await connection.query(
            """
            WITH gone AS (UPDATE psb.attachments SET state = 'deleted', deleted_at = to_timestamp($1::float8)
                WHERE id = $2::text AND state <> 'deleted' RETURNING key, upload, signed_at)
            \(removing)
            """, [String(now), id], until: deadline)
        return try removals(result).first
    }

    /// Forgets an upload that has not been finished, if nobody has asked a URL for it since; whether it was.
    static func forget(
        _ record: AttachmentRecord, notSignedSince limit: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Bool {
        try await connection.query(
            """
            WITH gone AS (DELETE FROM psb.attachments WHERE id = $1::text AND key = $2::text AND state = 'pending'
                    AND signed_at <= to_timestamp($3::float8) RETURNING key, upload, signed_at)
            \(removing)
            """, [record.id, record.key, String(limit)], until: deadline
        ).rowCount == 1
    }

    /// Forgets everything about a user's attachments but their ids; how many there are.
    ///
    /// - Parameters:
    ///   - owner: the user.
    ///   - now: the time.
    ///   - connection: the connection.
    /// - Returns: how many records there were.
    /// - Throws: `PostgresError`.
    static func erase(_ owner: String, at now: Double, on connection: PostgresConnection) async throws -> Int
    {
        try await connection.query(
            """
            WITH gone AS (SELECT id, key, upload, signed_at, state FROM psb.attachments WHERE owner = $2::text FOR UPDATE),
                told AS (\(removing.replacing("FROM gone", with: "FROM gone WHERE state <> 'deleted'")))
            UPDATE psb.attachments a SET state = 'deleted', deleted_at = coalesce(a.deleted_at, to_timestamp($1::float8)),
                owner = '', table_schema = '', table_name = '', row_id = NULL, filename = '', content_type = '', size = 0,
                sha256 = '', upload = NULL, completed_at = NULL, unnamed_since = NULL
            FROM gone WHERE a.id = gone.id
            """, [String(now), owner]
        ).affectedRows
    }

    static func records(_ result: PostgresResult) throws -> [AttachmentRecord] {
        try (0..<result.rowCount).map { row in
            let values = result.row(row)
            guard let id = values.first.flatMap({ $0 }),
                let record = AttachmentRecord(id: id, Array(values.dropFirst()))
            else { throw malformed }
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
