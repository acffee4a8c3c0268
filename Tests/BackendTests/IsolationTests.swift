import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Legacy batches whose bad operations are cut out (`LEGACY_BATCH_MODE=isolate`, backend 1.6).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct IsolationTests {
    private func put(_ id: String, _ name: String, opID: Int? = nil) -> String {
        let number = opID.map { "\"op_id\":\($0)," } ?? ""
        return #"{\#(number)"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"\#(name)"}}"#
    }

    private func body(_ operations: [String], client: String? = nil) -> String {
        let member = client.map { #""client_id":"\#($0)","# } ?? ""
        return #"{\#(member)"batch":[\#(operations.joined(separator: ","))]}"#
    }

    private func with(
        _ schema: String = TestBackend.demoTables, _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend) async throws -> Void
    ) async throws {
        try await TestBackend.with(
            schema: schema,
            {
                $0.isolatesLegacyBatches = true
                change(&$0)
            }, body)
    }

    /// A batch that says whose it is and numbers its operations is known like any other upload.
    @Test func whatHasNumbersIsToldApartFromItsRepetition() async throws {
        try await with { backend in
            let batch = body(
                [put("a", "1", opID: 1), put("b", "bad", opID: 2), put("c", "3", opID: 4)], client: "c")
            let first = try await backend.upload(batch)
            #expect(first.states == ["applied", "rejected", "applied"])
            let again = try await backend.upload(batch)
            #expect(again.states == ["replayed", "rejected", "replayed"])
            #expect(
                again.json["results"]?.arrayValue?[0]["rejection_id"]
                    == first.json["results"]?.arrayValue?[0]["rejection_id"])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
            // Numbers that do not rise tell nothing.
            let mixed = body([put("a", "5", opID: 4), put("b", "6", opID: 1)], client: "c")
            for _ in 0..<2 { #expect(try await backend.upload(mixed).states == ["applied", "applied"]) }
        }
    }

    /// A letter for what was refused, not one for each time that the rest is tried.
    @Test func aPieceThatFailsRepeatsNoLetters() async throws {
        try await with(
            TestBackend.demoTables,
            {
                $0.lockTimeout = .milliseconds(20)
                $0.retries.budget = .milliseconds(100)
            }
        ) { backend in
            let count = 64 + 6
            let batch = body(
                (1...count).map { put("r\($0)", $0 == 1 ? "bad" : "n", opID: $0) }, client: "c")
            _ = try await backend.query("INSERT INTO lists (id, name) VALUES ('r\(count)', 'held')")
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; SELECT FROM lists FOR UPDATE")
            for _ in 0..<3 { #expect(try await backend.upload(batch).status == 503) }
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
            try await holder.script("ROLLBACK")
            await holder.close()
            let answer = try await backend.upload(batch)
            #expect(answer.states.count { $0 == "rejected" } == 1)
            #expect(
                answer.states.suffix(6) == ["applied", "applied", "applied", "applied", "applied", "applied"])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == String(count - 1))
        }
    }

    @Test func everyBadOneIsCutOutAndNoneBeside() async throws {
        try await with { backend in
            // Every third is bad, of one row several times among them; more than one piece.
            let names = (0..<200).map { $0 % 3 == 1 ? "bad" : "n\($0)" }
            let answer = try await backend.upload(
                body(names.enumerated().map { put("r\($0 % 150)", $1) }))
            #expect(answer.status == 200)
            #expect(answer.states == names.map { $0 == "bad" ? "rejected" : "applied" })
            #expect(answer.results == ["fatal_error"])
            #expect(
                answer.json["results"]?.arrayValue?[0]["failed_operation"]?["operation_index"]?.int64Value
                    == 1)
            #expect(
                try await backend.scalar(
                    "SELECT count(*) FROM psb.dead_letters WHERE json_array_length(payload) = 1")
                    == String(names.count { $0 == "bad" }))
            #expect(try await backend.scalar("SELECT name FROM lists WHERE id = 'r0'") == "n150")
            #expect(
                try await backend.scalar("SELECT name FROM lists WHERE id = 'r1'") == nil, "both were bad")
        }
    }

    @Test func whatNobodyKnowsIsCutOutToo() async throws {
        try await with { backend in
            let answer = try await backend.upload(
                body([
                    put("a", "1"), #"{"op":"UPSERT","table":"lists","id":"a","data":{}}"#, put("b", "2"),
                    #"{"op":"MERGE","table":"lists","id":"b"}"#,
                    #"{"op":"DELETE","table":"nothing","id":"b"}"#,
                    #"{"op":"PUT","table":"lists","id":"c","data":{"name":5,"nothing":1}}"#, put("d", "4"),
                ]))
            #expect(
                answer.states == [
                    "applied", "rejected", "applied", "rejected", "rejected", "rejected", "applied",
                ])
            #expect(try await backend.query("SELECT id FROM lists ORDER BY id") == [["a"], ["b"], ["d"]])
            #expect(
                try await backend.query("SELECT error_code FROM psb.dead_letters ORDER BY error_code")
                    == [["UNKNOWN_COLUMN"], ["UNKNOWN_OPERATION"], ["UNKNOWN_OPERATION"], ["UNKNOWN_TABLE"]])
        }
    }

    /// What only the commit refuses has no operation: the piece is cut once more.
    @Test func whatTheCommitRefusesIsFound() async throws {
        let schema = """
            CREATE TABLE parents (id text PRIMARY KEY);
            CREATE TABLE lists (id text PRIMARY KEY, name text REFERENCES parents DEFERRABLE INITIALLY DEFERRED);
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            INSERT INTO parents VALUES ('p');
            """
        try await with(schema) { backend in
            let answer = try await backend.upload(body([put("a", "p"), put("b", "nobody"), put("c", "p")]))
            #expect(answer.errorCodes == ["FOREIGN_KEY_VIOLATION"])
            #expect(answer.states.count { $0 == "applied" } == 2)
            #expect(try await backend.query("SELECT id FROM lists ORDER BY id") == [["a"], ["c"]])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
        }
    }

    /// With a 65th the server's list of them overflows, which slows every other session (backend 2.10, number 7).
    @Test func aPieceHasNoMoreSubtransactionsThanOperations() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE SCHEMA aside;
                CREATE TABLE aside.looks (is_full boolean);
                CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF current_setting('server_version_num')::int >= 160000 THEN
                        INSERT INTO aside.looks SELECT s.subxact_overflowed
                            FROM pg_stat_get_backend_idset() AS i, pg_stat_get_backend_subxact(i) AS s
                            WHERE pg_stat_get_backend_pid(i) = pg_backend_pid();
                    END IF;
                    RETURN NULL; END $$;
                CREATE CONSTRAINT TRIGGER looks AFTER INSERT ON lists DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW WHEN (NEW.id = 'r1') EXECUTE FUNCTION look();
                """
        try await with(schema) { backend in
            let batch = body(
                (1...65).map { put("r\($0)", $0 == 65 ? "bad" : "n", opID: $0) }, client: "c")
            let answer = try await backend.upload(batch)
            #expect(answer.states == Array(repeating: "applied", count: 64) + ["rejected"])
            let written = try await backend.scalar(
                """
                SELECT count(DISTINCT number) FROM (SELECT xmin::text AS number FROM lists
                    UNION ALL SELECT xmin::text FROM psb.ledger WHERE verdict = 1) AS written
                """)
            #expect(written == "64", "the entry is written together with the last operation")
            // At its COMMIT the piece itself asked, where the server can tell.
            let looks = try await backend.query(
                """
                SELECT count(*) FILTER (WHERE is_full),
                    (count(*) = 1) = (current_setting('server_version_num')::int >= 160000)
                FROM aside.looks
                """)
            #expect(looks == [["0", "t"]])
        }
    }

    @Test func manyBadOnesTakeOneRoundTripAPiece() async throws {
        try await with { backend in
            let answer = try await backend.upload(body((0..<640).map { put("r\($0)", "bad") }))
            #expect(answer.status == 200)
            #expect(answer.states.count { $0 == "rejected" } == 640)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "640")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.commits") == "10")
        }
    }
}
