import PowerSyncPostgres

/// Brings the schema `psb` up to date, in one transaction; several may do so at once (backend 6.2).
package struct SchemaMigration: Sendable {
    /// What became of the event triggers.
    package enum Trigger: String, Sendable {
        /// They were made.
        case made
        /// They were there.
        case present
        /// They were there, and somebody has disabled one, which is left so.
        case disabled
        /// The role may not make them, or the server refuses them for another reason.
        case refused
        /// The server knows transactions in two phases, which could not be prepared any more: none are made, and those that
        /// are there say nothing.
        case twoPhase = "two-phase"
    }

    /// What was done.
    package struct Outcome: Sendable {
        /// The version that was found.
        package let found: Int
        /// The versions that were applied.
        package let applied: [Int]
        /// Whether the table of custom checkpoints was made.
        package let hasMadeCheckpoints: Bool
        /// What became of the event triggers; nil if nobody asked for them.
        package let trigger: Trigger?
        /// Why the server refused them; nil if it did not, or if a right is missing.
        package let refusal: String?
    }

    /// The roles that get the rights of a backend.
    package var roles: [String] = []
    /// Whether the table of custom checkpoints is wanted too (backend 5.2).
    package var hasCheckpoints = false
    /// How long it may take: a large ledger takes its time, and so does another backend that is at it.
    package var time = Duration.seconds(600)
    /// Whether changes shall be announced.
    package var hasTrigger = false

    /// Makes a migration without anything else.
    package init() {}

    /// Migrates.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Returns: what was done.
    /// - Throws: `BackendError`; `PostgresError`, with 42501 where the role lacks a right. Nothing is changed then.
    package func run(on connection: PostgresConnection) async throws -> Outcome {
        let deadline = ContinuousClock.now + time
        // Behind the lock, which is held to the end, what others have committed must be seen, whatever the database's
        // default is. The limits are those of uploads otherwise. Behind a lock on a table that we wait for its uploads wait,
        // too: not for longer than a minute. 0x505342 is "PSB".
        // Nothing that others may make in public is called by who is a superuser.
        try await connection.script(
            """
            BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = pg_catalog, pg_temp;
            SET LOCAL statement_timeout = \(time.milliseconds); SET LOCAL lock_timeout = \(time.milliseconds);
            SELECT pg_catalog.pg_advisory_xact_lock(\(0x505342)::bigint); SET LOCAL lock_timeout = '1min'
            """, until: deadline)
        let state = try await SchemaState(reading: connection)
        try state.refuseNewer()
        guard let found = state.version else { throw state.mustMigrate(hasCheckpoints: hasCheckpoints) }
        if hasCheckpoints { try state.refuseOtherCheckpoints() }
        try await refuseUnknownRoles(connection)
        let makesCheckpoints = hasCheckpoints && !state.hasCheckpoints
        if makesCheckpoints { try await connection.script(Self.checkpoints, until: deadline) }
        if let owner = state.owner {
            // Who is no superuser may give away only what the other may make, too.
            let given = makesCheckpoints && state.isSuperuser ? ["TABLE public.checkpoints"] : []
            try await act(as: owner, giving: given, connection, until: deadline)
        }
        try await migrate(from: found, connection, until: deadline)
        // The function of the event triggers must not be the owner's.
        if state.owner != nil { try await connection.script("RESET ROLE") }
        for role in roles { try await grant(role, connection) }
        let (trigger, refusal) = try await announce(state, connection)
        try await connection.script("COMMIT", until: deadline)
        return Outcome(
            found: found, applied: Array(1...BackendSchema.version).filter { $0 > found },
            hasMadeCheckpoints: makesCheckpoints, trigger: trigger, refusal: refusal)
    }

    /// Goes on as the owner of the schema, or what is made now would not be the owner's to change in the next version.
    ///
    /// What was left there to others is given to the owner first, as far as that is the connection's to give.
    private func act(
        as owner: String, giving objects: [String], _ connection: PostgresConnection,
        until deadline: ContinuousClock.Instant
    ) async throws {
        let strays = try await connection.query(
            """
            SELECT 'TABLE ' || c.oid::pg_catalog.regclass::text FROM pg_catalog.pg_class c
                JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = 'psb' AND c.relkind IN ('r', 'p') AND c.relowner <> n.nspowner
                AND pg_catalog.pg_has_role(c.relowner, 'USAGE')
            UNION ALL
            SELECT 'ROUTINE ' || p.oid::pg_catalog.regprocedure::text FROM pg_catalog.pg_proc p
                JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'psb' AND p.proname <> '\(CatalogAnnouncement.function)' AND p.proowner <> n.nspowner
                AND pg_catalog.pg_has_role(p.proowner, 'USAGE')
            """, until: deadline)
        let given = objects + (0..<strays.rowCount).compactMap { strays[$0, 0] }
        let role = quoteIdentifier(owner)
        let statements = given.map { "ALTER \($0) OWNER TO \(role)" } + ["SET LOCAL ROLE \(role)"]
        try await connection.script(statements.joined(separator: "; "), until: deadline)
    }

    private func migrate(
        from found: Int, _ connection: PostgresConnection, until deadline: ContinuousClock.Instant
    ) async throws {
        if found == 0 {
            // CREATE SCHEMA IF NOT EXISTS wants the right to create one even where there is one.
            let schema = try await connection.query(
                "SELECT FROM pg_catalog.pg_namespace WHERE nspname = 'psb'")
            if schema.rowCount == 0 { try await connection.script("CREATE SCHEMA psb") }
            try await connection.script(
                """
                CREATE TABLE IF NOT EXISTS psb.schema_migrations (version integer PRIMARY KEY,
                    applied_at timestamptz NOT NULL DEFAULT now())
                """)
        }
        for (index, migration) in BackendSchema.migrations.enumerated().dropFirst(found) {
            try await connection.script(migration, until: deadline)
            try await connection.query(
                "INSERT INTO psb.schema_migrations (version) VALUES ($1::integer)", [String(index + 1)],
                until: deadline)
        }
    }

    private static let checkpoints = """
        CREATE TABLE public.checkpoints (user_id text NOT NULL, client_id text NOT NULL, checkpoint bigint NOT NULL,
            PRIMARY KEY (user_id, client_id))
        """

    private func refuseUnknownRoles(_ connection: PostgresConnection) async throws {
        for role in roles {
            let known = try await connection.query(
                "SELECT FROM pg_catalog.pg_roles WHERE rolname = $1::text", [role])
            guard known.rowCount == 1 else {
                throw BackendError(
                    .database, "there is no role \"\(role)\" on this server; nothing is changed")
            }
        }
    }

    private func grant(_ role: String, _ connection: PostgresConnection) async throws {
        try await SchemaRights.grant(role, hasCheckpoints: hasCheckpoints, on: connection)
        // Who may use a table and not grant it is only warned by Postgres.
        let missing = try await SchemaRights.missing(
            for: role, hasCheckpoints: hasCheckpoints, on: connection)
        guard missing.isEmpty else {
            throw BackendError(
                .database,
                "these rights are not this role's to grant to \"\(role)\": \(missing.joined(separator: ", ")); "
                    + "nothing is changed")
        }
    }

    private func announce(
        _ state: SchemaState, _ connection: PostgresConnection
    ) async throws -> (Trigger?, refusal: String?) {
        guard hasTrigger else { return (nil, nil) }
        guard !state.hasPreparedTransactions else { return (.twoPhase, nil) }
        guard !state.hasTrigger else { return (state.hasDisabledTrigger ? .disabled : .present, nil) }
        try await connection.script("SAVEPOINT announcement")
        do {
            try await connection.script(CatalogAnnouncement.sql)
            return (.made, nil)
        } catch let error as PostgresError where error.code == .server && !error.isConnectionLost {
            // Nothing depends on them, and a start has not even asked: a team may have a trigger of the same name.
            try await connection.script("ROLLBACK TO SAVEPOINT announcement")
            return (.refused, error.sqlstate == "42501" ? nil : error.message)
        }
    }
}

extension BackendSchema {
    /// Sees to it, at the start of a backend, that the schema is there, at the present version, and may be used.
    ///
    /// Nothing is tried where nothing is to be done.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - hasCheckpoints: whether the table of custom checkpoints is used.
    ///   - time: how long a migration may take.
    /// - Throws: `BackendError` that says what to do, `PostgresError`.
    static func prepare(
        _ connection: PostgresConnection, hasCheckpoints: Bool, within time: Duration
    ) async throws {
        let state = try await SchemaState(reading: connection)
        try state.refuseNewer()
        guard let found = state.version else { throw state.mustMigrate(hasCheckpoints: hasCheckpoints) }
        // Others may not make event triggers, and would leave an error in the server's log at each start.
        let makesTrigger = state.isSuperuser && !state.hasTrigger && !state.hasPreparedTransactions
        if found < version || hasCheckpoints && !state.hasCheckpoints || makesTrigger {
            var migration = SchemaMigration()
            migration.hasCheckpoints = hasCheckpoints
            migration.time = time
            migration.hasTrigger = makesTrigger
            do {
                _ = try await migration.run(on: connection)
            } catch let error as PostgresError where error.sqlstate == "42501" {
                guard found == version else { throw state.mustMigrate(hasCheckpoints: hasCheckpoints) }
                throw state.lacks(
                    ["CREATE ON SCHEMA public, for public.checkpoints"], hasCheckpoints: hasCheckpoints)
            }
        }
        let missing = try await SchemaRights.missing(
            for: state.role, hasCheckpoints: hasCheckpoints, on: connection)
        guard missing.isEmpty else { throw state.lacks(missing, hasCheckpoints: hasCheckpoints) }
    }
}
