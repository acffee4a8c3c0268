import PowerSyncPostgres

/// What a database has of the schema `psb`, as far as can be seen without any right on it.
package struct SchemaState: Sendable, Hashable {
    /// The version that the schema has: 0 without one, nil where the role may not read it.
    package let version: Int?
    /// Whether there is the table of custom checkpoints as a migration makes it (backend 5.2).
    package let hasCheckpoints: Bool
    /// Whether something else has its name, an app's table or view.
    package let hasOtherCheckpoints: Bool
    /// Whether there are the event triggers that announce changed tables (backend 8.5).
    package let hasTrigger: Bool
    /// Whether somebody has disabled one of them.
    package let hasDisabledTrigger: Bool
    /// Whether the server knows transactions in two phases, in which nobody may announce anything.
    package let hasPreparedTransactions: Bool
    /// The role that looked.
    package let role: String
    /// Whether it is a superuser.
    package let isSuperuser: Bool
    /// The role that owns the schema, where that is another one as which this one may act.
    package let owner: String?

    /// Looks at a database.
    ///
    /// - Parameter connection: within a transaction or outside of one.
    /// - Throws: `PostgresError`.
    package init(reading connection: PostgresConnection) async throws {
        let found = try await connection.query(
            """
            SELECT r.rolname::text, r.rolsuper::text, (m.oid IS NOT NULL)::text,
                (pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(m.oid, 'SELECT'))::text,
                (SELECT count(*) FROM pg_catalog.pg_event_trigger e JOIN pg_catalog.pg_proc p ON p.oid = e.evtfoid
                    WHERE p.pronamespace = n.oid AND p.proname = '\(CatalogAnnouncement.function)')::text,
                (SELECT (\(BackendSchema.isOwnCheckpoints("c.oid")))::text
                    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace s ON s.oid = c.relnamespace
                    WHERE s.nspname = 'public' AND c.relname = 'checkpoints'),
                pg_catalog.current_setting('max_prepared_transactions'),
                EXISTS (SELECT FROM pg_catalog.pg_event_trigger e JOIN pg_catalog.pg_proc p ON p.oid = e.evtfoid
                    WHERE p.pronamespace = n.oid AND p.proname = '\(CatalogAnnouncement.function)'
                        AND e.evtenabled IN ('D', 'R'))::text,
                CASE WHEN n.nspowner <> r.oid AND pg_catalog.pg_has_role(n.nspowner, CASE
                        WHEN pg_catalog.current_setting('server_version_num')::integer < 160000 THEN 'MEMBER'
                        ELSE 'SET' END)
                    THEN pg_catalog.pg_get_userbyid(n.nspowner)::text END
            FROM pg_catalog.pg_roles r LEFT JOIN pg_catalog.pg_namespace n ON n.nspname = 'psb'
                LEFT JOIN pg_catalog.pg_class m ON m.relnamespace = n.oid AND m.relname = 'schema_migrations'
            WHERE r.rolname = current_user
            """)
        guard found.rowCount == 1, let role = found[0, 0] else {
            throw PostgresError(.malformedMessage, "the role of the connection is not in pg_roles")
        }
        self.role = role
        isSuperuser = found[0, 1] == "true"
        hasTrigger = found[0, 4] == String(CatalogAnnouncement.events.count)
        hasCheckpoints = found[0, 5] == "true"
        hasOtherCheckpoints = found[0, 5] == "false"
        hasPreparedTransactions = found[0, 6] != "0"
        hasDisabledTrigger = found[0, 7] == "true"
        owner = found[0, 8]
        guard found[0, 2] == "true" else {
            version = 0
            return
        }
        guard found[0, 3] == "true" else {
            version = nil
            return
        }
        let version = try await connection.query(
            "SELECT coalesce(max(version), 0)::text FROM psb.schema_migrations")
        self.version = version.scalar.flatMap { Int($0) } ?? 0
    }

    /// Refuses a schema that a newer backend has made.
    ///
    /// - Throws: `BackendError` that says what to do.
    package func refuseNewer() throws(BackendError) {
        guard let version, version > BackendSchema.version else { return }
        throw BackendError(
            .database,
            "the schema psb of this database has version \(version), and this powersync-backend knows it up to version "
                + "\(BackendSchema.version): use the powersync-backend that brought it there, or a newer one; psb never "
                + "goes back to an earlier version")
    }

    /// Refuses to take what an app has under the name of the table of custom checkpoints for that table.
    ///
    /// - Throws: `BackendError` that says what to do.
    func refuseOtherCheckpoints() throws(BackendError) {
        guard hasOtherCheckpoints else { return }
        throw BackendError(
            .database,
            "public.checkpoints of this database is not the table that powersync-backend migrate --checkpoints makes "
                + "(user_id text, client_id text, checkpoint bigint, the first two its primary key): give it another "
                + "name, or do without custom checkpoints (CHECKPOINT_MODE); nothing is changed")
    }

    /// Requires the version that this backend works with.
    ///
    /// - Parameter hasCheckpoints: whether the table of custom checkpoints is used.
    /// - Throws: `BackendError` that says what to do.
    package func requireCurrent(hasCheckpoints: Bool = false) throws(BackendError) {
        try refuseNewer()
        guard version == BackendSchema.version else { throw mustMigrate(hasCheckpoints: hasCheckpoints) }
    }

    /// Says that this role cannot bring the schema up to date, and who can.
    func mustMigrate(hasCheckpoints: Bool) -> BackendError {
        let wanted = "this powersync-backend needs version \(BackendSchema.version)"
        let found =
            switch version {
            case 0: "the database has no schema psb, \(wanted), and the role \"\(role)\" may not make it"
            case let version?:
                "the schema psb of this database has version \(version), \(wanted), and the role \"\(role)\" may not "
                    + "change it"
            case nil: "the role \"\(role)\" may not read the schema psb of this database, \(wanted)"
            }
        return BackendError(.database, found + remedy(hasCheckpoints))
    }

    /// Says that rights are missing, and who can grant them.
    func lacks(_ rights: [String], hasCheckpoints: Bool) -> BackendError {
        BackendError(
            .database,
            "the role \"\(role)\" lacks \(rights.joined(separator: ", "))" + remedy(hasCheckpoints))
    }

    private func remedy(_ hasCheckpoints: Bool) -> String {
        "; run `powersync-backend migrate --role \(roleInShell)\(hasCheckpoints ? " --checkpoints" : "")` with the "
            + "DATABASE_URI of an owner of the database"
    }

    /// The role as one word of a shell.
    private var roleInShell: String {
        let isPlain = role.utf8.allSatisfy { byte in
            let letter = byte | 0x20
            return (0x61...0x7A).contains(letter) || (0x30...0x39).contains(byte) || byte == 0x5F
                || byte == 0x2D
        }
        let escaped = role.replacing("'", with: #"'\''"#)
        return isPlain ? role : "'" + escaped + "'"
    }
}
