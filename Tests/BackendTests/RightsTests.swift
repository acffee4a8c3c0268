import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A backend whose role has no more rights than it was given (backend 2.9, 3.1).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct RightsTests {
    private static let map = "tables: { notes: }"
    private static let put = #"{"op":"PUT","table":"notes","id":"a","data":{"body":"new"}}"#

    /// Lets a test have a database with a role that is no superuser.
    ///
    /// `schema` makes the tables and gives the role its rights; `body` is given a URI of the role, and a connection of the
    /// superuser.
    private func withRole(
        _ schema: (_ role: String) -> String,
        _ body: (_ asRole: String, _ owner: PostgresConnection) async throws -> Void
    ) async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let role = "role_of_\(uri.split(separator: "/").last ?? "")"
        let login = try TestRole.login(uri)
        let asRole = TestRole.uri(uri, as: role)
        try #require(asRole != uri)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script(
            """
            CREATE ROLE \(role) \(login); GRANT USAGE ON SCHEMA public TO \(role);
            DO $$ BEGIN EXECUTE format('GRANT ALL ON DATABASE %I TO \(role)', current_database()); END $$;
            """)
        try await connection.script(schema(role))
        try await body(asRole, connection)
        try await connection.script("DROP OWNED BY \(role) CASCADE; DROP ROLE \(role)")
        await connection.close()
    }

    private static func notes(_ role: String) -> String {
        """
        CREATE TABLE notes (id text PRIMARY KEY, body text);
        GRANT SELECT, INSERT, UPDATE, DELETE ON notes TO \(role);
        """
    }

    /// The operator's settings and grants say nothing about a row: nothing is rejected for them (3.1).
    @Test(arguments: [
        "ALTER TABLE notes ENABLE ROW LEVEL SECURITY; ALTER ROLE $role SET row_security = off",
        "REVOKE INSERT, UPDATE ON notes FROM $role",
    ])
    func whatTheOperatorHasToSetRightRejectsNothing(change: String) async throws {
        try await withRole({ Self.notes($0) + change.replacing("$role", with: $0) }) {
            asRole, owner in
            try await TestBackend.with(schema: "SELECT 1", uri: asRole, map: Self.map) { backend in
                let answer = try await backend.upload("{\"batch\":[\(Self.put)]}")
                #expect(answer.status == 500, "\(answer.json.text)")
            }
            #expect(try await owner.query("SELECT count(*) FROM psb.dead_letters").scalar == "0")
            #expect(try await owner.query("SELECT count(*) FROM notes").scalar == "0")
        }
    }

    /// Views that Postgres writes through to their table take everything, the others what their triggers do (2.3).
    @Test func aViewTakesWhatItCanDo() async throws {
        let schema = """
            CREATE TABLE notes (id text PRIMARY KEY, body text); INSERT INTO notes VALUES ('a', 'old');
            CREATE VIEW plain AS SELECT * FROM notes;
            CREATE VIEW kept AS SELECT DISTINCT id, body FROM notes;
            CREATE VIEW guarded AS SELECT * FROM notes;
            CREATE FUNCTION write_note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                UPDATE notes SET body = 'by trigger: ' || NEW.body WHERE id = NEW.id; RETURN NEW; END $$;
            CREATE TRIGGER writes INSTEAD OF INSERT OR UPDATE ON guarded FOR EACH ROW EXECUTE FUNCTION write_note();
            """
        func operation(_ kind: String, _ view: String) -> String {
            #"{"op":"\#(kind)","table":"\#(view)","id":"a","data":{"body":"new"}}"#
        }
        let map = "tables: { plain: , guarded: { ops: [PATCH] } }"
        try await TestBackend.with(schema: schema, map: map) { backend in
            for (kind, view, body) in [
                ("PUT", "plain", "new"), ("PATCH", "plain", "new"), ("PATCH", "guarded", "by trigger: new"),
            ] {
                let state = try await backend.apply(operation(kind, view))
                #expect(state == "applied", "\(kind) \(view)")
                #expect(try await backend.scalar("SELECT body FROM notes") == body)
            }
            let put = try await backend.apply(operation("PUT", "guarded"))
            #expect(put == "OPERATION_NOT_ALLOWED")
            for view in ["guarded", "kept"] {
                let error = await #expect(throws: BackendError.self) {
                    try await TestBackend.with(
                        schema: "SELECT 1", uri: backend.uri, map: "tables: { \(view): }"
                    ) { _ in }
                }
                #expect(error?.code == .tableMap)
                #expect(error?.message.contains("public.\(view) is a view that takes no upserts") == true)
            }
        }
    }

    @Test func rightsOnColumnsAloneAreRefusedAtTheStart() async throws {
        let schema = { (role: String) in
            """
            CREATE TABLE notes (id text PRIMARY KEY, body text);
            GRANT SELECT, INSERT (id, body), UPDATE (body) ON notes TO \(role);
            """
        }
        try await withRole(schema) { asRole, owner in
            let error = await #expect(throws: BackendError.self) {
                try await TestBackend.with(schema: "SELECT 1", uri: asRole, map: Self.map) { _ in }
            }
            #expect(error?.code == .tableMap)
            #expect(error?.message.contains("line 1, column 11") == true, "\(String(describing: error))")
            #expect(error?.message.contains("may not lock public.notes") == true)
            let role = try #require(try ConnectionOptions.named(in: asRole)["user"])
            try await owner.script("GRANT DELETE ON notes TO \(role)")
            try await TestBackend.with(schema: "SELECT 1", uri: asRole, map: Self.map) { backend in
                let state = try await backend.apply(Self.put)
                #expect(state == "applied")
            }
        }
    }

    /// An upload holds up nobody who changes a partition that it does not write.
    @Test func partitionsAreNotLockedWithTheirTable() async throws {
        let schema = """
            CREATE TABLE notes (id text PRIMARY KEY, body text) PARTITION BY LIST (id);
            CREATE TABLE notes_a PARTITION OF notes FOR VALUES IN ('a');
            CREATE TABLE notes_b PARTITION OF notes FOR VALUES IN ('b');
            """
        try await TestBackend.with(schema: schema, map: Self.map, { $0.lockTimeout = .milliseconds(100) }) {
            backend in
            let other = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await other.script("BEGIN; LOCK TABLE notes_b IN ACCESS EXCLUSIVE MODE")
            let state = try await backend.apply(Self.put)
            #expect(state == "applied")
            await other.close()
        }
    }

    /// A team's own policy, in whatever words.
    @Test func aTriggerMayRefuseWithTheStateOfAMissingRight() async throws {
        let schema = """
            CREATE TABLE notes (id text PRIMARY KEY, body text);
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'nur für Leitende' USING ERRCODE = '42501'; END $$;
            CREATE TRIGGER refuses BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION refuse();
            """
        try await TestBackend.with(schema: schema, map: Self.map) { backend in
            let state = try await backend.apply(Self.put)
            #expect(state == "UNAUTHORIZED")
        }
    }
}
