import PowerSyncPostgres

/// The statements that answer several questions at once, for a pipeline.
extension AttachmentTable {
    // MARK: Reading

    /// Asks what is known of what a user has uploaded under some ids.
    ///
    /// - Parameters:
    ///   - ids: the ids.
    ///   - owner: who has uploaded them.
    ///   - isLocked: whether nobody else may change them until the end of the transaction.
    /// - Returns: a statement, whose answer `records` reads.
    static func known(_ ids: [String], of owner: String, isLocked: Bool = false) -> PostgresStatement {
        PostgresStatement(
            "SELECT \(AttachmentRecord.columns) FROM psb.attachments WHERE id = ANY ($1::text[]) AND owner = $2::text"
                + (isLocked ? " ORDER BY key FOR UPDATE" : ""), [arrayLiteral(ids), owner])
    }

    /// A file that is looked for: that of an owner, or the one that a table shares.
    struct Place<Holder: Sendable>: Sendable {
        /// Whom it is looked for, as a number.
        let number: Int
        /// The id.
        let id: String
        /// Whose it is.
        let holder: Holder
    }

    /// Asks for files of owners; nil where there are none to ask for.
    ///
    /// `found` reads the answer.
    static func owned(_ places: [Place<String>]) -> PostgresStatement? {
        guard !places.isEmpty else { return nil }
        return PostgresStatement(
            """
            SELECT u.place, \(AttachmentRecord.columns) FROM unnest($1::text[], $2::text[], $3::text[])
                AS u(place, asked_id, asked_owner)
            JOIN psb.attachments a ON a.id = u.asked_id AND a.owner = u.asked_owner
            """,
            [
                arrayLiteral(places.map { String($0.number) }), arrayLiteral(places.map(\.id)),
                arrayLiteral(places.map(\.holder)),
            ])
    }

    /// Asks for files that the rows of tables without an owner share; nil where there are none to ask for.
    ///
    /// `found` reads the answer.
    static func shared(_ places: [Place<Catalog.Name>]) -> PostgresStatement? {
        guard !places.isEmpty else { return nil }
        return PostgresStatement(
            """
            SELECT u.place, \(AttachmentRecord.columns) FROM unnest($1::text[], $2::text[], $3::text[], $4::text[])
                AS u(place, asked_id, asked_schema, asked_table)
            JOIN psb.attachments a ON a.id = u.asked_id AND a.table_schema = u.asked_schema
                AND a.table_name = u.asked_table AND a.is_shared
            """,
            [
                arrayLiteral(places.map { String($0.number) }), arrayLiteral(places.map(\.id)),
                arrayLiteral(places.map(\.holder.schema)), arrayLiteral(places.map(\.holder.table)),
            ])
    }

    /// Reads the answer to `owned` or `shared`: the number of each and its file.
    static func found(_ answer: PostgresResult?) throws -> [(number: Int, record: AttachmentRecord)] {
        guard let answer else { return [] }
        return try (0..<answer.rowCount).map { row in
            let values = answer.row(row)
            guard let number = values.first?.flatMap({ Int($0) }),
                let record = AttachmentRecord(Array(values.dropFirst()))
            else { throw malformed }
            return (number, record)
        }
    }

    /// Asks what the files of a user take, without counting them: `psb.attachment_usage` has the sums.
    ///
    /// The bytes of those that are deleted count as long as a URL may still bring them, and until the store was told behind that.
    ///
    /// - Parameter owner: the user.
    /// - Returns: a statement, whose answer `usage` reads.
    static func used(by owner: String) -> PostgresStatement {
        PostgresStatement(
            """
            SELECT coalesce(sum(files), 0)::text, coalesce(sum(deleted), 0)::text,
                (coalesce(sum(bytes), 0) + (SELECT coalesce(sum(r.size), 0) FROM psb.attachment_removals r
                    WHERE r.owner = $1::text AND NOT r.is_told))::text
            FROM psb.attachment_usage WHERE owner = $1::text
            """, [owner])
    }

    /// Reads the answer to `used`.
    static func usage(_ answer: PostgresResult?) throws -> AttachmentUsage {
        guard let answer, answer.rowCount == 1, let files = answer[0, 0].flatMap({ Int($0) }),
            let deleted = answer[0, 1].flatMap({ Int($0) }), let bytes = answer[0, 2].flatMap({ Int64($0) })
        else { throw malformed }
        return AttachmentUsage(files: files, bytes: bytes, deleted: deleted)
    }

    // MARK: Writing

    /// Notes that URLs for uploads are about to be signed; nil for none.
    static func signing(_ records: [AttachmentRecord], at now: Double) -> PostgresStatement? {
        guard !records.isEmpty else { return nil }
        return PostgresStatement(
            """
            WITH held AS MATERIALIZED (\(holding("key = ANY ($1::text[])")))
            UPDATE psb.attachments SET signed_at = greatest(signed_at, to_timestamp($2::float8)), unnamed_since = NULL
            WHERE key IN (SELECT h.key FROM held h)
            """, [arrayLiteral(records.map(\.key)), String(now)])
    }

    /// Notes that rows name those of some attachments which nobody seemed to name; nil for none.
    ///
    /// It waits for nobody, since its transaction may hold records already: whoever has one that is passed over names it, or
    /// deletes it, and clearing up looks at its rows itself.
    static func naming(_ records: [AttachmentRecord]) -> PostgresStatement? {
        let keys = records.filter(\.isUnnamed).map(\.key)
        guard !keys.isEmpty else { return nil }
        return PostgresStatement(
            """
            WITH held AS MATERIALIZED (\(holding("key = ANY ($1::text[])")) SKIP LOCKED)
            UPDATE psb.attachments SET unnamed_since = NULL WHERE key IN (SELECT h.key FROM held h)
            """, [arrayLiteral(keys)])
    }

    /// Makes records; nil for none.
    ///
    /// They are made in the order of their ids, so that two users who share files of the same ids do not wait for each other.
    ///
    /// - Parameters:
    ///   - records: the records.
    ///   - now: when.
    /// - Returns: a statement with the keys of those that are made: not of one whose user, or whose table that shares it, has got
    ///   another of that id in the meantime.
    static func making(_ records: [AttachmentRecord], at now: Double) -> PostgresStatement? {
        guard !records.isEmpty else { return nil }
        return PostgresStatement(
            """
            INSERT INTO psb.attachments (id, key, owner, is_shared, table_schema, table_name, row_id, filename, content_type,
                size, sha256, state, created_at, signed_at, looked_at)
            SELECT u.id, u.key, u.owner, u.is_shared, u.table_schema, u.table_name, u.row_id, u.filename, u.content_type,
                u.size, decode(u.sha256, 'hex'), 'pending', n.moment, n.moment, n.moment
            FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[], $5::text[], $6::text[], $7::text[], $8::text[],
                $9::text[], $10::bigint[], $11::text[])
                AS u(id, key, owner, is_shared, table_schema, table_name, row_id, filename, content_type, size, sha256)
            CROSS JOIN (SELECT to_timestamp($12::float8)) AS n(moment)
            ORDER BY u.id COLLATE "C" ON CONFLICT DO NOTHING RETURNING key
            """,
            [
                arrayLiteral(records.map(\.id)), arrayLiteral(records.map(\.key)),
                arrayLiteral(records.map(\.owner)),
                arrayLiteral(records.map { String($0.isShared) }), arrayLiteral(records.map(\.table.schema)),
                arrayLiteral(records.map(\.table.table)), arrayLiteral(records.map(\.rowID)),
                arrayLiteral(records.map(\.filename)), arrayLiteral(records.map(\.contentType)),
                arrayLiteral(records.map { String($0.size) }), arrayLiteral(records.map(\.sha256)),
                String(now),
            ])
    }
}
