import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Sending a dead letter again, and what is looked at before (backend 3.4, Replay).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ReplayTests {
    private static func put(_ id: String, _ name: String = "bad") -> String { OperatorDesk.put(id, name) }

    private func mend(_ backend: TestBackend, again isMended: Bool = false) async throws {
        guard !isMended else { return }
        _ = try await backend.query("ALTER TABLE lists DROP CONSTRAINT lists_name_check")
    }

    // MARK: Claims

    /// Rows of an organization, which the token alone names, and a claim that forbids.
    private static let policies = """
        CREATE TABLE lists (id text PRIMARY KEY, org text, name text CONSTRAINT lists_name_check CHECK (name <> 'bad'));
        CREATE FUNCTION check_claims() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE claims json := current_setting('request.jwt.claims')::json;
        BEGIN
            IF NEW.org <> claims -> 'parameters' ->> 'org' OR NEW.org IS NOT NULL AND claims -> 'parameters' ->> 'org' IS NULL THEN
                RAISE EXCEPTION 'another organization' USING ERRCODE = 'PS001';
            END IF;
            IF NEW.name <> 'bad' AND claims -> 'parameters' ->> 'suspended' IS NOT NULL THEN
                RAISE EXCEPTION 'suspended' USING ERRCODE = 'PS002';
            END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER checks BEFORE INSERT OR UPDATE ON lists FOR EACH ROW EXECUTE FUNCTION check_claims();
        CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
        """

    private func uploadRefused(
        _ backend: TestBackend, _ parameters: String, _ data: String
    ) async throws -> String {
        let minted = try await backend.send(
            "POST", "/api/auth/token", "{\"user_id\":\"u1\",\"parameters\":\(parameters)}")
        let token = try #require(minted.json["token"]?.stringValue)
        let refused = try await backend.send(
            "POST", "/api/data",
            #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":\#(data)}]}"#,
            fields: ["authorization": "Bearer \(token)"])
        #expect(refused.errorCodes == ["CHECK_VIOLATION"])
        return try #require(try await backend.letterIDs().last)
    }

    private static let keptClaims = "SELECT replay_claims::text FROM psb.dead_letters"

    @Test func policiesSeeTheTokenOfTheSender() async throws {
        try await OperatorDesk.with(schema: Self.policies, map: "tables:\n  lists: {}\n") { backend, desk in
            let id = try await uploadRefused(
                backend, #"{"org":"o1","secret":"canary"}"#, #"{"org":"o1","name":"bad"}"#)
            try await mend(backend)
            let shown = await desk.run("letters", "show", id).text
            #expect(await desk.run("letters", "show", id, "--json").text.contains("\"lists\""))
            let applied = await desk.run("letters", "replay", id)
            #expect(applied.status == 0 && applied.text == "Applied: 1 applied.")
            #expect(!(shown + applied.text).contains("canary"))
            #expect(try await backend.scalar("SELECT org FROM lists") == "o1")
            #expect(try await backend.query(Self.keptClaims) == [[nil]])
        }
    }

    @Test func whatAClaimForbadeIsForbiddenStill() async throws {
        try await OperatorDesk.with(schema: Self.policies, map: "tables:\n  lists: {}\n") { backend, desk in
            let id = try await uploadRefused(backend, #"{"suspended":true}"#, #"{"name":"bad"}"#)
            try await mend(backend)
            _ = try await backend.query(
                "UPDATE psb.dead_letters SET payload = replace(payload::text, 'bad', 'good')::json")
            let refused = await desk.run("letters", "replay", id)
            #expect(refused.status == 1 && refused.text.contains("BUSINESS_RULE"))
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            #expect(
                try await backend.scalar(Self.keptClaims)?.contains("suspended") == true,
                "it may be sent again")
            _ = await desk.run("letters", "discard", id)
            #expect(try await backend.query(Self.keptClaims) == [[nil]])
        }
    }

    @Test func aLetterWithoutAllClaimsIsSentOnDemandAlone() async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            let id = try #require(try await backend.letterIDs().first)
            _ = try await backend.query("UPDATE psb.dead_letters SET replay_claims = NULL")
            try await mend(backend)
            let held = await desk.run("letters", "replay", id, "--yes")
            #expect(held.status == 1)
            #expect(held.errors.hasPrefix("error: \(id) is of an older backend"))
            #expect(!held.errors.contains("u1"))
            #expect(try await backend.scalar("SELECT state FROM psb.dead_letters") == "open")
            let sent = await desk.run("letters", "replay", id, "--partial-claims")
            #expect(sent.status == 0 && sent.text.hasPrefix("Policies saw these claims alone: "))
            #expect(sent.text.contains("sub") && !sent.text.contains("u1"))
        }
    }

    // MARK: What it holds

    @Test func aLetterWithANumberOfAnyLengthIsShownAndSentAgain() async throws {
        try await OperatorDesk.with { backend, desk in
            let number = String(repeating: "7", count: 1_100)
            let long = #"{"op":"PUT","table":"lists","id":"b","data":{"name":\#(number)}}"#
            let refused = try await backend.upload("{\"batch\":[\(Self.put("a")),\(long)]}")
            #expect(refused.errorCodes == ["CHECK_VIOLATION"])
            let id = try #require(try await backend.letterIDs().first)
            for arguments in [["letters", "show", id], ["letters", "show", id, "--json"]] {
                let shown = await desk.run(arguments)
                #expect(shown.status == 0 && shown.text.contains("\"name\":\(number)"))
            }
            try await mend(backend)
            let applied = await desk.run("letters", "replay", id)
            #expect(applied.status == 0 && applied.text == "Applied: 2 applied.")
            #expect(try await backend.scalar("SELECT name FROM lists WHERE id = 'b'") == number)
        }
    }

    // MARK: Once

    @Test func nobodyElseMayHaveTheNameOfAReplay() async throws {
        try await OperatorDesk.with { backend, _ in
            func body(_ client: String) -> String {
                "{\"v\":1,\"client_id\":\"\(client)\",\"transactions\":[{\"crud\":[{\"op_id\":1,"
                    + Self.put("a").dropFirst() + "]}]}"
            }
            for client in ["replay:", "replay:5c0b1a52-0000-4000-8000-000000000001:1"] {
                let refused = try await backend.upload(body(client))
                #expect(refused.status == 400)
                #expect(refused.json["type"] == .string("urn:psb:problem:invalid-request"))
            }
            #expect(try await backend.letterIDs().isEmpty)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.ledger") == "0")
            #expect(try await backend.upload(body("Replay:1")).errorCodes == ["CHECK_VIOLATION"])
        }
    }

    /// A letter, what it holds, and the replay of it as a command reads it.
    private func replay(_ backend: TestBackend, _ id: String) async throws -> LetterReplay {
        let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
        let letter = try #require(try await DeadLetterTable.find(id, on: connection).first)
        let content = try #require(try await DeadLetterTable.content(of: id, on: connection))
        await connection.close()
        return try LetterReplay(letter, content)
    }

    @Test(arguments: ["discard", "replay"])
    func whatSomebodyElseDoesInBetweenIsSeen(command: String) async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            let id = try #require(try await backend.letterIDs().first)
            let replay = try await replay(backend, id)
            // Refused again, or given up.
            #expect(await desk.run("letters", command, id).status == (command == "discard" ? 0 : 1))
            let before = try await backend.query("SELECT state, attempts::text FROM psb.dead_letters")
            try await mend(backend)
            if command == "discard" {
                let failure = await #expect(throws: UploadFailure.self) {
                    _ = try await backend.backend.withApplier { try await replay.run(with: $0) }
                }
                #expect(failure?.code == "LETTER_NOT_OPEN")
            } else {
                // It is the same attempt, whoever makes it.
                let outcome = try await backend.backend.withApplier { try await replay.run(with: $0) }
                #expect(!outcome.isApplied && outcome.result.replayed)
            }
            #expect(try await backend.query("SELECT state, attempts::text FROM psb.dead_letters") == before)
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
        }
    }

    @Test func whoeverComesWhileALetterIsAppliedWaits() async throws {
        let schema = OperatorDesk.schema + TestBackend.gated()
        try await OperatorDesk.with(schema: schema) { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            let id = try #require(try await backend.letterIDs().first)
            let replay = try await replay(backend, id)
            try await mend(backend)
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            async let outcome = backend.backend.withApplier { try await replay.run(with: $0) }
            try await gate.waitForArrivals()
            async let discarded = desk.run("letters", "discard", id)
            try await backend.waitForLocked(2)
            try await gate.open()
            #expect(try await outcome.isApplied)
            let answer = await discarded
            #expect(answer.status == 1)
            #expect(answer.errors.hasPrefix("error: somebody else has seen to \(id) meanwhile"))
            #expect(try await backend.scalar("SELECT state FROM psb.dead_letters") == "replayed")
        }
    }

    /// Whether the letter says what became of its operations is decided by the commit that decides that.
    @Test(arguments: [true, false])
    func anAnswerThatIsLostIsFoundOut(isApplied: Bool) async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            let id = try #require(try await backend.letterIDs().first)
            if isApplied { try await mend(backend) }
            let port = try await TestPostgres.server().port
            let relay = try PostgresRelay(to: port)
            var configuration = TestBackend.configuration(
                backend.uri.replacing(":\(port)/", with: ":\(relay.port)/"))
            configuration.tables = .text(OperatorDesk.map)
            let cut = Backend(
                configuration: configuration, poller: backend.poller, log: Log(label: "x", sink: { _ in }))
            let replay = try await replay(backend, id)
            let outcome = try await cut.withApplier { applier in
                relay.swallowCommits(1, then: .cut)
                return try await replay.run(with: applier)
            }
            #expect(relay.swallowed == 1)
            #expect(outcome.isApplied == isApplied && outcome.result.replayed)
            #expect(
                try await backend.query("SELECT id, state, attempts::text FROM psb.dead_letters")
                    == [[id, isApplied ? "replayed" : "open", "2"]])
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == (isApplied ? "1" : "0"))
            try await mend(backend, again: isApplied)
            #expect(await desk.run("letters", "replay", id).status == (isApplied ? 1 : 0))
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "1")
        }
    }

    /// A backend of before left a second letter when a replay was refused, and broke off before it took that away.
    @Test(arguments: [StoredLetter.State.open, .replayed, .discarded])
    func aSecondLetterOfAnEarlierBackendIsTheSame(state: StoredLetter.State) async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            let first = try #require(try await backend.letterIDs().first)
            #expect(await desk.run("letters", "replay", first).status == 1)
            let second = "5c0b1a52-0000-4000-8000-000000000001"
            _ = try await backend.query(
                """
                WITH changed AS (UPDATE psb.dead_letters SET attempts = 1 RETURNING *),
                    entry AS (UPDATE psb.ledger SET result = replace(result::text, '\(first)', '\(second)')::json)
                INSERT INTO psb.dead_letters (id, user_id, client_id, error_code, message, payload, claims, replay_claims,
                    row_ids, request_id)
                SELECT '\(second)', user_id, 'replay:\(first):1', error_code, message, payload, claims, replay_claims,
                    row_ids, 'replay-\(first)' FROM changed
                """)
            switch state {
            case .open: break
            case .replayed:
                try await mend(backend)
                #expect(await desk.run("letters", "replay", second, "--yes").status == 0)
            case .discarded: #expect(await desk.run("letters", "discard", second).status == 0)
            }
            let answer = await desk.run("letters", "replay", first, "--yes", "--json")
            #expect(answer.status == (state == .replayed ? 0 : 1))
            #expect(
                try answer.json["outcome"]?.stringValue
                    == (state == .open ? "refused" : state == .replayed ? "applied" : "discarded"))
            let letters = try await backend.query(
                "SELECT id, state FROM psb.dead_letters ORDER BY occurred_at")
            #expect(
                letters
                    == (state == .open
                        ? [[first, "open"]] : [[first, state.rawValue], [second, state.rawValue]]))
            if state == .open { try await mend(backend) }
            #expect(await desk.run("letters", "replay", first, "--yes").status == (state == .open ? 0 : 1))
            #expect(
                try await backend.scalar("SELECT count(*) FROM writes") == (state == .discarded ? "0" : "1"))
        }
    }

    // MARK: Later letters

    /// Twenty letters of 16 MiB, each of which would be searched for each of a thousand names.
    @Test func aTableFullOfLettersKeepsNobodyFromReplaying() async throws {
        try await OperatorDesk.with { backend, desk in
            let operations = (0..<1_000).map { Self.put("r\($0)", $0 == 0 ? "bad" : "good") }
            _ = try await backend.upload("{\"batch\":[\(operations.joined(separator: ","))]}")
            let id = try #require(try await backend.letterIDs().first)
            _ = try await backend.query(
                """
                INSERT INTO psb.dead_letters (id, user_id, error_code, message, payload, claims, request_id)
                SELECT gen_random_uuid(), 'u2', 'X', 'x', ('["' || repeat('x', 16777216) || '"]')::json, '{}', 'r'
                FROM generate_series(1, 20)
                """)
            try await mend(backend)
            let asked = await desk.run("letters", "replay", id)
            #expect(asked.status == 1 && asked.text.contains("20 later letters of an older backend"))
            let sure = await desk.run("letters", "replay", id, "--yes", "--json")
            #expect(sure.status == 0)
            #expect(try sure.json["later_not_looked_at"] == .integer(20))
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "1000")
        }
    }

    @Test func alsoTheLastOfManyRowsIsLookedFor() async throws {
        try await OperatorDesk.with { backend, desk in
            let operations = (0..<1_100).map { Self.put("r\($0)", $0 == 0 ? "bad" : "good") }
            _ = try await backend.upload("{\"batch\":[\(operations.joined(separator: ","))]}")
            _ = try await backend.upload("{\"batch\":[\(Self.put("r1099"))]}", user: "u2")
            let ids = try await backend.letterIDs()
            try await mend(backend)
            let held = await desk.run("letters", "replay", ids[0], "--json")
            #expect(held.status == 1)
            #expect(try held.json["later"]?.arrayValue?.map { $0["id"] } == [.string(ids[1])])
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
        }
    }

    /// Whatever a reader of uploads takes for the id, and whatever a column takes for the same one.
    @Test(arguments: [
        (#""id":"5AA1B2C3-0000-4000-8000-00000000000F""#, #""id":"5aa1b2c3-0000-4000-8000-00000000000f""#),
        (#""id":7"#, #""id":"07""#), (#""id":null,"data":{"id":"x","name":"bad"}"#, #""id":"x""#),
        (#""opData":{"id":8,"name":"bad"}"#, #""id":"8""#),
    ])
    func aRowIsTheSameHoweverItIsSpelled(first: String, second: String) async throws {
        func operation(_ members: String) -> String {
            let data = members.contains("ata\"") ? "" : #","data":{"name":"bad"}"#
            return #"{"op":"PUT","table":"lists",\#(members)\#(data)}"#
        }
        try await OperatorDesk.with { backend, desk in
            for members in [first, second, #""id":"another""#] {
                let answer = try await backend.upload("{\"batch\":[\(operation(members))]}")
                #expect(answer.errorCodes == ["CHECK_VIOLATION"])
            }
            let ids = try await backend.letterIDs()
            try await mend(backend)
            let held = await desk.run("letters", "replay", ids[0], "--json")
            #expect(held.status == 1)
            #expect(try held.json["later"]?.arrayValue?.map { $0["id"] } == [.string(ids[1])])
        }
    }

    /// Two names of the map may be one table, and a name that nobody knew may be any.
    @Test func rowsOfOtherTablesAreOthers() async throws {
        let schema =
            OperatorDesk.schema + "CREATE TABLE notes (id text PRIMARY KEY, name text CHECK (name <> 'bad'));"
        let map = OperatorDesk.map + "  same: { table: lists, owner: owner_id }\n  notes: {}\n"
        try await OperatorDesk.with(schema: schema, map: map) { backend, desk in
            for table in ["lists", "notes", "same", "nobody"] {
                let operation = Self.put("a").replacing("\"lists\"", with: "\"\(table)\"")
                _ = try await backend.upload("{\"batch\":[\(operation)]}")
            }
            let ids = try await backend.letterIDs()
            try await mend(backend)
            let held = await desk.run("letters", "replay", ids[0], "--json")
            #expect(held.status == 1)
            #expect(
                try held.json["later"]?.arrayValue?.map { $0["id"] } == [.string(ids[2]), .string(ids[3])])
        }
    }

    @Test func aListThatIsCutSaysSo() async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            let id = try #require(try await backend.letterIDs().first)
            _ = try await backend.query(
                """
                INSERT INTO psb.dead_letters (id, user_id, error_code, message, payload, claims, request_id, row_ids)
                SELECT gen_random_uuid(), 'u2', 'X', 'x', '[]', '{}', 'r', '{a}' FROM generate_series(1, 101)
                """)
            let held = await desk.run("letters", "replay", id)
            #expect(held.status == 1 && held.text.contains("There are more than these 100."))
            let json = try await desk.run("letters", "replay", id, "--json").json
            #expect(json["later"]?.arrayValue?.count == 100 && json["later_is_cut"] == .bool(true))
        }
    }

    @Test func whoIsSureNeedsNoLook() async throws {
        try await OperatorDesk.with { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            let id = try #require(try await backend.letterIDs().first)
            try await mend(backend)
            // Any failure of the look will do.
            _ = try await backend.query("ALTER TABLE psb.dead_letters RENAME COLUMN row_tables TO lost")
            let asked = await desk.run("letters", "replay", id)
            #expect(asked.status == 1 && asked.text.contains("is not known"))
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            let sure = await desk.run("letters", "replay", id, "--yes")
            #expect(
                sure.status == 0 && sure.text.contains("Applied: 1 applied.")
                    && sure.text.contains("is not known"))
        }
    }
}
