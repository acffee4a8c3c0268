import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Disabled users and roles in the schema psb (Backend/Authentication/SPEC.md, Backend/Apply/SPEC.md and Backend/Start/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct UserMigrationTests {
    private static let put = #"{"op":"PUT","table":"lists","id":"a","data":{"name":"new"}}"#

    /// Calls `psb.open` as an upload without ids does, and returns the state with which it refuses.
    private func refusal(
        _ backend: TestBackend, of user: String, digest: String? = nil
    ) async throws -> String? {
        do {
            _ = try await backend.query(
                """
                SELECT psb.open('{}'::text, $1::text, ARRAY['public'], ARRAY['lists'],
                    ARRAY[coalesce($2::text, psb.table_digest('public', 'lists', NULL::name))], NULL::text, NULL::bigint,
                    NULL::bigint, NULL::bigint, NULL::name)
                """, [user, digest])
            return nil
        } catch let error as PostgresError {
            return error.sqlstate
        }
    }

    @Test func whoIsDisabledIsToldBeforeAnythingElse() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.query(
                "INSERT INTO psb.disabled_users (user_id, reason) VALUES ('u1', 'left')")
            #expect(try await refusal(backend, of: "u1") == "PSB05")
            #expect(try await refusal(backend, of: "u1", digest: "another") == "PSB05")
            #expect(try await refusal(backend, of: "u2") == nil)
            #expect(try await refusal(backend, of: "U1") == nil, "users are spelled exactly")
            #expect(try await refusal(backend, of: "u2", digest: "another") == "PSB03")
            let since = try await backend.scalar(
                "SELECT now() - since < interval '1 hour' FROM psb.disabled_users")
            #expect(since == "t")
        }
    }

    @Test func nothingOfADisabledUserIsWritten() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.query("INSERT INTO psb.disabled_users (user_id) VALUES ('u1')")
            let answer = try await backend.upload("{\"batch\":[\(Self.put)]}", user: "u1")
            #expect(answer.json["code"]?.stringValue == "ACCOUNT_DISABLED", "\(answer.json.text)")
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            _ = try await backend.query("DELETE FROM psb.disabled_users")
            let state = try await backend.apply(Self.put, user: "u1")
            #expect(state == "applied")
        }
    }

    /// Two versions run side by side while a new one is rolled out.
    @Test func backendsOfBeforeFindWhatTheyCall() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.query(
                """
                SELECT psb.open('{}'::text, 'u1'::text, ARRAY['public'], ARRAY['lists'],
                    ARRAY[psb.table_digest('public', 'lists')], 'c'::text, 1::bigint, 2::bigint, 0::bigint)
                """)
            #expect(try await backend.scalar("SELECT count(acked_at) FROM psb.dead_letters") == "0")
        }
    }

    /// The client chooses its name: a number that can be made of it would be that of any lock of the app.
    @Test(arguments: ["", ", NULL::name"]) func theLockOfAClientIsOneThatNobodyCanAim(reader: String)
        async throws
    {
        try await TestBackend.with { backend in
            let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await connection.script(
                """
                BEGIN; SELECT psb.open('{}'::text, 'alice'::text, '{}'::text[], '{}'::text[], '{}'::text[], 'a b'::text,
                    1::bigint, 2::bigint, 0::bigint\(reader))
                """)
            let held = try await backend.query(
                """
                SELECT lpad(to_hex(classid::bigint), 8, '0') || lpad(to_hex(objid::bigint), 8, '0'), objsubid
                FROM pg_locks WHERE locktype = 'advisory'
                    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                """)
            let digest = Digest.sha256(Array("5 alice a b".utf8))
            #expect(held == [[Hexadecimal.encode(Array(digest.prefix(8))), "1"]])
            await connection.close()
        }
    }

    /// The one who asks is not the one who writes, where a backend takes roles.
    @Test func aDigestTellsTheRightsOfItsReader() async throws {
        let tables = """
            CREATE TABLE notes (id text PRIMARY KEY, body text NOT NULL);
            """
        try await TwoRoles.with(tables: tables) { two in
            try await two.migrate { $0.roles = [two.backendRole] }
            func digest(_ reader: String) -> String {
                "SELECT psb.table_digest('public', 'notes', \(reader))"
            }
            let role = "'\(two.backendRole)'::name"
            let whole = try await two.asOwner(digest(role))
            #expect(try await two.asBackend(digest("NULL")) == whole)
            try await two.asOwner("REVOKE INSERT ON notes FROM \(two.backendRole)")
            let less = try await two.asOwner(digest(role))
            #expect(whole != nil && less != nil && less != whole)
            #expect(try await two.asBackend(digest("NULL")) == less)
            #expect(try await two.asOwner(digest("NULL")) == whole, "the owner may write all columns")
        }
    }

    /// What may show in which order rows are written makes another plan.
    @Test(arguments: [
        ("CREATE TRIGGER t BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION nothing()", true),
        ("CREATE RULE r AS ON DELETE TO notes DO ALSO DELETE FROM others WHERE id = OLD.id", true),
        ("ALTER TABLE notes ENABLE ROW LEVEL SECURITY", true),
        ("ALTER TABLE notes ADD FOREIGN KEY (other) REFERENCES others (id)", true),
        ("ALTER TABLE others ADD FOREIGN KEY (id) REFERENCES notes (id)", true),
        ("ALTER TABLE notes ADD CHECK (n > 0)", true), ("ALTER TABLE notes ADD UNIQUE (n)", true),
        ("ALTER TABLE notes ADD UNIQUE (n) DEFERRABLE", true),
        ("CREATE UNIQUE INDEX i ON notes (n) WHERE n > 7", true),
        ("CREATE UNIQUE INDEX i ON notes ((n + 1))", true),
        ("ALTER TABLE notes ADD EXCLUDE USING btree (n WITH =)", true),
        ("ALTER TABLE notes ALTER n SET DEFAULT 1", true),
        ("ALTER TABLE notes ALTER at SET DEFAULT clock_timestamp()", true),
        ("CREATE INDEX i ON notes (n)", false), ("COMMENT ON TABLE notes IS 'x'", false),
        ("CREATE TRIGGER t BEFORE INSERT ON others FOR EACH ROW EXECUTE FUNCTION nothing()", false),
    ])
    func aDigestTellsWhatMayShowTheOrder(change: String, isOther: Bool) async throws {
        let schema = """
            CREATE TABLE others (id text PRIMARY KEY);
            CREATE TABLE notes (id text PRIMARY KEY, other text, n int, at timestamptz DEFAULT now());
            CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
            """
        try await TestBackend.with(schema: schema, map: "tables: { notes: }") { backend in
            let digest = "SELECT psb.table_digest('public', 'notes', NULL::name)"
            let before = try await backend.scalar(digest)
            _ = try await backend.query(change)
            let after = try await backend.scalar(digest)
            #expect(before != nil && (after != before) == isOther)
        }
    }
}
