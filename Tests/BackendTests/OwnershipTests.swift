import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct OwnershipTests {
    private static let schema = """
        CREATE TABLE notes (id text PRIMARY KEY, owner_id text NOT NULL, body text, stamp text DEFAULT 'server');
        INSERT INTO notes VALUES ('theirs', 'bob', 'secret'), ('mine', 'alice', 'old');
        """
    private static let map = """
        tables:
          notes:
            owner: owner_id
            columns: { stamp: { write: server } }
        """

    private func onNotes(_ body: (TestBackend) async throws -> Void) async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map, { _ in }, body)
    }

    private func notes(_ backend: TestBackend) async throws -> [[String?]] {
        try await backend.query("SELECT id, owner_id, body FROM notes ORDER BY id")
    }

    @Test(arguments: [
        #"{"op":"PUT","table":"notes","id":"theirs","data":{"body":"x"}}"#,
        #"{"op":"PUT","table":"notes","id":"theirs","data":{}}"#,
        #"{"op":"PATCH","table":"notes","id":"theirs","data":{"body":"x"}}"#,
        #"{"op":"DELETE","table":"notes","id":"theirs"}"#,
    ])
    func anothersRowIsNeverTouched(operation: String) async throws {
        try await onNotes { backend in
            let before = try await notes(backend)
            #expect(try await backend.apply(operation, user: "alice") == "UNAUTHORIZED")
            #expect(try await notes(backend) == before)
            #expect(try await backend.scalar("SELECT user_id FROM psb.dead_letters") == "alice")
        }
    }

    @Test func withinManyTheForeignOneIsNamedAndNothingIsHalfDone() async throws {
        try await onNotes { backend in
            for (kind, data) in [
                ("PUT", #","data":{"body":"x"}"#), ("PATCH", #","data":{"body":"x"}"#), ("DELETE", ""),
            ] {
                let operations = ["mine", "theirs", "none"].map {
                    "{\"op\":\"\(kind)\",\"table\":\"notes\",\"id\":\"\($0)\"\(data)}"
                }
                let answer = try await backend.upload(
                    "{\"batch\":[\(operations.joined(separator: ","))]}", user: "alice")
                #expect(answer.errorCodes == ["UNAUTHORIZED"])
                #expect(answer.states == ["skipped", "rejected", "skipped"])
                #expect(
                    try await notes(backend) == [["mine", "alice", "old"], ["theirs", "bob", "secret"]])
            }
        }
    }

    @Test func theOwnerComesFromTheToken() async throws {
        try await onNotes { backend in
            let forged = #"{"op":"PUT","table":"notes","id":"new","data":{"body":"b","owner_id":"bob"}}"#
            let put = try await backend.apply(forged, user: "alice")
            #expect(put == "adjusted")
            let away = #"{"op":"PATCH","table":"notes","id":"mine","data":{"body":"c","owner_id":"bob"}}"#
            let patch = try await backend.apply(away, user: "alice")
            #expect(patch == "adjusted")
            let expected = [["mine", "alice", "c"], ["new", "alice", "b"], ["theirs", "bob", "secret"]]
            #expect(try await notes(backend) == expected)
        }
    }

    @Test func changingAMissingRowIsNoMistake() async throws {
        try await onNotes { backend in
            let patch = try await backend.apply(
                #"{"op":"PATCH","table":"notes","id":"none","data":{"body":"x"}}"#, user: "alice")
            #expect(patch == "noop")
            #expect(
                try await backend.apply(#"{"op":"DELETE","table":"notes","id":"none"}"#, user: "alice")
                    == "noop")
            #expect(
                try await backend.apply(#"{"op":"DELETE","table":"notes","id":"mine"}"#, user: "alice")
                    == "applied")
        }
    }

    @Test func aColumnOfTheServerKeepsTheServersValue() async throws {
        try await onNotes { backend in
            let put = #"{"op":"PUT","table":"notes","id":"new","data":{"body":"b","stamp":"client"}}"#
            let state = try await backend.apply(put, user: "alice")
            #expect(state == "adjusted")
            #expect(try await backend.scalar("SELECT stamp FROM notes WHERE id = 'new'") == "server")
        }
    }

    @Test func policiesOfTheDatabaseSeeTheSubject() async throws {
        let schema = """
            CREATE TABLE seen (id text PRIMARY KEY, who text, claims text);
            CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                NEW.who = current_setting('app.user_id');
                NEW.claims = current_setting('request.jwt.claims')::json->>'sub'; RETURN NEW; END $$;
            CREATE TRIGGER stamps BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION stamp();
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """
        try await TestBackend.with(schema: schema) { backend in
            let state = try await backend.apply(
                #"{"op":"PUT","table":"seen","id":"a","data":{}}"#, user: "carol")
            #expect(state == "applied")
            #expect(try await backend.query("SELECT who, claims FROM seen") == [["carol", "carol"]])
        }
    }
}
