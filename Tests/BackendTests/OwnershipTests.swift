import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
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
    ])
    func anothersRowIsNeverPutOver(operation: String) async throws {
        try await onNotes { backend in
            let before = try await notes(backend)
            #expect(try await backend.apply(operation, user: "alice") == "UNAUTHORIZED")
            #expect(try await notes(backend) == before)
            #expect(try await backend.scalar("SELECT user_id FROM psb.dead_letters") == "alice")
        }
    }

    private static let changes = [#""PATCH","data":{"body":"x"}"#, #""DELETE""#]

    /// An operation on `notes` that says what it does first.
    private func operation(_ kind: String, _ id: String) -> String {
        "{\"table\":\"notes\",\"id\":\"\(id)\",\"op\":\(kind)}"
    }

    /// Nobody finds out whether an id exists (backend 2.9, case 127).
    @Test(arguments: OwnershipTests.changes)
    func anothersRowIsAMissingOne(change: String) async throws {
        try await onNotes { backend in
            let before = try await notes(backend)
            func answer(_ id: String) async throws -> TestBackend.Answer {
                try await backend.send(
                    "POST", "/api/data", "{\"batch\":[\(operation(change, id))]}",
                    fields: [
                        "authorization": "Bearer \(try await backend.token("alice"))", "x-request-id": "same",
                    ])
            }
            let (foreign, missing) = (try await answer("theirs"), try await answer("none"))
            #expect(foreign.states == ["noop"])
            #expect(foreign.status == missing.status)
            #expect(foreign.fields == missing.fields)
            #expect(foreign.json.text == missing.json.text)
            #expect(try await notes(backend) == before)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    /// Checks and triggers see the proposed row before anybody asks whose the one is that is there.
    @Test func whatIsLeftOutOfAPUTTellsNothingOfAnothersRow() async throws {
        let schema = """
            CREATE TABLE items (id text PRIMARY KEY, owner_id text NOT NULL, qty int NOT NULL,
                reserved int NOT NULL DEFAULT 0, CHECK (reserved <= qty));
            INSERT INTO items VALUES ('few', 'alice', 5), ('many', 'alice', 1234567890);
            CREATE FUNCTION talks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.qty > 100 THEN RAISE EXCEPTION 'there are %', NEW.qty; END IF; RETURN NEW; END $$;
            CREATE TRIGGER talks BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION talks();
            """
        try await TestBackend.with(schema: schema, map: "tables: { items: { owner: owner_id } }") { backend in
            func operation(_ id: String) -> String {
                #"{"op":"PUT","table":"items","id":"\#(id)","data":{"reserved":10}}"#
            }
            // Nor does anybody wait for a row of another, or hold it.
            let other = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await other.script("BEGIN; SELECT FROM items FOR UPDATE")
            for ids in [["few"], ["many"], ["none"], ["few", "more"], ["many", "more"], ["none", "more"]] {
                let operations = ids.map(operation).joined(separator: ",")
                let answer = try await backend.upload("{\"batch\":[\(operations)]}", user: "mallory")
                #expect(answer.errorCodes == ["NOT_NULL_VIOLATION"], "\(ids)")
                #expect(!answer.json.text.contains("1234567890"), "\(ids)")
            }
            try await other.script("COMMIT")
            await other.close()
            let own = try await backend.apply(operation("few"), user: "alice")
            #expect(own == "CHECK_VIOLATION", "their own row stands in")
        }
    }

    /// A row that has changed hands takes nothing down with it, a row that is put over another's everything.
    @Test func withinManyTheForeignOneIsToldApart() async throws {
        try await onNotes { backend in
            func upload(_ kind: String) async throws -> TestBackend.Answer {
                let operations = ["mine", "theirs", "none"].map { operation(kind, $0) }
                return try await backend.upload(
                    "{\"batch\":[\(operations.joined(separator: ","))]}", user: "alice")
            }
            let put = try await upload(#""PUT","data":{"body":"x"}"#)
            #expect(put.errorCodes == ["UNAUTHORIZED"])
            #expect(put.states == ["skipped", "rejected", "skipped"])
            #expect(try await notes(backend) == [["mine", "alice", "old"], ["theirs", "bob", "secret"]])
            #expect(try await upload(Self.changes[0]).states == ["applied", "noop", "noop"])
            #expect(try await notes(backend) == [["mine", "alice", "x"], ["theirs", "bob", "secret"]])
            #expect(try await upload(Self.changes[1]).states == ["applied", "noop", "noop"])
            #expect(try await notes(backend) == [["theirs", "bob", "secret"]])
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

    /// 7, 07 and 7e0 are one integer and three subjects.
    @Test func aRowBelongsToTheSubjectThatIsSpelledAsItsOwner() async throws {
        let schema =
            "CREATE TABLE notes (id text PRIMARY KEY, owner_id int, body text); INSERT INTO notes VALUES ('a', 7, 'old')"
        let map = "tables: { notes: { owner: owner_id } }"
        try await TestBackend.with(schema: schema, map: map) { backend in
            for user in ["07", "7.0", "7e0", "%2B7", "%207"] {
                for operation in [
                    #"{"op":"PATCH","table":"notes","id":"a","data":{"body":"x"}}"#,
                    #"{"op":"PUT","table":"notes","id":"b","data":{"body":"x"}}"#,
                    #"{"op":"DELETE","table":"notes","id":"a"}"#,
                ] {
                    let state = try await backend.apply(operation, user: user)
                    #expect(state == "UNAUTHORIZED", "\(user)")
                }
            }
            #expect(try await backend.query("SELECT id, body FROM notes") == [["a", "old"]])
            let own = try await backend.apply(
                #"{"op":"PATCH","table":"notes","id":"a","data":{"body":"x"}}"#, user: "7")
            #expect(own == "applied")
        }
    }

    /// Whoever may choose a name could else have the rows of `alice`.
    private func expectRows(
        of owner: String, areRefusedTo others: [String], type: String, with preparation: String = ""
    ) async throws {
        let schema =
            "\(preparation); CREATE TABLE notes (id text PRIMARY KEY, owner_id \(type), body text);"
            + "INSERT INTO notes VALUES ('a', '\(owner)', 'old'), ('b', '\(owner)', 'old')"
        try await TestBackend.with(schema: schema, map: "tables: { notes: { owner: owner_id } }") { backend in
            let before = try await backend.query("SELECT id, owner_id::text, body FROM notes ORDER BY id")
            for other in others {
                for operation in [
                    #""PATCH","table":"notes","data":{"body":"x"}"#,
                    #""PUT","table":"notes","data":{"body":"x"}"#, #""DELETE","table":"notes""#,
                ] {
                    // Who can own no such row at all is refused whatever is asked, to others a row of another is missing.
                    let isPut = operation.hasPrefix("\"PUT\"")
                    let one = try await backend.apply("{\"id\":\"a\",\"op\":\(operation)}", user: other)
                    #expect(
                        one == "UNAUTHORIZED" || (!isPut && one == "noop"), "\(other), \(type), \(operation)")
                    let both = ["a", "b"].map { "{\"id\":\"\($0)\",\"op\":\(operation)}" }
                    let answer = try await backend.upload(
                        "{\"batch\":[\(both.joined(separator: ","))]}", user: other)
                    #expect(
                        answer.errorCodes == ["UNAUTHORIZED"]
                            || (!isPut && answer.states == ["noop", "noop"]),
                        "\(other), \(type), \(operation)")
                }
            }
            let after = try await backend.query("SELECT id, owner_id::text, body FROM notes ORDER BY id")
            #expect(after == before)
            for operation in [
                #""PATCH","table":"notes","data":{"body":"x"}"#,
                #""PUT","table":"notes","data":{"body":"y"}"#,
                #""DELETE","table":"notes""#,
            ] {
                let own = try await backend.apply("{\"id\":\"a\",\"op\":\(operation)}", user: owner)
                #expect(own == "applied", "\(type), \(operation)")
            }
        }
    }

    @Test func textsThatAreFilledUpBelongToWhoIsSpelledWithoutBlanks() async throws {
        try await expectRows(of: "alice", areRefusedTo: ["alice%20", "ALICE", "alic"], type: "char(9)")
    }

    @Test func aNameThatWouldBeCutIsNobodys() async throws {
        let owner = String(repeating: "x", count: 63)
        try await expectRows(of: owner, areRefusedTo: [owner + "y", owner + "xx"], type: "name")
    }

    @Test(.enabled("needs citext") { try await TestPostgres.has(extension: "citext") })
    func lettersOfAnotherSizeAreAnotherSubject() async throws {
        try await expectRows(
            of: "alice", areRefusedTo: ["ALICE", "Alice"], type: "citext",
            with: "CREATE EXTENSION citext")
    }

    @Test(.enabled("needs a Postgres with ICU") { try await TestPostgres.hasICU })
    func aCollationMakesNoSubjectsEqual() async throws {
        try await expectRows(
            of: "alice", areRefusedTo: ["ALICE", "%C3%A1lice"], type: "text COLLATE same",
            with: "CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level1', deterministic = false)")
    }

    /// Else the last of two operations of one row would not count.
    @Test(.enabled("needs a Postgres with ICU") { try await TestPostgres.hasICU })
    func idsThatACollationTakesForOneAreOneRow() async throws {
        let schema = """
            CREATE COLLATION same (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
            CREATE TABLE notes (id text COLLATE same PRIMARY KEY, n int); INSERT INTO notes VALUES ('a', 0);
            """
        try await TestBackend.with(schema: schema, map: "tables: { notes: }") { backend in
            for (kind, last) in [("PATCH", 4), ("PUT", 6)] {
                let operations = [("A", last - 1), ("a", last)].map {
                    #"{"op":"\#(kind)","table":"notes","id":"\#($0.0)","data":{"n":\#($0.1)}}"#
                }
                let answer = try await backend.upload("{\"batch\":[\(operations.joined(separator: ","))]}")
                #expect(answer.states == ["applied", "applied"])
                #expect(try await backend.query("SELECT id, n::text FROM notes") == [["a", String(last)]])
            }
        }
    }

    /// The row of a user has the user's id.
    @Test func theOwnerMayBeTheID() async throws {
        let schema = """
            CREATE TABLE profiles (id text PRIMARY KEY, name text NOT NULL, age int);
            INSERT INTO profiles VALUES ('bob', 'Bob', 30);
            """
        try await TestBackend.with(schema: schema, map: "tables: { profiles: { owner: id } }") { backend in
            func operation(_ kind: String, _ id: String, _ data: String) -> String {
                #"{"op":"\#(kind)","table":"profiles","id":"\#(id)","data":\#(data)}"#
            }
            for (kind, data, state) in [
                ("PUT", #"{"name":"A"}"#, "applied"), ("PUT", #"{"id":"alice","name":"Alice"}"#, "applied"),
                ("PUT", #"{"age":7}"#, "applied"), ("PUT", "{}", "noop"), ("PATCH", #"{"age":8}"#, "applied"),
            ] {
                let own = try await backend.apply(operation(kind, "alice", data), user: "alice")
                #expect(own == state, "\(kind) \(data)")
            }
            for (kind, data) in [
                ("PUT", #"{"name":"x"}"#), ("PUT", "{}"), ("PATCH", #"{"name":"x"}"#), ("DELETE", "{}"),
            ] {
                for id in ["bob", "carol"] {
                    let other = try await backend.apply(operation(kind, id, data), user: "alice")
                    #expect(other == "UNAUTHORIZED", "\(kind) \(data) \(id)")
                }
            }
            #expect(
                try await backend.query("SELECT id, name, age::text FROM profiles ORDER BY id")
                    == [["alice", "Alice", "8"], ["bob", "Bob", "30"]])
            let deleted = try await backend.apply(
                #"{"op":"DELETE","table":"profiles","id":"alice"}"#, user: "alice")
            #expect(deleted == "applied")
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
