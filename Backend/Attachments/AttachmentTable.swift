import PowerSyncPostgres
import PowerSyncWire

/// The statements about `psb.attachments` and `psb.attachment_removals`; times are seconds since 1970.
package enum AttachmentTable {
    // MARK: One attachment

    /// Returns the statement that lets questions for uploads of a user be answered one behind the other, until the end of the
    /// transaction.
    static func lock(_ owner: String) -> PostgresStatement {
        // The length keeps the locks of users apart from all others that are taken by names.
        PostgresStatement(
            """
            SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(
                pg_catalog.concat('attachments ', pg_catalog.length($1::text), ' ', $1::text), 0))
            """, [owner], keepsRows: false)
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

    /// A file that a row of a table without an owner is to name.
    struct Sharing: Sendable {
        /// The file, which no table shares.
        let record: AttachmentRecord
        /// The table.
        let table: Catalog.Name
        /// The id of the row that names it.
        let row: String?
    }

    /// Has the rows of tables without an owner name files.
    ///
    /// They are shared in the order of their ids, as `making` makes them. All have one savepoint: one for each would be more
    /// than the database remembers of a transaction without a search.
    ///
    /// - Parameters:
    ///   - files: the files, of different ids.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: the keys of those whose table has got a file of that id in the meantime.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func share(
        _ files: [Sharing], on connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws -> Set<String> {
        guard !files.isEmpty else { return [] }
        let files = files.sorted { ExactText($0.record.id) < ExactText($1.record.id) }
        let updates = files.map { file in
            PostgresStatement(
                """
                UPDATE psb.attachments
                SET is_shared = true, table_schema = $2::text, table_name = $3::text, row_id = $4::text
                WHERE key = $1::text
                """, [file.record.key, file.table.schema, file.table.table, file.row])
        }
        let end = PostgresStatement("RELEASE SAVEPOINT share")
        let outcomes = try await connection.pipeline(
            [PostgresStatement("SAVEPOINT share")] + updates + [end], until: deadline)
        guard let error = outcomes.compactMap(\.error).first else { return [] }
        guard error.sqlstate == "23505" else { throw error }
        let undone = try await connection.pipeline(
            [PostgresStatement("ROLLBACK TO SAVEPOINT share"), end], until: deadline)
        if let error = undone.compactMap(\.error).first { throw error }
        guard files.count > 1 else { return Set(files.map(\.record.key)) }
        // One of them is there: which one tells each by itself.
        var others: Set<String> = []
        for file in files { others.formUnion(try await share([file], on: connection, until: deadline)) }
        return others
    }

    /// Notes that the store has the bytes of records.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - now: when.
    ///   - connection: the connection.
    ///   - deadline: until when to wait.
    /// - Returns: the keys of those that were pending still.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func makeReady(
        _ records: [AttachmentRecord], at now: Double, on connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws -> Set<String> {
        let result = try await connection.query(
            """
            WITH held AS MATERIALIZED (\(holding("key = ANY ($1::text[])")))
            UPDATE psb.attachments SET state = 'ready', upload = NULL, looked_at = to_timestamp($2::float8)
            WHERE key IN (SELECT h.key FROM held h) AND state = 'pending' RETURNING key
            """, [arrayLiteral(records.map(\.key)), String(now)], until: deadline)
        return Set((0..<result.rowCount).compactMap { result[$0, 0] })
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
            greatest(signed_at + pg_catalog.make_interval(secs => \(AttachmentRules.settled)), \(now))
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
        _ record: AttachmentRecord, notSignedSince limit: Double, at now: Double,
        on connection: PostgresConnection,
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
    ///   - connection: the connection, within a transaction that is read committed.
    /// - Returns: how many records there were.
    /// - Throws: `PostgresError`.
    static func erase(_ owner: String, on connection: PostgresConnection) async throws -> Int {
        let result = try await connection.query(
            """
            WITH held AS MATERIALIZED (\(holding("owner = $1::text"))),
                all_gone AS (DELETE FROM psb.attachments WHERE key IN (SELECT h.key FROM held h)
                    RETURNING key, upload, size, signed_at, state),
                gone AS (SELECT key, upload, NULL::text AS owner, size, signed_at FROM all_gone WHERE state <> 'deleted'),
                told AS (\(removing(at: "pg_catalog.now()")))
            SELECT count(*)::text FROM all_gone
            """, [owner])
        // A statement of its own sees what was deleted while the records were waited for.
        try await connection.query(
            "UPDATE psb.attachment_removals SET owner = NULL WHERE owner = $1::text", [owner])
        // Sums that were wrong would keep his name.
        try await connection.query("SELECT psb.recount_attachments($1::text)", [owner])
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
