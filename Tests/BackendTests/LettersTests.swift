import Foundation
import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Dead letters: how many there may be, for how long, and what an operator does with them (backend 3.4).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LettersTests {
    private static let map = OperatorDesk.map

    private static func put(_ id: String, _ name: String = "bad") -> String { OperatorDesk.put(id, name) }

    private func with(
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, OperatorDesk) async throws -> Void
    ) async throws {
        try await OperatorDesk.with(change, body)
    }

    // MARK: Quota and retention

    @Test(arguments: [true, false])
    func atTheQuotaUploadsWaitUntilSomebodyHasSeenToTheLetters(byRows: Bool) async throws {
        try await with({
            if byRows { $0.letters.rows = 3 } else { $0.letters.bytes = 900 }
        }) { backend, desk in
            for id in ["a", "b", "c"] {
                let answer = try await backend.upload("{\"batch\":[\(Self.put(id))]}", user: "canary")
                #expect(answer.errorCodes == ["CHECK_VIOLATION"])
            }
            for name in ["bad", "good"] {
                let refused = try await backend.upload("{\"batch\":[\(Self.put("d", name))]}", user: "canary")
                #expect(refused.status == 429)
                #expect(refused.json["code"] == .string("DEAD_LETTER_QUOTA"))
                #expect(refused.fields["retry-after"] != nil)
            }
            #expect(
                try await backend.upload("{\"batch\":[\(Self.put("o", "good"))]}", user: "u2").status == 200)
            let errors = backend.lines.withLock { $0 }.filter { $0.contains("ERROR") }
            #expect(errors.count == 1)
            let line = try #require(errors.first)
            #expect(!line.contains("canary"), "users are named by their digests")
            let start = try #require(line.range(of: "letters.free=\"powersync-backend "))
            let words = line[start.upperBound...].prefix { $0 != "\"" }.split(separator: " ").map(String.init)
            let freed = await desk.run(words[0], words[1], words[2], words[3], words[4], words[5])
            #expect(freed.status == 0 && freed.text == "3 discarded.")
            try await wait(
                for: "uploads to go on",
                read: {
                    try await backend.upload("{\"batch\":[\(Self.put("d", "good"))]}", user: "canary").status
                },
                until: { $0 == 200 })
        }
    }

    /// A batch of which each operation leaves a letter comes to an end at the quota, whatever it holds.
    @Test func aRequestThatIsCutStopsAtTheQuota() async throws {
        try await with({
            $0.letters.rows = 10
            $0.isolatesLegacyBatches = true
        }) { backend, _ in
            let operations = (0..<300).map { Self.put("r\($0)") }
            let body = "{\"batch\":[\(operations.joined(separator: ","))]}"
            let answer = try await backend.upload(body)
            #expect(answer.status == 429 && answer.json["code"] == .string("DEAD_LETTER_QUOTA"))
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "64")
            #expect(try await backend.upload(body).status == 429)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "64")
            // One that ends with its last piece is answered as it is.
            let last = try await backend.upload(
                "{\"batch\":[\(operations[..<64].joined(separator: ","))]}", user: "u2")
            #expect(last.status == 200 && last.states.count { $0 == "rejected" } == 64)
        }
    }

    /// While nobody can read the letters, uploads that leave none are applied.
    @Test func aQuotaThatCannotBeLookedAtHoldsUpNobodyForLong() async throws {
        try await with({ $0.quotaTimeout = .seconds(1) }) { backend, _ in
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; LOCK TABLE psb.dead_letters")
            let upload = Task { try await backend.upload("{\"batch\":[\(Self.put("a", "good"))]}") }
            let answer = try await wait(forEndOf: upload)
            #expect(answer.states == ["applied"])
            try await holder.script("ROLLBACK")
            await holder.close()
        }
    }

    /// Nobody has made room by that.
    @Test func aQuotaThatIsFullStaysSoWhileItCannotBeLookedAt() async throws {
        try await with({
            $0.letters.rows = 1
            $0.quotaTimeout = .seconds(1)
        }) { backend, _ in
            #expect(try await backend.apply(Self.put("a")) == "CHECK_VIOLATION")
            let good = "{\"batch\":[\(Self.put("b", "good"))]}"
            try await wait(
                for: "the quota to be known", read: { try await backend.upload(good).status },
                until: { $0 == 429 })
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; LOCK TABLE psb.dead_letters")
            // What was read holds for a second; only who looks takes long.
            let refused = try await wait(
                for: "an upload that looks",
                read: { () async throws -> (status: Int, time: Duration) in
                    let start = ContinuousClock.now
                    let status = try await backend.upload(good).status
                    return (status, ContinuousClock.now - start)
                }, until: { $0.time > .milliseconds(900) })
            #expect(refused.status == 429)
            try await holder.script("ROLLBACK")
            await holder.close()
        }
    }

    @Test func aFailureThatRefusesNothingLeavesTheReading() async throws {
        let schema =
            OperatorDesk.schema + """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$;
                CREATE TRIGGER fails BEFORE INSERT ON lists FOR EACH ROW WHEN (NEW.id = 'full')
                    EXECUTE FUNCTION fail();
                """
        try await OperatorDesk.with(schema: schema, { $0.letters.rows = 1 }) { backend, _ in
            #expect(try await backend.apply(Self.put("a", "good")) == "applied")
            let failure = try await backend.upload("{\"batch\":[\(Self.put("full", "good"))]}")
            #expect(failure.status == 503)
            // As another backend might: only who looks again sees it.
            _ = try await backend.query(
                """
                INSERT INTO psb.dead_letters (id, user_id, error_code, message, payload, claims, request_id)
                VALUES (gen_random_uuid(), 'u1', 'CHECK_VIOLATION', 'refused', '[]', '{}', 'r')
                """)
            #expect(try await backend.apply(Self.put("b", "good")) == "applied")
        }
    }

    @Test func aLetterThatNobodyAnswersForCounts() async throws {
        try await TestBackend.withRelay(
            schema: OperatorDesk.schema, map: Self.map,
            {
                $0.letters.rows = 1
                $0.uploadTimes.transaction = TestOptions.standstill
            }
        ) { backend, relay in
            #expect(try await backend.apply(Self.put("a", "good")) == "applied")
            relay.swallowCommits(1, then: .silent)
            let unheard = try await backend.upload("{\"batch\":[\(Self.put("b"))]}")
            #expect(relay.swallowed == 1)
            #expect(unheard.status == 503)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
            let next = try await backend.upload("{\"batch\":[\(Self.put("c", "good"))]}")
            #expect(next.json["code"] == .string("DEAD_LETTER_QUOTA"))
        }
    }

    @Test func transactionsBehindTheQuotaAreNotAttempted() async throws {
        try await with({
            $0.letters.rows = 2
            $0.continuesAfterFatalError = true
        }) { backend, _ in
            let crud = (1...5).map { "{\"crud\":[{\"op_id\":\($0)," + Self.put("r\($0)").dropFirst() + "]}" }
            let body = "{\"v\":1,\"client_id\":\"c\",\"transactions\":[\(crud.joined(separator: ","))]}"
            let answer = try await backend.upload(body)
            #expect(answer.status == 200)
            #expect(
                answer.results == [
                    "fatal_error", "fatal_error", "not_attempted", "not_attempted", "not_attempted",
                ])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "2")
        }
    }

    /// Sixteen mebibytes of one letter take little room in the database, and much time and memory of whoever reads them.
    @Test func whatIsStoredCountsAsItWasSent() async throws {
        try await with({ $0.letters.bytes = 1 << 20 }) { backend, _ in
            let long = String(repeating: "x", count: 1 << 20)
            let operations = [Self.put("a"), Self.put("b", long)].joined(separator: ",")
            let refused = try await backend.upload("{\"batch\":[\(operations)]}")
            #expect(refused.errorCodes == ["CHECK_VIOLATION"])
            #expect(
                try await backend.scalar("SELECT pg_column_size(payload) < 100000 FROM psb.dead_letters")
                    == "t")
            #expect(try await backend.upload("{\"batch\":[\(Self.put("c"))]}").status == 429)
        }
    }

    @Test func lettersAreKeptForAMonthAndRemovedInBatches() async throws {
        try await with { backend, _ in
            for id in ["a", "b"] { _ = try await backend.upload("{\"batch\":[\(Self.put(id))]}") }
            // Its own pruning, which a start begins, would remove some of them.
            await backend.backend.stop()
            _ = try await backend.query(
                """
                UPDATE psb.dead_letters SET occurred_at = now() - interval '29 days 23 hours' WHERE row_id = 'a'
                """)
            _ = try await backend.query(
                """
                INSERT INTO psb.dead_letters (id, occurred_at, user_id, error_code, message, payload, claims, request_id)
                SELECT gen_random_uuid(), now() - interval '30 days 1 hour', 'u' || n, 'X', 'x', '[]', '{}', 'r'
                FROM generate_series(1, 1201) n
                """)
            let pool = PostgresPool(
                uri: backend.uri, limits: .patient(size: 1), poller: backend.poller)
            let pruning = DeadLetterPruning(
                policy: DeadLetterPolicy(), pool: pool, poller: backend.poller,
                log: Log(label: "x", sink: { _ in }))
            #expect(try await pruning.prune() == 1_201)
            #expect(try await pruning.prune() == 0)
            await pool.close()
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "2")
        }
    }

    @Test func aBackendThatStartsRemovesWhatIsTooOld() async throws {
        try await with { backend, _ in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a"))]}")
            _ = try await backend.query(
                "UPDATE psb.dead_letters SET occurred_at = now() - interval '2 days'")
            let second = try await TestBackend.start(schema: "", uri: backend.uri, map: Self.map) {
                $0.letters.kept = .seconds(86_400)
            }
            try await wait(
                for: "the letter to be gone",
                read: { try await backend.scalar("SELECT count(*) FROM psb.dead_letters") },
                until: { $0 == "0" })
            await second.stop()
        }
    }

    @Test func lettersThatNobodyHasSeenToAreToldOfBeforeTheyGo() async throws {
        #expect(DeadLetterPolicy().warned == .seconds(27 * 86_400))
        try await with { backend, desk in
            for id in ["a", "b", "c"] { _ = try await backend.upload("{\"batch\":[\(Self.put(id))]}") }
            let ids = try await backend.letterIDs()
            #expect(await desk.run("letters", "discard", ids[0]).status == 0)
            _ = try await backend.query(
                """
                UPDATE psb.dead_letters SET occurred_at = now() - interval '27 days 1 hour' WHERE row_id <> 'c'
                """)
            let second = try await TestBackend.start(schema: "", uri: backend.uri, map: Self.map)
            try await wait(
                for: "the log to warn",
                read: { second.lines.withLock { $0 }.first { $0.contains("about to be pruned") } },
                until: { $0?.contains("WARNING") == true && $0?.contains("letters.rows=1") == true })
            await second.stop()
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "3")
        }
    }

    /// What the database stops is tried again soon, not in an hour.
    @Test func aBusyMomentNeitherKeepsLettersNorTheWarningOfThem() async throws {
        try await with { backend, _ in
            for id in ["a", "b"] { _ = try await backend.upload("{\"batch\":[\(Self.put(id))]}") }
            // Its own pruning, which a start begins, would wait for the lock in the place of the second one's.
            await backend.backend.stop()
            _ = try await backend.query(
                """
                UPDATE psb.dead_letters
                SET occurred_at = now() - CASE row_id WHEN 'a' THEN interval '31 days' ELSE interval '28 days' END
                """)
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; LOCK TABLE psb.dead_letters")
            let second = try await TestBackend.start(schema: "", uri: backend.uri, map: Self.map)
            try await backend.waitForLocked(1)
            try await backend.cancelLocked()
            try await wait(for: "the pruning to wait") {
                second.lines.withLock { $0.contains { $0.contains("pruning waits") } }
            }
            try await holder.script("ROLLBACK")
            await holder.close()
            try await wait(
                for: "the log to warn",
                read: { second.lines.withLock { $0 }.first { $0.contains("about to be pruned") } },
                until: { $0?.contains("letters.rows=1") == true })
            #expect(try await backend.query("SELECT row_id FROM psb.dead_letters") == [["b"]])
            await second.stop()
        }
    }

    // MARK: Commands

    @Test func lettersAreListedAndShown() async throws {
        try await with { backend, desk in
            #expect(await desk.run("letters", "list").text == "There are no dead letters that are open.")
            let id = #"r\u001b[31m\u202e"#
            _ = try await backend.upload("{\"batch\":[\(Self.put("ok", "good")),\(Self.put(id))]}")
            _ = try await backend.upload("{\"batch\":[\(Self.put("b"))]}", user: "u2")
            let ids = try await backend.letterIDs()
            let list = await desk.run("letters", "list")
            #expect(list.status == 0)
            let lines = list.text.split(separator: "\n")
            #expect(lines.count == 3 && lines[0].hasPrefix("ID ") && lines[1].hasPrefix(ids[0].prefix(8)))
            #expect(lines[1].contains("CHECK_VIOLATION") && lines[2].contains("u2"))
            #expect(list.text.contains("\\u{1b}[31m\\u{202e}"))
            #expect(!list.text.unicodeScalars.contains { $0.value == 0x1B || $0.value == 0x202E })
            let one = await desk.run("letters", "list", "--user", "u2", "--json")
            #expect(try one.json["total"] == .integer(1))
            #expect(try one.json["letters"]?.arrayValue?.first?["row_id"] == .string("b"))
            let digest = DeadLetterQuota.digest(of: "u2")
            #expect(await desk.run("letters", "list", "--digest", digest, "--json").text == one.text)
            let newest = await desk.run("letters", "list", "--limit", "1").text
            #expect(newest.contains(ids[1].prefix(8)) && newest.contains("1 older ones are not shown"))
            let shown = await desk.run("letters", "show", String(ids[0].prefix(8)))
            #expect(shown.text.contains("sqlstate") && shown.text.contains("23514"))
            #expect(
                shown.text.contains("→ 1  {\"op\":\"PUT\"") && shown.text.contains("  0  {\"op\":\"PUT\""))
            let json = try await desk.run("letters", "show", ids[0], "--json").json
            #expect(json["operations"]?.arrayValue?.count == 2 && json["user"] == .string("u1"))
            #expect(await desk.run("letters", "show", "xyz!").status == 64)
            let none = await desk.run("letters", "show", "00000000-0000-4000-8000-000000000000")
            #expect(none.status == 1)
            #expect(none.errors == "error: there is no dead letter 00000000-0000-4000-8000-000000000000")
            #expect(await desk.run("letters", "list", "--state", "odd").status == 64)
        }
    }

    /// A letter holds less than the transaction did: what was known before, or cut out, is not in it.
    @Test func theOperationThatFailedIsFoundInWhatTheLetterHolds() async throws {
        func crud(_ operations: String...) -> String {
            #"{"v":1,"client_id":"c","transactions":[{"crud":[\#(operations.joined(separator: ","))]}]}"#
        }
        func put(_ number: Int, _ name: String) -> String {
            "{\"op_id\":\(number)," + Self.put("r\(number)", name).dropFirst()
        }
        func marked(_ backend: TestBackend, _ desk: OperatorDesk) async throws -> [String] {
            var lines: [String] = []
            for id in try await backend.letterIDs() {
                lines += await desk.run("letters", "show", id).text.split(separator: "\n").map(String.init)
            }
            return lines.filter { $0.hasPrefix("→") }
        }
        try await with { backend, desk in
            _ = try await backend.upload(crud(put(1, "known")))
            let answer = try await backend.upload(crud(put(1, "known"), put(2, "bad"), put(3, "behind")))
            #expect(answer.states == ["replayed", "rejected", "skipped"])
            let lines = try await marked(backend, desk)
            #expect(
                lines.count == 1 && lines.first?.hasPrefix("→ 0") == true
                    && lines.first?.contains("r2") == true)
        }
        try await with({ $0.isolatesLegacyBatches = true }) { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(put(1, "a")),\(put(2, "bad")),\(put(3, "c"))]}")
            let lines = try await marked(backend, desk)
            #expect(lines.count == 1 && lines.first?.contains("r2") == true)
        }
    }

    /// JSON is for programs, but a terminal shows it, too.
    @Test func nothingThatActsOnATerminalIsPrinted() async throws {
        try await with { backend, desk in
            let id = "r\u{9b}31m\u{202e}\u{7f}\u{2028}\u{e0041}é"
            _ = try await backend.upload("{\"batch\":[\(Self.put(id))]}")
            let letter = try #require(try await backend.letterIDs().first)
            for arguments in [
                ["letters", "list", "--json"], ["letters", "show", letter, "--json"], ["letters", "list"],
                ["letters", "show", letter],
            ] {
                let answer = await desk.run(arguments)
                #expect(answer.status == 0 && answer.text.contains("é"))
                let odd = answer.text.unicodeScalars.filter {
                    [.control, .format, .lineSeparator].contains($0.properties.generalCategory) && $0 != "\n"
                }
                #expect(odd.isEmpty, "\(arguments)")
                guard arguments.last == "--json" else { continue }
                let rows = try answer.json["letters"]?.arrayValue ?? [try answer.json]
                #expect(rows.map { $0["row_id"] } == [.string(id)])
            }
        }
    }

    @Test func aLetterIsAppliedAsItsSenderWouldHaveIt() async throws {
        try await with { backend, desk in
            let operations = [
                #"{"op_id":7,"op":"PUT","table":"lists","id":"a","data":{"name":"bad"}}"#,
                #"{"op_id":9,"op":"PATCH","table":"lists","id":"a","data":{"name":"better"}}"#,
            ]
            let body =
                "{\"v\":1,\"client_id\":\"c\",\"transactions\":[{\"crud\":[\(operations.joined(separator: ","))]}]}"
            #expect(try await backend.upload(body, user: "owner").errorCodes == ["CHECK_VIOLATION"])
            let id = try #require(try await backend.letterIDs().first)
            let again = await desk.run("letters", "replay", id)
            #expect(again.status == 1 && again.text.contains("CHECK_VIOLATION"))
            #expect(
                try await backend.query("SELECT id, state, attempts::text FROM psb.dead_letters")
                    == [[id, "open", "2"]])
            _ = try await backend.query("ALTER TABLE lists DROP CONSTRAINT lists_name_check")
            let applied = await desk.run("letters", "replay", id)
            #expect(applied.status == 0 && applied.text == "Applied: 2 applied.")
            #expect(
                try await backend.query("SELECT id, owner_id, name FROM lists") == [["a", "owner", "better"]])
            #expect(try await backend.scalar("SELECT state FROM psb.dead_letters") == "replayed")
            let late = await desk.run("letters", "replay", id)
            #expect(late.status == 1)
            #expect(late.errors == "error: \(id) is replayed already; nothing is changed")
            // As if the record of it had been lost with the operator's connection.
            _ = try await backend.query(
                "UPDATE psb.dead_letters SET state = 'open', attempts = attempts - 1, replay_claims = '{}'")
            let repeated = await desk.run("letters", "replay", id, "--json")
            #expect(repeated.status == 0)
            #expect(try repeated.json["outcome"] == .string("applied"))
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "2")
            #expect(try await backend.scalar("SELECT state FROM psb.dead_letters") == "replayed")
        }
    }

    @Test func laterLettersOfTheSameRowAreNamedFirst() async throws {
        try await with { backend, desk in
            _ = try await backend.upload("{\"batch\":[\(Self.put("a")),\(Self.put("b", "good"))]}")
            _ = try await backend.upload("{\"batch\":[\(Self.put("other"))]}")
            _ = try await backend.upload("{\"batch\":[\(Self.put("b"))]}", user: "u2")
            let ids = try await backend.letterIDs()
            _ = try await backend.query("ALTER TABLE lists DROP CONSTRAINT lists_name_check")
            let held = await desk.run("letters", "replay", ids[0])
            #expect(held.status == 1)
            #expect(held.text.contains(ids[2].prefix(8)) && !held.text.contains(ids[1].prefix(8)))
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            let sure = await desk.run("letters", "replay", ids[0], "--yes", "--json")
            #expect(sure.status == 0)
            #expect(try sure.json["later"]?.arrayValue?.map { $0["id"] } == [.string(ids[2])])
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "2")
        }
    }

    @Test func whatIsDiscardedIsDropped() async throws {
        try await with { backend, desk in
            for id in ["a", "b", "c"] { _ = try await backend.upload("{\"batch\":[\(Self.put(id))]}") }
            let ids = try await backend.letterIDs()
            #expect(await desk.run("letters", "discard").status == 64)
            #expect(await desk.run("letters", "discard", "--all").status == 64)
            let two = await desk.run("letters", "discard", ids[0], ids[1])
            #expect(two.status == 0 && two.text == "2 discarded.")
            #expect(
                try await backend.query(
                    "SELECT state, payload::text FROM psb.dead_letters ORDER BY occurred_at LIMIT 2")
                    == [["discarded", "null"], ["discarded", "null"]])
            // One that is gone keeps the others from being touched.
            let gone = await desk.run("letters", "discard", ids[2], ids[0])
            #expect(gone.status == 1)
            #expect(gone.errors == "error: \(ids[0]) is discarded already; nothing is changed")
            let asked = await desk.run("letters", "discard", "--all", "--user", "u1")
            #expect(asked.status == 1 && asked.text.hasPrefix("1 would be discarded"))
            #expect(
                try await backend.scalar("SELECT count(*) FROM psb.dead_letters WHERE state = 'open'") == "1")
            #expect(await desk.run("letters", "show", ids[0]).text.contains("were dropped"))
        }
    }

    @Test func aSchemaOfAnOlderBackendIsCalledOne() async throws {
        try await with { backend, desk in
            _ = try await backend.query("ALTER TABLE psb.dead_letters DROP COLUMN bytes")
            let list = await desk.run("letters", "list")
            #expect(list.status == 1 && list.text.isEmpty)
            #expect(
                list.errors.hasPrefix(
                    "error: the schema psb is of an older backend: run `powersync-backend migrate`"))
        }
    }

    @Test func aDatabaseThatIsNotThereIsCalledThat() async throws {
        for arguments in [["letters", "list"], ["erase", "--user", "u1"], ["migrate"]] {
            let answer = await OperatorDesk(uri: "postgres://127.0.0.1:1/none").run(arguments)
            #expect(answer.status == 1 && answer.text.isEmpty)
            #expect(answer.errors.hasPrefix("error: the database: "))
        }
    }

    @Test func failuresSayWhatIsKnown() {
        func explained(_ error: any Error) -> String { "\(OperatorFailure.explained(error))" }
        func server(_ state: String) -> PostgresError { PostgresError(.server, "x\u{9b}", sqlstate: state) }
        #expect(explained(server("42P01")).contains("no schema psb"))
        #expect(explained(server("3F000")).contains("no schema psb"))
        #expect(explained(server("42703")).contains("older backend"))
        #expect(explained(server("57014")).hasPrefix("the database: x\\u{9b}"))
        let lost = explained(UploadFailure(code: "DATABASE_UNAVAILABLE"))
        #expect(explained(UploadFailure(code: "LETTER_NOT_OPEN")).contains("meanwhile; nothing is changed"))
        #expect(
            lost.contains("not known") && lost.contains("DATABASE_UNAVAILABLE")
                && !lost.contains("nothing is"))
    }

    @Test func theHelpOfTheCommandsTeaches() throws {
        let command = BackendCommand.named("powersync-backend")
        #expect(
            command.subcommands.map(\.name) == ["start", "migrate", "letters", "erase", "keys", "config"])
        let letters = try #require(command.subcommands.first { $0.name == "letters" })
        #expect(letters.subcommands.map(\.name) == ["list", "show", "replay", "discard"])
        #expect(letters.discussion.contains("429") && letters.discussion.contains("30 days"))
    }
}
