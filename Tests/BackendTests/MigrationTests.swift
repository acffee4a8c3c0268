import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Who brings the schema psb up to date, and what happens where somebody may not (backend 6.2).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct MigrationTests {
    private static let all = Array(1...BackendSchema.version)

    /// The versions in the database.
    private func versions(_ two: TwoRoles) async throws -> String? {
        try await two.asSuperuser(
            "SELECT string_agg(version::text, ' ' ORDER BY version) FROM psb.schema_migrations")
    }

    /// Starts a backend and returns why that was refused.
    private func refusal(_ uri: String, checkpoints: Bool = false) async throws -> String? {
        do {
            let backend = try await TestBackend.start(schema: "SELECT 1", uri: uri, map: TwoRoles.map) {
                $0.hasCustomCheckpoints = checkpoints
            }
            await backend.stop()
            return nil
        } catch let error as BackendError {
            #expect(error.code == .database)
            return error.message
        }
    }

    /// The schema of the first backends.
    private func makeFirst(_ two: TwoRoles) async throws {
        try await two.asOwner(
            """
            CREATE SCHEMA psb;
            CREATE TABLE psb.schema_migrations (version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
            INSERT INTO psb.schema_migrations (version) VALUES (1);
            \(BackendSchema.firstMigration)
            """)
    }

    // MARK: The command

    @Test func theCommandSaysWhatItDid() async throws {
        try await TwoRoles.with { two in
            let desk = OperatorDesk(uri: two.owner)
            let first = await desk.run("migrate", "--role", two.backendRole)
            #expect(first.status == 0)
            #expect(first.text.hasPrefix("The schema psb was made and has version \(BackendSchema.version)"))
            #expect(first.text.contains("  SELECT, INSERT, DELETE ON TABLE psb.ledger\n"))
            #expect(first.text.contains("tables of your app are yours to grant"))
            #expect(first.text.contains("No event triggers, which a superuser may make"))
            #expect(try await refusal(two.backend) == nil)
            let again = await desk.run("migrate", "--checkpoints")
            #expect(again.status == 0)
            #expect(
                again.text.hasPrefix("The schema psb has version \(BackendSchema.version), as it should."))
            #expect(again.text.contains("public.checkpoints was made"))
            #expect(again.text.contains("No role was granted anything"))
            let json = try await OperatorDesk(uri: two.superuser).run(
                "migrate", "--role", two.backendRole, "--checkpoints", "--json"
            ).json
            #expect(json["found"] == .integer(BackendSchema.version) && json["applied"] == .array([]))
            #expect(json["roles"] == .array([.string(two.backendRole)]))
            #expect(
                json["rights"]?.arrayValue?.last
                    == .string("SELECT, INSERT, UPDATE, DELETE ON TABLE public.checkpoints"))
            #expect(json["event_trigger"] == .string("made"))
            let last = await OperatorDesk(uri: two.superuser).run("migrate")
            #expect(last.text.contains("Event triggers are there"))
        }
    }

    /// Until Postgres 14 every role may make functions in public, and one for exactly the types of a call is taken first.
    @Test func whatOthersHaveMadeInPublicIsNotCalled() async throws {
        try await TwoRoles.with { two in
            let signatures = [
                "pg_advisory_xact_lock(integer) RETURNS void", "unnest(text[]) RETURNS SETOF text",
                "concat_ws(text, smallint, name, regtype) RETURNS text",
            ]
            let functions = signatures.map {
                "CREATE FUNCTION public.\($0) LANGUAGE plpgsql AS $$ BEGIN RAISE 'public was called'; END $$;"
            }
            try await two.asSuperuser(functions.joined(separator: "\n"))
            let desk = OperatorDesk(uri: two.superuser)
            // The second looks at the table that the first has made.
            for _ in 0..<2 {
                let done = await desk.run("migrate", "--role", two.backendRole, "--checkpoints")
                #expect(done.status == 0, "\(done.errors)")
            }
            #expect(try await refusal(two.backend, checkpoints: true) == nil)
        }
    }

    /// Whoever disabled it meant it, and is not told that changes are heard of.
    @Test func anEventTriggerThatIsDisabledStaysSo() async throws {
        try await TwoRoles.with { two in
            let desk = OperatorDesk(uri: two.superuser)
            #expect(try await desk.run("migrate", "--json").json["event_trigger"] == .string("made"))
            try await two.asSuperuser("ALTER EVENT TRIGGER psb_catalog_drop DISABLE")
            let text = await desk.run("migrate").text
            #expect(text.contains("An event trigger is there and disabled") && text.contains("30 seconds"))
            #expect(try await desk.run("migrate", "--json").json["event_trigger"] == .string("disabled"))
            let states = "SELECT string_agg(evtenabled::text, ' ' ORDER BY evtname) FROM pg_event_trigger"
            #expect(try await two.asSuperuser(states) == "O D")
        }
    }

    /// Nothing depends on ours, so it is no reason to end a migration, or a start that has not even asked for one.
    @Test func anEventTriggerOfTheTeamsOwnOfThatNameEndsNothing() async throws {
        try await TwoRoles.with { two in
            try await two.asSuperuser(
                """
                CREATE FUNCTION theirs() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN END $$;
                CREATE EVENT TRIGGER psb_catalog ON ddl_command_end EXECUTE FUNCTION theirs()
                """)
            let done = await OperatorDesk(uri: two.superuser).run("migrate", "--role", two.backendRole)
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.text.contains("which the server refuses (") && done.text.contains("already exists"))
            #expect(try await versions(two) == Self.all.map { String($0) }.joined(separator: " "))
            #expect(
                try await two.asSuperuser(
                    "SELECT string_agg(evtname || ' ' || evtfoid::regproc, ',') FROM pg_event_trigger")
                    == "psb_catalog theirs")
            #expect(try await refusal(two.superuser) == nil)
        }
    }

    @Test func aRoleIsTakenAsItIsSpelledAndMustBeThere() async throws {
        try await TwoRoles.with { two in
            let name = "We\"ird \(two.backendRole)"
            let unknown = await #expect(throws: BackendError.self) {
                try await two.migrate { $0.roles = [two.backendRole, name] }
            }
            #expect(unknown?.message.contains("there is no role \"\(name)\"") == true)
            #expect(try await two.asSuperuser("SELECT to_regnamespace('psb')::text") == nil)
            try await two.asSuperuser("CREATE ROLE \(quoteIdentifier(name))")
            try await two.migrate { $0.roles = [two.backendRole, name] }
            let may = "has_table_privilege(\(quoteLiteral(name)), 'psb.ledger', 'INSERT')"
            #expect(try await two.asSuperuser("SELECT \(may)") == "t")
            try await two.asSuperuser(
                "DROP OWNED BY \(quoteIdentifier(name)); DROP ROLE \(quoteIdentifier(name))")
        }
    }

    @Test func whoMayNotMigrateOrGrantChangesNothing() async throws {
        try await TwoRoles.with { two in
            let refused = await OperatorDesk(uri: two.backend).run("migrate")
            #expect(refused.status == 1)
            #expect(refused.errors.contains("nothing is changed. The first time a role with CREATE"))
            #expect(try await two.asSuperuser("SELECT to_regnamespace('psb')::text") == nil)
            try await two.migrate { $0.roles = [two.backendRole] }
            let owner = try #require(try await two.asOwner("SELECT current_user::text"))
            try await two.asSuperuser("CREATE ROLE third_\(two.backendRole)")
            // A warning is all that Postgres has for it.
            let error = await #expect(throws: BackendError.self) {
                try await two.migrate(as: two.backend) { $0.roles = ["third_\(two.backendRole)"] }
            }
            #expect(error?.message.contains("SELECT ON TABLE psb.schema_migrations") == true)
            try await two.asSuperuser("DROP ROLE third_\(two.backendRole)")
            #expect(
                try await two.asSuperuser(
                    "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'psb'") == owner)
        }
    }

    @Test func theCommandHasTheTimeThatTheEnvironmentSays() async throws {
        try await TwoRoles.with { two in
            let endless = OperatorDesk(uri: two.owner, environment: ["MIGRATION_TIMEOUT": "25h"])
            let wrong = await endless.run("migrate")
            #expect(wrong.status == 1 && wrong.errors.hasPrefix("error: MIGRATION_TIMEOUT must be from 1 to"))
            let poller = try Poller()
            defer { poller.stop() }
            let gate = try await DatabaseGate(two.superuser, poller, key: 0x505342)
            let desk = OperatorDesk(uri: two.owner, environment: ["MIGRATION_TIMEOUT": "2h"])
            async let done = desk.run("migrate")
            try await gate.waitForArrivals()
            let statement = try await two.asSuperuser(
                """
                SELECT query FROM pg_stat_activity
                WHERE datname = current_database() AND query LIKE 'BEGIN ISOLATION LEVEL%'
                """)
            #expect(statement?.contains("SET LOCAL statement_timeout = 7200000;") == true)
            try await gate.open()
            #expect(await done.status == 0)
        }
    }

    /// What lies in psb and is not its owner's.
    private static let strays = """
        SELECT string_agg(o.name, ' ' ORDER BY o.name) FROM (
            SELECT relname, relowner, relnamespace FROM pg_class
            UNION ALL SELECT proname, proowner, pronamespace FROM pg_proc) AS o (name, owner, place)
        JOIN pg_namespace n ON n.oid = o.place AND n.nspname = 'psb' AND n.nspowner <> o.owner
        """

    @Test func whatASuperuserMigratesIsTheOwnersToMigrateNext() async throws {
        try await TwoRoles.with { two in
            try await makeFirst(two)
            let done = await OperatorDesk(uri: two.superuser).run("migrate", "--checkpoints")
            #expect(done.status == 0, "\(done.errors)")
            #expect(done.text.contains("Event triggers were made"))
            #expect(try await versions(two) == Self.all.map { String($0) }.joined(separator: " "))
            #expect(try await two.asSuperuser(Self.strays) == "announce_catalog")
            // All of it is the owner's to grant.
            try await two.migrate {
                $0.roles = [two.backendRole]
                $0.hasCheckpoints = true
            }
            #expect(try await refusal(two.backend, checkpoints: true) == nil)
            // An earlier superuser kept what it made.
            try await two.asSuperuser(
                """
                ALTER FUNCTION psb.take_letter(uuid, integer, boolean) OWNER TO CURRENT_USER;
                ALTER TABLE psb.ledger OWNER TO CURRENT_USER
                """)
            try await two.migrate(as: two.superuser) { $0.hasTrigger = true }
            #expect(try await two.asSuperuser(Self.strays) == "announce_catalog")
        }
    }

    @Test func whatAMemberOfTheOwnerMigratesIsTheOwners() async throws {
        try await TwoRoles.with { two in
            try await makeFirst(two)
            let owner = try #require(try await two.asOwner("SELECT current_user::text"))
            let member = "member_of_\(owner)"
            let login = try TestRole.login(two.superuser)
            try await two.asSuperuser("CREATE ROLE \(member) \(login); GRANT \(owner) TO \(member)")
            let uri = TestRole.uri(two.owner, as: member)
            #expect(try await two.migrate(as: uri).applied == Array(Self.all.dropFirst()))
            #expect(try await two.asSuperuser(Self.strays) == nil)
            try await two.asSuperuser("DROP OWNED BY \(member); DROP ROLE \(member)")
        }
    }

    @Test func severalAtOnceDoItOnce() async throws {
        try await TwoRoles.with { two in
            let poller = try Poller()
            defer { poller.stop() }
            // The lock of the migrations holds all of them until the last has come.
            let gate = try await DatabaseGate(two.superuser, poller, key: 0x505342)
            let applied = try await withThrowingTaskGroup(of: [Int].self) { group in
                for _ in 0..<4 {
                    group.addTask { try await two.migrate { $0.roles = [two.backendRole] }.applied }
                }
                try await gate.waitForArrivals(4)
                try await gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(applied.sorted { $0.count < $1.count } == [[], [], [], Self.all])
            #expect(try await refusal(two.backend) == nil)
        }
    }

    // MARK: The start

    @Test func whereNothingIsToBeDoneNothingIsTried() async throws {
        try await TwoRoles.with { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            let poller = try Poller()
            defer { poller.stop() }
            // Whoever migrates would wait here.
            let gate = try await DatabaseGate(two.superuser, poller, key: 0x505342)
            #expect(try await refusal(two.backend) == nil)
            #expect(try await refusal(two.owner) == nil)
            try await gate.open()
        }
    }

    @Test func aStartMigratesWhereItMay() async throws {
        try await TwoRoles.with { two in
            try await makeFirst(two)
            #expect(try await refusal(two.owner) == nil)
            #expect(try await versions(two) == Self.all.map { String($0) }.joined(separator: " "))
            try await two.asOwner("DROP SCHEMA psb CASCADE")
            #expect(try await refusal(two.owner) == nil)
            // A schema that somebody has made for a role is that role's to fill.
            try await two.asOwner("DROP SCHEMA psb CASCADE")
            try await two.asSuperuser("CREATE SCHEMA psb AUTHORIZATION \(two.backendRole)")
            #expect(try await refusal(two.backend) == nil)
            #expect(try await versions(two) == Self.all.map { String($0) }.joined(separator: " "))
        }
    }

    @Test func aStartThatMayNotSaysWhoCan() async throws {
        try await TwoRoles.with { two in
            let command = "run `powersync-backend migrate --role \(two.backendRole)`"
            let wanted = "needs version \(BackendSchema.version)"
            let none = try #require(try await refusal(two.backend))
            #expect(none.contains("no schema psb") && none.contains(wanted) && none.contains(command))
            let both = try #require(try await refusal(two.backend, checkpoints: true))
            #expect(both.contains("migrate --role \(two.backendRole) --checkpoints`"))
            try await makeFirst(two)
            let unreadable = try #require(try await refusal(two.backend))
            #expect(unreadable.contains("may not read") && unreadable.contains(command))
            try await two.asOwner(
                """
                GRANT USAGE ON SCHEMA psb TO \(two.backendRole);
                GRANT ALL ON ALL TABLES IN SCHEMA psb TO \(two.backendRole)
                """)
            let old = try #require(try await refusal(two.backend))
            #expect(old.contains("has version 1") && old.contains(wanted) && old.contains(command))
            #expect(try await versions(two) == "1")
            try await two.migrate()
            let poor = try #require(try await refusal(two.backend))
            #expect(poor.contains("INSERT ON TABLE psb.ledger") && poor.contains(command))
            #expect(!poor.contains("psb.dead_letters"), "what it has is not asked for")
            try await two.migrate { $0.roles = [two.backendRole] }
            #expect(try await refusal(two.backend) == nil)
            let checkpoints = try #require(try await refusal(two.backend, checkpoints: true))
            #expect(checkpoints.contains("migrate --role \(two.backendRole) --checkpoints`"))
        }
    }

    @Test func theCommandThatIsNamedCanBeRunAsItStands() async throws {
        try await TwoRoles.with { two in
            let role = "it's \(two.backendRole)"
            try await two.asSuperuser("CREATE ROLE \(quoteIdentifier(role))")
            let poller = try Poller()
            defer { poller.stop() }
            let connection = try await PostgresConnection.connect(two.superuser, poller: poller)
            try await connection.script("SET ROLE \(quoteIdentifier(role))")
            let state = try await SchemaState(reading: connection)
            await connection.close()
            let error = #expect(throws: BackendError.self) { try state.requireCurrent() }
            #expect(error?.message.contains(#"migrate --role 'it'\''s \#(two.backendRole)'`"#) == true)
            try await two.asSuperuser("DROP ROLE \(quoteIdentifier(role))")
        }
    }

    /// Neither rights on it nor writes to it are the backend's.
    @Test(arguments: [
        "CREATE TABLE public.checkpoints (id integer PRIMARY KEY, user_id text, level integer)",
        """
        CREATE TABLE public.checkpoints (user_id text NOT NULL, client_id text NOT NULL, checkpoint bigint NOT NULL,
            reached boolean, PRIMARY KEY (user_id, client_id))
        """,
        "CREATE VIEW public.checkpoints AS SELECT 'u1' AS user_id, 'c' AS client_id, 1::bigint AS checkpoint",
        "CREATE SEQUENCE public.checkpoints",
    ])
    func checkpointsOfTheAppAreNotTakenForTheBackends(relation: String) async throws {
        try await TwoRoles.with { two in
            try await two.asOwner(relation)
            let answer = await OperatorDesk(uri: two.owner).run(
                "migrate", "--role", two.backendRole, "--checkpoints")
            #expect(answer.status == 1 && answer.text.isEmpty)
            #expect(answer.errors.hasPrefix("error: public.checkpoints of this database is not the table"))
            #expect(try await two.asSuperuser("SELECT to_regnamespace('psb')::text") == nil)
            let rights = "SELECT relacl::text FROM pg_class WHERE oid = 'public.checkpoints'::regclass"
            #expect(try await two.asSuperuser(rights) == nil)
            // Without custom checkpoints it is nobody's business.
            try await two.migrate { $0.roles = [two.backendRole] }
            #expect(try await refusal(two.backend) == nil)
            let refused = try await refusal(two.backend, checkpoints: true)
            #expect(refused?.contains("public.checkpoints of this database is not the table") == true)
        }
    }

    @Test func aNewerSchemaIsRefused() async throws {
        try await TwoRoles.with { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            let newer = BackendSchema.version + 1
            try await two.asOwner("INSERT INTO psb.schema_migrations (version) VALUES (\(newer))")
            for uri in [two.owner, two.backend] {
                let message = try #require(try await refusal(uri))
                #expect(message.contains("has version \(newer)") && message.contains("or a newer one"))
            }
            let error = await #expect(throws: BackendError.self) { try await two.migrate() }
            #expect(error?.message.contains("up to version \(BackendSchema.version)") == true)
            #expect(try await versions(two)?.hasSuffix(" \(newer)") == true)
        }
    }
}
