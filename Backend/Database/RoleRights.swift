import PowerSyncPostgres
import PowerSyncWire

/// What the start requires of the roles that transactions take (backend 2.9).
enum RoleRights {
    /// Requires that the roles are there and can be taken.
    ///
    /// - Parameters:
    ///   - settings: the roles.
    ///   - connection: the connection.
    /// - Throws: `BackendError` with `.configuration`, `PostgresError`, `CancellationError`.
    static func requireRoles(_ settings: RoleSettings, on connection: PostgresConnection) async throws {
        let names = (settings.roles + (settings.probe.map { [$0] } ?? [])).map(\.name)
        guard !names.isEmpty else { return }
        // A right on psb is one to write what rejects and repeats; Postgres tells nobody's rights of a role that is not there.
        try await refuse(
            """
            SELECT n.name || CASE WHEN r.oid IS NULL THEN ' is no role of the database'
                WHEN NOT pg_catalog.pg_has_role(r.oid, 'MEMBER') THEN ' cannot be taken by ' || current_user
                    || ': GRANT it'
                ELSE ' has a right on the schema psb, which is the backend''s alone: REVOKE it' END
            FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS n(name, place)
            LEFT JOIN pg_catalog.pg_roles r ON r.rolname = n.name::name
            WHERE CASE WHEN r.oid IS NULL THEN true ELSE NOT pg_catalog.pg_has_role(r.oid, 'MEMBER')
                OR pg_catalog.has_schema_privilege(r.oid, 'psb'::text, 'USAGE, CREATE') END
            ORDER BY n.place
            """, [arrayLiteral(names)], on: connection)
    }

    /// Requires that policies hold for the roles, that all of them may do what plans count on, and that the probe sees what
    /// policies hide.
    ///
    /// - Parameters:
    ///   - settings: the roles, which are there.
    ///   - tables: what they write.
    ///   - connection: the connection.
    /// - Throws: `BackendError` with `.configuration`, `PostgresError`, `CancellationError`.
    static func require(
        _ settings: RoleSettings, for tables: UploadTables, on connection: PostgresConnection
    ) async throws {
        let quoted = arrayLiteral(Set(tables.tables.values.map(\.quoted)).sorted())
        if let first = settings.first {
            let names = arrayLiteral(settings.roles.map(\.name))
            try await refuse(
                """
                SELECT n.name || CASE WHEN r.rolsuper THEN ' is a superuser' WHEN r.rolbypassrls THEN ' has BYPASSRLS'
                    ELSE ' owns ' || c.oid::pg_catalog.regclass END || ': policies do not hold for it'
                FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS n(name, place)
                JOIN pg_catalog.pg_roles r ON r.rolname = n.name::name
                LEFT JOIN pg_catalog.unnest($2::text[]) AS t(name) ON NOT r.rolsuper AND NOT r.rolbypassrls
                LEFT JOIN pg_catalog.pg_class c ON c.oid = t.name::pg_catalog.regclass
                    AND pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE')
                WHERE r.rolsuper OR r.rolbypassrls OR c.oid IS NOT NULL
                ORDER BY n.place, c.oid
                """, [names, quoted], on: connection)
            try await refuse(viewsPastPolicies, [quoted], on: connection)
            try await refuse(
                """
                SELECT n.name || ' lacks ' || p.privilege || ' on ' || c.oid::pg_catalog.regclass
                    || coalesce('.' || a.attname, '') || ', which ' || $3::text || ' has'
                FROM pg_catalog.unnest($1::text[]) WITH ORDINALITY AS n(name, place)
                CROSS JOIN pg_catalog.unnest($2::text[]) AS t(name)
                JOIN pg_catalog.pg_class c ON c.oid = t.name::pg_catalog.regclass
                CROSS JOIN pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'])
                    WITH ORDINALITY AS p(privilege, number)
                LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
                    AND p.privilege <> 'DELETE'
                WHERE CASE WHEN a.attnum IS NULL THEN pg_catalog.has_table_privilege($3::name, c.oid, p.privilege)
                        AND NOT pg_catalog.has_table_privilege(n.name::name, c.oid, p.privilege)
                    ELSE pg_catalog.has_column_privilege($3::name, c.oid, a.attnum, p.privilege)
                        AND NOT pg_catalog.has_column_privilege(n.name::name, c.oid, a.attnum, p.privilege) END
                ORDER BY n.place, c.oid, p.number, a.attnum
                """, [names, quoted, first.name], on: connection)
        }
        guard let probe = settings.probe else { return }
        try await refuse(
            """
            SELECT r.rolname || CASE WHEN pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
                    AND pg_catalog.has_any_column_privilege(r.oid, c.oid, 'UPDATE')
                THEN ' may not see all rows of ' ELSE ' lacks SELECT, or UPDATE on a column, of ' END
                || c.oid::pg_catalog.regclass
            FROM pg_catalog.pg_roles r CROSS JOIN pg_catalog.unnest($2::text[]) AS t(name)
            JOIN pg_catalog.pg_class c ON c.oid = t.name::pg_catalog.regclass
            WHERE r.rolname = $1::name AND c.relrowsecurity AND NOT (
                pg_catalog.has_any_column_privilege(r.oid, c.oid, 'SELECT')
                AND pg_catalog.has_any_column_privilege(r.oid, c.oid, 'UPDATE')
                AND (r.rolsuper OR r.rolbypassrls
                    OR pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE') AND NOT c.relforcerowsecurity))
            ORDER BY c.oid
            """, [probe.name, quoted], setting: "RLS_PROBE_ROLE", on: connection)
    }

    /// Views of some tables, behind which rows are looked at as somebody whom the policies of a table do not bind.
    ///
    /// What a view names is looked at as its owner, unless it has `security_invoker`: then as whoever looks at the view.
    private static let viewsPastPolicies = """
        WITH RECURSIVE seen(root, relation, looker) AS (
            SELECT c.oid, c.oid, NULL::oid FROM pg_catalog.unnest($1::text[]) AS t(name)
            JOIN pg_catalog.pg_class c ON c.oid = t.name::pg_catalog.regclass WHERE c.relkind = 'v'
            UNION
            SELECT s.root, d.refobjid, CASE WHEN EXISTS (
                SELECT FROM pg_catalog.pg_options_to_table(v.reloptions) AS o
                WHERE o.option_name = 'security_invoker' AND o.option_value::boolean) THEN s.looker ELSE v.relowner END
            FROM seen s JOIN pg_catalog.pg_class v ON v.oid = s.relation AND v.relkind = 'v'
            JOIN pg_catalog.pg_rewrite w ON w.ev_class = v.oid
            JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass AND d.objid = w.oid
                AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass AND d.refobjid <> v.oid
        )
        SELECT DISTINCT s.root::pg_catalog.regclass::text || ' is a view behind which '
            || c.oid::pg_catalog.regclass::text || ' is looked at as ' || r.rolname::text
            || ', whom its policies do not bind: SET (security_invoker = true), or give the view to another role'
        FROM seen s JOIN pg_catalog.pg_class c ON c.oid = s.relation AND c.relrowsecurity
        JOIN pg_catalog.pg_roles r ON r.oid = s.looker
        WHERE r.rolsuper OR r.rolbypassrls
            OR pg_catalog.pg_has_role(r.oid, c.relowner, 'USAGE') AND NOT c.relforcerowsecurity
        ORDER BY 1
        """

    /// Tells of which tables the policies do not bind who has logged in: an owner, a superuser, or who has BYPASSRLS.
    ///
    /// - Parameters:
    ///   - tables: the tables.
    ///   - connection: the connection.
    /// - Returns: those of them that have row security, as SQL.
    /// - Throws: `PostgresError`, `CancellationError`.
    static func unbound(_ tables: UploadTables, on connection: PostgresConnection) async throws -> [String] {
        try await connection.query(
            """
            SELECT c.oid::pg_catalog.regclass::text FROM pg_catalog.unnest($1::text[]) AS t(name)
            JOIN pg_catalog.pg_class c ON c.oid = t.name::pg_catalog.regclass
            WHERE c.relrowsecurity AND NOT pg_catalog.row_security_active(c.oid) ORDER BY 1
            """, [arrayLiteral(Set(tables.tables.values.map(\.quoted)).sorted())]
        ).firstColumn
    }

    /// Refuses the start for what a question finds, each in a sentence.
    private static func refuse(
        _ question: String, _ parameters: [String?], setting: String = "DB_ROLES",
        on connection: PostgresConnection
    ) async throws {
        let found = try await connection.query(question, parameters).firstColumn
        guard !found.isEmpty else { return }
        let shown = found.prefix(10).joined(separator: "; ") + (found.count > 10 ? "; …" : "")
        throw BackendError(.configuration, "\(setting): \(shown)")
    }
}
