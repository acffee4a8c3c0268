import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Rows that name rows of other tables (backend 2.8, 2.9): the database has no foreign keys here, so that only the map asks.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ParentTests {
    private static let hers = "00000000-0000-4000-8000-00000000000a"
    private static let his = "00000000-0000-4000-8000-00000000000b"
    private static let nobodys = "00000000-0000-4000-8000-00000000000c"
    private static let schema = """
        CREATE TABLE lists (id uuid PRIMARY KEY, owner_id text NOT NULL, name text, part_of uuid);
        CREATE TABLE todos (id text PRIMARY KEY, owner_id text NOT NULL, list_id uuid, body text);
        INSERT INTO lists VALUES ('\(hers)', 'alice', 'hers'), ('\(his)', 'bob', 'his');
        INSERT INTO todos VALUES ('old', 'alice', '\(hers)', 'old'), ('stray', 'alice', '\(his)', 'stray');
        """
    private static let map = """
        tables:
          todos: { owner: owner_id, parents: { list_id: lists } }
          lists: { owner: owner_id, parents: { part_of: lists } }
        """

    private func onTodos(
        _ change: (inout BackendConfiguration) -> Void = { _ in }, _ body: (TestBackend) async throws -> Void
    ) async throws {
        try await TestBackend.with(schema: Self.schema, map: Self.map, change, body)
    }

    /// An operation on a todo; without a list NULL.
    private func todo(_ kind: String, _ id: String, in list: String?) -> String {
        let value = list.map { "\"\($0)\"" } ?? "null"
        return #"{"op":"\#(kind)","table":"todos","id":"\#(id)","data":{"list_id":\#(value)}}"#
    }

    private func batch(_ operations: [String]) -> String {
        "{\"batch\":[\(operations.joined(separator: ","))]}"
    }

    private func todos(_ backend: TestBackend) async throws -> [[String?]] {
        try await backend.query("SELECT id, list_id::text FROM todos ORDER BY id")
    }

    @Test(arguments: [("PUT", "new"), ("PUT", "old"), ("PATCH", "old"), ("PATCH", "none")])
    func aForeignParentAndAMissingOneAreTheSameBytes(kind: String, id: String) async throws {
        try await onTodos { backend in
            let before = try await todos(backend)
            let token = try await backend.token("alice")
            func answer(_ list: String) async throws -> (answer: TestBackend.Answer, text: String) {
                let answer = try await backend.send(
                    "POST", "/api/data", batch([todo(kind, id, in: list)]),
                    fields: ["authorization": "Bearer \(token)", "x-request-id": "same"])
                let result = try #require(answer.json["results"]?.arrayValue?.first)
                // Each is a letter of its own.
                let letter = try #require(result["rejection_id"]?.stringValue)
                return (answer, answer.json.text.replacing(letter, with: "letter"))
            }
            let (foreign, missing) = (try await answer(Self.his), try await answer(Self.nobodys))
            #expect(foreign.answer.errorCodes == ["PARENT_MISSING"])
            #expect(foreign.answer.status == missing.answer.status)
            #expect(foreign.answer.fields == missing.answer.fields)
            #expect(foreign.text == missing.text)
            let details = foreign.answer.json["results"]?.arrayValue?.first?["failed_operation"]?["details"]
            #expect(details?.text == #"{"table":"todos","id":"\#(id)","column":"list_id"}"#)
            #expect(try await todos(backend) == before)
            let letters = try await backend.query(
                """
                SELECT error_code, sqlstate, constraint_name, table_name, row_id, message, count(*)::text
                FROM psb.dead_letters GROUP BY 1, 2, 3, 4, 5, 6
                """)
            #expect(letters.count == 1)
            #expect(letters.first?.last == "2")
        }
    }

    @Test func ownParentsAndNonePass() async throws {
        try await onTodos { backend in
            let changes: [(String, String, String?)] = [
                ("PUT", "new", Self.hers), ("PUT", "without", nil), ("PATCH", "old", nil),
                ("PATCH", "old", Self.hers), ("PATCH", "stray", Self.hers),
            ]
            for (kind, id, list) in changes {
                let state = try await backend.apply(todo(kind, id, in: list), user: "alice")
                #expect(state == "applied", "\(kind) \(id)")
            }
            let put = try await backend.apply(
                #"{"op":"PUT","table":"todos","id":"silent","data":{"body":"x"}}"#, user: "alice")
            #expect(put == "applied", "what names no parent asks for none")
            #expect(
                try await todos(backend) == [
                    ["new", Self.hers], ["old", Self.hers], ["silent", nil], ["stray", Self.hers],
                    ["without", nil],
                ])
        }
    }

    /// Whose parent is another's by now may be changed otherwise, and deleted.
    @Test func onlyWhatIsSetIsAskedAbout() async throws {
        try await onTodos { backend in
            let patch = try await backend.apply(
                #"{"op":"PATCH","table":"todos","id":"stray","data":{"body":"x"}}"#, user: "alice")
            #expect(patch == "applied")
            let delete = try await backend.apply(
                #"{"op":"DELETE","table":"todos","id":"stray"}"#, user: "alice")
            #expect(delete == "applied")
        }
    }

    @Test func withinManyTheOneIsNamedAndNothingIsHalfDone() async throws {
        try await onTodos { backend in
            let before = try await todos(backend)
            for list in [Self.his, Self.nobodys] {
                let operations = [("a", Self.hers), ("b", list), ("c", Self.hers)].map {
                    todo("PUT", $0.0, in: $0.1)
                }
                let answer = try await backend.upload(batch(operations), user: "alice")
                #expect(answer.errorCodes == ["PARENT_MISSING"])
                #expect(answer.states == ["skipped", "rejected", "skipped"])
                #expect(try await todos(backend) == before)
            }
            let good = try await backend.upload(
                batch(["a", "b", "c"].map { todo("PUT", $0, in: Self.hers) }), user: "alice")
            #expect(good.states == ["applied", "applied", "applied"])
        }
    }

    @Test func ofABatchThatIsCutTheOthersAreApplied() async throws {
        try await onTodos({ $0.isolatesLegacyBatches = true }) { backend in
            let operations = [("a", Self.hers), ("b", Self.his), ("c", Self.hers)].map {
                todo("PUT", $0.0, in: $0.1)
            }
            let answer = try await backend.upload(batch(operations), user: "alice")
            #expect(answer.errorCodes == ["PARENT_MISSING"])
            #expect(answer.states == ["applied", "rejected", "applied"])
            #expect(try await backend.scalar("SELECT count(*) FROM todos WHERE id = 'b'") == "0")
        }
    }

    /// What comes before it in the transaction is there; a row may be its own parent, and that of the next one.
    @Test func aParentOfTheSameTransactionCounts() async throws {
        try await onTodos { backend in
            func list(_ number: Int, partOf other: Int?) -> String {
                func id(_ number: Int) -> String { "00000000-0000-4000-9000-00000000000\(number)" }
                let value = other.map { "\"\(id($0))\"" } ?? "null"
                return #"{"op":"PUT","table":"lists","id":"\#(id(number))","data":{"part_of":\#(value)}}"#
            }
            let child = todo("PUT", "new", in: "00000000-0000-4000-9000-000000000001")
            let answer = try await backend.upload(
                batch([list(1, partOf: nil), list(2, partOf: 1), list(3, partOf: 3), child]), user: "alice")
            #expect(answer.states == ["applied", "applied", "applied", "applied"], "\(answer.json.text)")
            let late = try await backend.upload(
                batch([list(4, partOf: 5), list(5, partOf: nil)]), user: "alice")
            #expect(late.errorCodes == ["PARENT_MISSING"], "the parent comes first")
        }
    }

    /// Whom none of the parent's rows can belong to.
    @Test func whoCanOwnNoParentFindsEachMissing() async throws {
        let schema = """
            CREATE TABLE lists (id text PRIMARY KEY, owner_id int); INSERT INTO lists VALUES ('there', 7);
            CREATE TABLE todos (id text PRIMARY KEY, owner_id text, list_id text);
            """
        let map = Self.map.replacing(", parents: { part_of: lists }", with: "")
        try await TestBackend.with(schema: schema, map: map) { backend in
            for list in ["there", "none"] {
                for user in ["alice", "07", "8"] {
                    let state = try await backend.apply(todo("PUT", "a", in: list), user: user)
                    #expect(state == "PARENT_MISSING", "\(user), \(list)")
                }
            }
            let own = try await backend.apply(todo("PUT", "a", in: "there"), user: "7")
            #expect(own == "applied")
            let letters = try await backend.query("SELECT DISTINCT message FROM psb.dead_letters")
            #expect(letters.count == 1)
        }
    }

    /// A parent that somebody is deleting is waited for, and one that was asked about stays until the commit.
    @Test(arguments: [("COMMIT", "PARENT_MISSING"), ("ROLLBACK", "applied")])
    func aParentThatIsBeingDeletedIsWaitedFor(end: String, state: String) async throws {
        try await onTodos { backend in
            let other = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await other.script("BEGIN; DELETE FROM lists WHERE id = '\(Self.hers)'")
            async let applied = backend.apply(todo("PUT", "new", in: Self.hers), user: "alice")
            try await backend.waitForLocked(1, in: "FOR KEY SHARE")
            try await other.script(end)
            #expect(try await applied == state)
            await other.close()
        }
    }

    @Test func aParentStaysUntilTheCommit() async throws {
        let schema =
            Self.schema + """
                CREATE TABLE gate (id int); INSERT INTO gate VALUES (1);
                CREATE FUNCTION come_to_the_gate() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM FROM gate FOR UPDATE; RETURN NEW; END $$;
                CREATE TRIGGER waits BEFORE INSERT ON todos FOR EACH ROW EXECUTE FUNCTION come_to_the_gate();
                """
        try await TestBackend.with(schema: schema, map: Self.map) { backend in
            let gate = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            let other = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await gate.script("BEGIN; SELECT FROM gate FOR UPDATE")
            async let applied = backend.apply(todo("PUT", "new", in: Self.hers), user: "alice")
            try await backend.waitForLocked(1)
            let error = await #expect(throws: PostgresError.self) {
                try await other.script(
                    "SET lock_timeout = 1; DELETE FROM lists WHERE id = '\(Self.hers)'")
            }
            #expect(error?.sqlstate == "55P03")
            try await gate.script("COMMIT")
            #expect(try await applied == "applied")
            await gate.close()
            await other.close()
        }
    }

    /// A trigger of the team that asks for a channel without a name is no missing parent.
    @Test func whatATriggerCallsIsNoRefusalOfOurs() async throws {
        let schema =
            Self.schema + """
                CREATE FUNCTION tell() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_notify('', NEW.id); RETURN NEW; END $$;
                CREATE TRIGGER tells BEFORE INSERT ON todos FOR EACH ROW EXECUTE FUNCTION tell();
                """
        try await TestBackend.with(schema: schema, map: Self.map) { backend in
            let state = try await backend.apply(todo("PUT", "new", in: Self.hers), user: "alice")
            #expect(state == "INVALID_DATA")
        }
    }

    /// While the parent's table is another one nothing is written unasked.
    @Test func aParentThatIsMigratedAwayIsAskedAboutAgain() async throws {
        try await onTodos { backend in
            _ = try await backend.query("ALTER TABLE lists RENAME COLUMN owner_id TO holder")
            let answer = try await backend.upload(
                batch([todo("PUT", "new", in: Self.his)]), user: "alice")
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "SCHEMA_MISMATCH", "\(answer.json.text)")
            _ = try await backend.query("ALTER TABLE lists RENAME COLUMN holder TO owner_id")
            let state = try await backend.apply(todo("PUT", "new", in: Self.hers), user: "alice")
            #expect(state == "applied")
        }
    }
}
