import Foundation
import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// As whom the app's tables are written (backend 2.9).
struct RoleChoiceTests {
    @Test(arguments: [
        ("{}", "first"), (#"{"role":"second"}"#, "second"), (#"{"role":"first"}"#, "first"),
        (#"{"other":"second"}"#, "first"), (#"{"role":"third"}"#, nil), (#"{"role":"SECOND"}"#, nil),
        (#"{"role":"none"}"#, nil), (#"{"role":""}"#, nil), (#"{"role":null}"#, nil), (#"{"role":7}"#, nil),
        (#"{"role":["second"]}"#, nil),
    ])
    func aClaimChoosesAmongTheListedRoles(claims: String, role: String?) throws {
        var settings = RoleSettings()
        settings.roles = try ["first", "second"].map { try #require(DatabaseRole($0)) }
        settings.claim = "role"
        let json = try JSON.parse(claims)
        if let role {
            #expect(try settings.role(for: json)?.name == role)
        } else {
            let problem = #expect(throws: Problem.self) { try settings.role(for: json) }
            #expect(problem?.status == 403)
            #expect(problem?.code == "ROLE_NOT_ALLOWED")
        }
    }

    @Test func withoutAClaimTheFirstIsEverybodys() throws {
        var settings = RoleSettings()
        #expect(try settings.role(for: .object([JSONMember("role", .string("x"))])) == nil)
        settings.roles = try ["first", "second"].map { try #require(DatabaseRole($0)) }
        #expect(try settings.role(for: .object([JSONMember("role", .string("second"))]))?.name == "first")
    }
}

/// The same with a database: who has logged in owns nothing and has no right on the app's tables.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct RoleTests {
    private struct Roles: Sendable {
        let two: TwoRoles
        let app: String
        let other: String
        let probe: String

        /// Settings with the roles in this order.
        func settings(
            _ names: [String], claim: String? = nil, isStrict: Bool = false
        ) throws -> RoleSettings {
            var settings = RoleSettings()
            settings.roles = try names.map { try #require(DatabaseRole($0)) }
            settings.claim = claim
            if isStrict { settings.probe = DatabaseRole(probe) }
            return settings
        }

        /// Runs a test with a backend that takes roles.
        func with(
            _ settings: RoleSettings, map: String = RoleTests.map, store: (any ObjectStore)? = nil,
            _ change: (inout BackendConfiguration) -> Void = { _ in },
            _ body: (TestBackend) async throws -> Void
        ) async throws {
            try await TestBackend.with(
                schema: "SELECT 1", uri: two.backend, map: map, store: store,
                {
                    $0.roles = settings
                    change(&$0)
                }, body)
        }

        /// Why a backend does not start.
        func refusal(_ settings: RoleSettings) async throws -> String? {
            let error = await #expect(throws: BackendError.self) { try await with(settings) { _ in } }
            #expect(error?.code == .configuration)
            return error?.message
        }
    }

    private static let map = "tables: { notes: { owner: owner_id, attachments: [photo_id] } }"
    private static let tables = """
        CREATE TABLE notes (id text PRIMARY KEY, owner_id text NOT NULL, body text CHECK (body <> 'bad'), who text,
            photo_id text);
        INSERT INTO notes VALUES ('mine', 'alice', 'old', NULL, 'photo'), ('theirs', 'bob', 'secret', NULL, 'his');
        ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
        CREATE POLICY own ON notes USING (owner_id = current_setting('app.user_id', true));
        CREATE TABLE seen (what text);
        CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN NEW.who = current_user; RETURN NEW; END $$;
        CREATE TRIGGER stamps BEFORE INSERT OR UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION stamp();
        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN INSERT INTO seen VALUES (current_user || ' for ' || session_user); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER sees AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
            EXECUTE FUNCTION see();
        """

    private func withRoles(_ body: (Roles) async throws -> Void) async throws {
        try await TwoRoles.with(tables: Self.tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            let roles = Roles(
                two: two, app: "app_of_\(two.backendRole)", other: "other_of_\(two.backendRole)",
                probe: "probe_of_\(two.backendRole)")
            let all = "\(roles.app), \(roles.other), \(roles.probe)"
            try await two.asSuperuser(
                """
                CREATE ROLE \(roles.app); CREATE ROLE \(roles.other); CREATE ROLE \(roles.probe) BYPASSRLS;
                GRANT \(all) TO \(two.backendRole); ALTER ROLE \(two.backendRole) NOINHERIT;
                REVOKE ALL ON ALL TABLES IN SCHEMA public FROM \(two.backendRole);
                GRANT SELECT, INSERT, UPDATE, DELETE ON notes, seen TO \(roles.app), \(roles.other);
                GRANT SELECT, UPDATE (id) ON notes TO \(roles.probe)
                """)
            do {
                try await body(roles)
            } catch {
                try await two.asSuperuser("DROP OWNED BY \(all) CASCADE; DROP ROLE \(all)")
                throw error
            }
            try await two.asSuperuser("DROP OWNED BY \(all) CASCADE; DROP ROLE \(all)")
        }
    }

    private func operation(_ kind: String, _ id: String, body: String = "new") -> String {
        let data = kind == "DELETE" ? "" : #","data":{"body":"\#(body)"}"#
        return #"{"op":"\#(kind)","table":"notes","id":"\#(id)"\#(data)}"#
    }

    private func batch(_ operations: [String]) -> String {
        "{\"batch\":[\(operations.joined(separator: ","))]}"
    }

    // MARK: Writing

    /// Deferred triggers, which run with the commit, too; the ledger and the letters are nobody's but the login role's.
    @Test func rowsAreWrittenAsTheRoleAndWhatTheBackendKeepsIsNot() async throws {
        try await withRoles { roles in
            try await roles.with(roles.settings([roles.app])) { backend in
                let put = try await backend.apply(operation("PUT", "new"), user: "alice")
                #expect(put == "applied")
                let patch = try await backend.apply(operation("PATCH", "mine"), user: "alice")
                #expect(patch == "applied")
                let bad = try await backend.apply(operation("PUT", "new", body: "bad"), user: "alice")
                #expect(bad == "CHECK_VIOLATION")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.commits WHERE verdict = 1") == "2")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
            }
            let two = roles.two
            let who = "SELECT string_agg(who, ' ' ORDER BY id) FROM notes WHERE owner_id = 'alice'"
            #expect(try await two.asSuperuser(who) == "\(roles.app) \(roles.app)")
            let seen = "SELECT string_agg(DISTINCT what, '|') FROM seen"
            #expect(try await two.asSuperuser(seen) == "\(roles.app) for \(two.backendRole)")
        }
    }

    @Test func policiesHoldForTheRole() async throws {
        try await withRoles { roles in
            try await roles.with(roles.settings([roles.app]), map: "tables: { notes: }") { backend in
                for kind in ["PATCH", "DELETE"] {
                    for id in ["theirs", "none"] {
                        let state = try await backend.apply(operation(kind, id), user: "alice")
                        #expect(state == "noop", "\(kind) \(id)")
                    }
                }
                let put =
                    #"{"op":"PUT","table":"notes","id":"theirs","data":{"owner_id":"alice","body":"x"}}"#
                let state = try await backend.apply(put, user: "alice")
                #expect(state == "UNAUTHORIZED")
            }
            let body = try await roles.two.asSuperuser("SELECT body FROM notes WHERE id = 'theirs'")
            #expect(body == "secret")
        }
    }

    /// The claim is the subject here, since tokens of development have no other.
    @Test func aClaimChoosesTheRole() async throws {
        try await withRoles { roles in
            let settings = try roles.settings([roles.app, roles.other], claim: "sub")
            try await roles.with(settings) { backend in
                let put = try await backend.apply(operation("PUT", "new"), user: roles.other)
                #expect(put == "applied")
                let answer = try await backend.upload(batch([operation("PUT", "no")]), user: "mallory")
                #expect(answer.status == 403)
                #expect(answer.json["code"]?.stringValue == "ROLE_NOT_ALLOWED")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            }
            let who = "SELECT string_agg(who, ' ') FROM notes WHERE id IN ('new', 'no')"
            #expect(try await roles.two.asSuperuser(who) == roles.other)
        }
    }

    @Test func ofABatchThatIsCutAllIsTheRoles() async throws {
        try await withRoles { roles in
            try await roles.with(
                roles.settings([roles.app]), { $0.isolatesLegacyBatches = true }
            ) { backend in
                let operations = [("a", "good"), ("b", "bad"), ("c", "good")].map {
                    operation("PUT", $0.0, body: $0.1)
                }
                let answer = try await backend.upload(batch(operations), user: "alice")
                #expect(answer.states == ["applied", "rejected", "applied"], "\(answer.json.text)")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
            }
            let seen = "SELECT string_agg(what, '|') FROM seen"
            let one = "\(roles.app) for \(roles.two.backendRole)"
            #expect(try await roles.two.asSuperuser(seen) == "\(one)|\(one)")
        }
    }

    /// By the roles of now: the claims choose again.
    @Test func aLetterIsSentAgainAsTheRole() async throws {
        let folder = try TemporaryDirectory(prefix: "roles-")
        defer { folder.remove() }
        let map = folder.path + "/map.yaml"
        try Self.map.write(toFile: map, atomically: true, encoding: .utf8)
        try await withRoles { roles in
            try await roles.with(roles.settings([roles.app])) { backend in
                let bad = try await backend.apply(operation("PUT", "new", body: "bad"), user: "alice")
                #expect(bad == "CHECK_VIOLATION")
                try await roles.two.asSuperuser("ALTER TABLE notes DROP CONSTRAINT notes_body_check")
                let id = try #require(try await backend.letterIDs().first)
                let desk = OperatorDesk(
                    uri: roles.two.backend, map: map, environment: ["DB_ROLES": roles.other])
                let answer = await desk.run("letters", "replay", id)
                #expect(answer.status == 0, "\(answer)")
                #expect(try await backend.scalar("SELECT state FROM psb.dead_letters") == "replayed")
            }
            let who = try await roles.two.asSuperuser("SELECT who FROM notes WHERE id = 'new'")
            #expect(who == roles.other)
        }
    }

    /// The first of several would be anybody's guess.
    @Test func aLetterWithoutTheClaimThatChoosesIsHeld() async throws {
        let folder = try TemporaryDirectory(prefix: "roles-")
        defer { folder.remove() }
        let map = folder.path + "/map.yaml"
        try Self.map.write(toFile: map, atomically: true, encoding: .utf8)
        try await withRoles { roles in
            try await roles.with(roles.settings([roles.app])) { backend in
                let bad = try await backend.apply(operation("PUT", "new", body: "bad"), user: "alice")
                #expect(bad == "CHECK_VIOLATION")
                try await roles.two.asSuperuser("ALTER TABLE notes DROP CONSTRAINT notes_body_check")
                _ = try await backend.query("UPDATE psb.dead_letters SET replay_claims = NULL")
                let id = try #require(try await backend.letterIDs().first)
                var desk = OperatorDesk(uri: roles.two.backend, map: map)
                desk.environment = ["DB_ROLES": "\(roles.app),\(roles.other)", "DB_ROLE_CLAIM": "department"]
                let held = await desk.run("letters", "replay", id, "--partial-claims")
                #expect(held.status == 1 && held.errors.contains("DB_ROLE_CLAIM is not among"), "\(held)")
                #expect(try await backend.scalar("SELECT state FROM psb.dead_letters") == "open")
                desk.environment = ["DB_ROLES": roles.other]
                let sent = await desk.run("letters", "replay", id, "--partial-claims")
                #expect(sent.status == 0, "\(sent)")
            }
            let who = try await roles.two.asSuperuser("SELECT who FROM notes WHERE id = 'new'")
            #expect(who == roles.other)
        }
    }

    /// Rows are looked at as the role, records as who has logged in.
    @Test func attachmentsAskAsTheRole() async throws {
        try await withRoles { roles in
            try await roles.with(roles.settings([roles.app]), store: ScriptedStore()) { backend in
                func ask(_ id: String, _ user: String) async throws -> Int {
                    try await backend.send(
                        "POST", "/api/v1/attachments/upload-url",
                        AttachmentsFixture.question(id, [1]).json.text,
                        fields: ["authorization": "Bearer \(try await backend.token(user))"]
                    ).status
                }
                #expect(try await ask("photo", "alice") == 200)
                #expect(try await ask("his", "alice") == 404)
                #expect(try await ask("his", "bob") == 200)
                #expect(try await backend.scalar("SELECT count(*) FROM psb.attachments") == "2")
                // Policies hide rows from whoever clears up, so nothing is taken for unnamed.
                let outcome = try await backend.backend.sweepAttachments()
                #expect(outcome != nil)
                #expect(try await backend.scalar("SELECT count(*) FROM psb.attachments") == "2")
            }
        }
    }

    // MARK: Hidden rows

    @Test func strictOnesAreToldFromMissingOnes() async throws {
        try await withRoles { roles in
            for map in [Self.map, "tables: { notes: }"] {
                try await roles.with(
                    roles.settings([roles.app], isStrict: true), map: map
                ) { backend in
                    for (id, state) in [("theirs", "UNAUTHORIZED"), ("none", "noop"), ("mine", "applied")] {
                        let patch = try await backend.apply(operation("PATCH", id), user: "alice")
                        #expect(patch == state, "\(id), \(map)")
                    }
                    let others = ["none", "theirs"].map { operation("DELETE", $0) }
                    let many = try await backend.upload(batch(others), user: "alice")
                    #expect(many.errorCodes == ["UNAUTHORIZED"], "\(map)")
                    #expect(many.states == ["skipped", "rejected"], "\(map)")
                    let missing = try await backend.upload(
                        batch(["none", "neither"].map { operation("DELETE", $0) }), user: "alice")
                    #expect(missing.states == ["noop", "noop"], "\(map)")
                    let own = try await backend.upload(
                        batch(["mine", "none"].map { operation("PATCH", $0, body: "b") }), user: "alice")
                    #expect(own.states == ["applied", "noop"], "\(map)")
                }
            }
            let rows =
                "SELECT string_agg(concat_ws(' ', id, body, coalesce(who, '-')), '|' ORDER BY id) FROM notes"
            #expect(try await roles.two.asSuperuser(rows) == "mine b \(roles.app)|theirs secret -")
        }
    }

    @Test func strictOnesOfABatchThatIsCutAreLeftOut() async throws {
        try await withRoles { roles in
            try await roles.with(
                roles.settings([roles.app], isStrict: true), { $0.isolatesLegacyBatches = true }
            ) { backend in
                let answer = try await backend.upload(
                    batch(["mine", "theirs", "none"].map { operation("DELETE", $0) }), user: "alice")
                #expect(answer.states == ["applied", "rejected", "noop"], "\(answer.json.text)")
            }
            #expect(try await roles.two.asSuperuser("SELECT string_agg(id, ' ') FROM notes") == "theirs")
        }
    }

    /// A role that is gone is the operator's to bring back, and no write's fault.
    @Test(arguments: [false, true])
    func aProbeThatIsGoneRejectsNothing(isolates: Bool) async throws {
        try await withRoles { roles in
            try await roles.with(
                roles.settings([roles.app], isStrict: true), { $0.isolatesLegacyBatches = isolates }
            ) { backend in
                try await roles.two.asSuperuser("ALTER ROLE \(roles.probe) RENAME TO gone_\(roles.probe)")
                let answer = try await backend.upload(
                    batch(["mine", "none"].map { operation("PATCH", $0) }), user: "alice")
                #expect(answer.status == 500, "\(answer.json.text)")
                try await roles.two.asSuperuser("ALTER ROLE gone_\(roles.probe) RENAME TO \(roles.probe)")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
                let again = try await backend.apply(operation("PATCH", "mine"), user: "alice")
                #expect(again == "applied")
            }
        }
    }

    /// No doubt becomes a rejection: a row that a trigger leaves alone is not hidden.
    @Test func whatATriggerLeavesAloneIsNotHidden() async throws {
        try await withRoles { roles in
            try await roles.two.asOwner(
                """
                CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
                CREATE TRIGGER leaves BEFORE UPDATE ON notes FOR EACH ROW WHEN (NEW.body = 'quiet')
                    EXECUTE FUNCTION leave()
                """)
            try await roles.with(roles.settings([roles.app], isStrict: true)) { backend in
                let own = try await backend.apply(operation("PATCH", "mine", body: "quiet"), user: "alice")
                #expect(own == "noop")
                let foreign = try await backend.apply(
                    operation("PATCH", "theirs", body: "quiet"), user: "alice")
                #expect(foreign == "UNAUTHORIZED")
            }
        }
    }

    // MARK: The start

    @Test(arguments: [
        ("GRANT USAGE ON SCHEMA psb TO $app", "$app has a right on the schema psb"),
        ("REVOKE $other FROM $login", "$other cannot be taken by $login"),
        ("ALTER ROLE $app BYPASSRLS", "$app has BYPASSRLS: policies do not hold for it"),
        ("ALTER TABLE notes OWNER TO $other", "$other owns notes"),
        ("REVOKE DELETE ON notes FROM $other", "$other lacks DELETE on notes, which $app has"),
        (
            "REVOKE UPDATE ON notes FROM $other; GRANT UPDATE (id, body) ON notes TO $other",
            "$other lacks UPDATE on notes."
        ),
        ("ALTER ROLE $probe NOBYPASSRLS", "RLS_PROBE_ROLE: $probe may not see all rows of notes"),
        ("REVOKE UPDATE (id) ON notes FROM $probe", "$probe lacks SELECT, or UPDATE on a column, of notes"),
    ])
    func whatARoleMustNotBeEndsTheStart(change: String, message: String) async throws {
        try await withRoles { roles in
            func filled(_ text: String) -> String {
                text.replacing("$app", with: roles.app).replacing("$other", with: roles.other)
                    .replacing("$probe", with: roles.probe).replacing("$login", with: roles.two.backendRole)
            }
            let settings = try roles.settings([roles.app, roles.other], isStrict: true)
            try await roles.with(settings) { _ in }
            try await roles.two.asSuperuser(filled(change))
            let refusal = try await roles.refusal(settings)
            #expect(refusal?.contains(filled(message)) == true, "\(refusal ?? "")")
        }
    }

    /// Behind a view rows are looked at as its owner, directly or behind another one.
    @Test(arguments: ["SELECT * FROM notes", "SELECT * FROM inner_notes"])
    func aViewPastThePoliciesEndsTheStart(query: String) async throws {
        try await withRoles { roles in
            try await roles.two.asOwner(
                "CREATE VIEW inner_notes AS SELECT * FROM notes; CREATE VIEW open_notes AS \(query)")
            try await roles.two.asSuperuser(
                "GRANT SELECT, INSERT, UPDATE, DELETE ON open_notes TO \(roles.app)")
            let settings = try roles.settings([roles.app])
            let map = "tables: { open_notes: { owner: owner_id } }"
            let error = await #expect(throws: BackendError.self) {
                try await roles.with(settings, map: map) { _ in }
            }
            #expect(
                error?.message.hasPrefix(
                    "DB_ROLES: open_notes is a view behind which notes is looked at as owner_of_") == true,
                "\(error?.message ?? "")")
            // Then they bind the owner, too.
            try await roles.two.asOwner("ALTER TABLE notes FORCE ROW LEVEL SECURITY")
            try await roles.with(settings, map: map) { _ in }
        }
    }

    /// Without roles it is the role of the connection that writes, as which many a database is made.
    @Test func policiesThatDoNotBindTheBackendAreWarnedOf() async throws {
        let schema =
            "CREATE TABLE notes (id text PRIMARY KEY, owner_id text); CREATE TABLE plain (id text PRIMARY KEY)"
        let map = "tables: { notes: { owner: owner_id }, plain: }"
        for (more, isTold) in [("", false), ("; ALTER TABLE notes ENABLE ROW LEVEL SECURITY", true)] {
            try await TestBackend.with(schema: schema + more, map: map) { backend in
                let lines = backend.lines.withLock {
                    $0.filter { $0.contains("policies of these tables do not hold") }
                }
                #expect(lines.count == (isTold ? 1 : 0))
                #expect(lines.allSatisfy { $0.contains("backend.tables=notes") })
            }
        }
    }

    @Test func aRoleThatIsNotThereEndsTheStart() async throws {
        try await withRoles { roles in
            let refusal = try await roles.refusal(roles.settings([roles.app, "nobody_at_all"]))
            #expect(refusal == "DB_ROLES: nobody_at_all is no role of the database")
        }
    }
}
