import PowerSyncPostgres

/// What the role of a backend, and of the commands for operators, must be granted if it owns nothing (backend 6.2).
package enum SchemaRights {
    /// Privileges on one object.
    package struct Right: Sendable, Hashable {
        /// SCHEMA, TABLE or FUNCTION.
        package let kind: String
        /// The object as SQL.
        package let object: String
        /// The privileges, in words of SQL.
        package let privileges: [String]

        /// The right as a GRANT says it.
        package var text: String { "\(privileges.joined(separator: ", ")) ON \(kind) \(object)" }
    }

    /// The rights, each of which something does not work without.
    ///
    /// - Parameter hasCheckpoints: whether the table of custom checkpoints is used (backend 5.2).
    /// - Returns: the rights by object, the schema first.
    package static func all(hasCheckpoints: Bool) -> [Right] {
        let checkpoints = Right(
            kind: "TABLE", object: "public.checkpoints", privileges: ["SELECT", "INSERT", "UPDATE", "DELETE"])
        return own + (hasCheckpoints ? [checkpoints] : [])
    }

    /// An identity column needs no right on its sequence.
    private static let own = [
        Right(kind: "SCHEMA", object: "psb", privileges: ["USAGE"]),
        Right(kind: "TABLE", object: "psb.schema_migrations", privileges: ["SELECT"]),
        Right(kind: "TABLE", object: "psb.ledger", privileges: ["SELECT", "INSERT", "DELETE"]),
        Right(kind: "TABLE", object: "psb.commits", privileges: ["SELECT", "INSERT", "DELETE"]),
        Right(
            kind: "TABLE", object: "psb.upload_attempts",
            privileges: ["SELECT", "INSERT", "UPDATE", "DELETE"]),
        Right(
            kind: "TABLE", object: "psb.dead_letters", privileges: ["SELECT", "INSERT", "UPDATE", "DELETE"]),
        Right(
            kind: "TABLE", object: "psb.attachments", privileges: ["SELECT", "INSERT", "UPDATE", "DELETE"]),
        Right(
            kind: "TABLE", object: "psb.attachment_removals",
            privileges: ["SELECT", "INSERT", "UPDATE", "DELETE"]),
        Right(kind: "TABLE", object: "psb.attachment_store", privileges: ["SELECT", "INSERT"]),
        // Its triggers have the rights of their owner.
        Right(kind: "TABLE", object: "psb.attachment_usage", privileges: ["SELECT"]),
        // Who is in it is an operator's to say.
        Right(kind: "TABLE", object: "psb.disabled_users", privileges: ["SELECT"]),
        // What earlier backends left behind, for `erase`.
        Right(kind: "TABLE", object: "psb.upload_ledger", privileges: ["SELECT", "DELETE"]),
        Right(
            kind: "FUNCTION",
            object: "psb.open(text, text, text[], text[], text[], text, bigint, bigint, bigint, name)",
            privileges: ["EXECUTE"]),
        Right(kind: "FUNCTION", object: "psb.table_digest(text, text, name)", privileges: ["EXECUTE"]),
        Right(kind: "FUNCTION", object: "psb.take_letter(uuid, integer, boolean)", privileges: ["EXECUTE"]),
        Right(kind: "FUNCTION", object: "psb.recount_attachments(text)", privileges: ["EXECUTE"]),
    ]

    /// Grants a role all rights.
    ///
    /// - Parameters:
    ///   - role: the role, as it is spelled in `pg_roles`.
    ///   - hasCheckpoints: whether the table of custom checkpoints is used.
    ///   - connection: that of an owner.
    /// - Throws: `PostgresError`; a right that is not the connection's to grant may be passed over, see `missing`.
    static func grant(_ role: String, hasCheckpoints: Bool, on connection: PostgresConnection) async throws {
        let statements = all(hasCheckpoints: hasCheckpoints).map { right in
            "GRANT \(right.text) TO \(quoteIdentifier(role))"
        }
        try await connection.script(statements.joined(separator: ";\n"))
    }

    /// Tells which rights a role lacks, however it may have got the others.
    ///
    /// - Parameters:
    ///   - role: the role.
    ///   - hasCheckpoints: whether the table of custom checkpoints is used.
    ///   - connection: that of a role with USAGE on the schema, which is at the present version.
    /// - Returns: the rights in words.
    /// - Throws: `PostgresError`.
    static func missing(
        for role: String, hasCheckpoints: Bool, on connection: PostgresConnection
    ) async throws -> [String] {
        let single = all(hasCheckpoints: hasCheckpoints).flatMap { right in
            right.privileges.map { (kind: right.kind, object: right.object, privilege: $0) }
        }
        let result = try await connection.query(
            """
            SELECT r.privilege || ' ON ' || r.kind || ' ' || r.object
            FROM unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS r(kind, object, privilege, n)
            WHERE NOT CASE r.kind WHEN 'SCHEMA' THEN pg_catalog.has_schema_privilege($1::name, r.object, r.privilege)
                WHEN 'TABLE' THEN pg_catalog.has_table_privilege($1::name, r.object, r.privilege)
                ELSE pg_catalog.has_function_privilege($1::name, r.object, r.privilege) END
            ORDER BY r.n
            """,
            [
                role, arrayLiteral(single.map(\.kind)), arrayLiteral(single.map(\.object)),
                arrayLiteral(single.map(\.privilege)),
            ])
        return (0..<result.rowCount).compactMap { result[$0, 0] }
    }
}
