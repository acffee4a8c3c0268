import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the ledger makes of repetitions, in whatever groups they come (backend 3.5).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct LedgerTests {
    private static let schema = TestBackend.demoTables + TestBackend.counted

    private func operation(_ number: Int, _ name: String? = nil) -> String {
        #"{"op_id":\#(number),"op":"PUT","table":"lists","id":"r\#(number)","data":{"name":"\#(name ?? "n\(number)")"}}"#
    }

    private func body(_ transactions: [String]...) -> String {
        let list = transactions.map { #"{"crud":[\#($0.joined(separator: ","))]}"# }
        return #"{"v":1,"client_id":"c","transactions":[\#(list.joined(separator: ","))]}"#
    }

    private func rejections(_ answer: TestBackend.Answer) -> [String] {
        (answer.json["results"]?.arrayValue ?? []).compactMap { $0["rejection_id"]?.stringValue }
    }

    /// A rejection stands for all operations of its transaction, and for them alone.
    @Test func aRejectionIsRepeatedForEachOfItsOperations() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let first = try await backend.upload(body([operation(1), operation(2), operation(3, "bad")]))
            #expect(first.states == ["skipped", "skipped", "rejected"])
            // Regrouped: the first two, and the third alone.
            let prefix = try await backend.upload(body([operation(1), operation(2)]))
            #expect(prefix.results == ["fatal_error"])
            #expect(prefix.states == ["skipped", "skipped"])
            #expect(prefix.errorCodes == ["CHECK_VIOLATION"])
            #expect(prefix.json["results"]?.arrayValue?[0]["failed_operation"]?["operation_index"] == nil)
            #expect(prefix.json["replayed"]?.boolValue == true)
            let last = try await backend.upload(body([operation(3, "bad")]))
            #expect(last.states == ["rejected"])
            #expect(
                last.json["results"]?.arrayValue?[0]["failed_operation"]?["operation_index"]?.int64Value == 0)
            #expect(rejections(first) + rejections(first) == rejections(prefix) + rejections(last))
            // With one that was not seen: it is executed, and the old rejection is told.
            let mixed = try await backend.upload(body([operation(2), operation(3, "bad"), operation(4)]))
            #expect(mixed.results == ["fatal_error"])
            #expect(mixed.states == ["skipped", "rejected", "applied"])
            #expect(rejections(mixed) == rejections(first))
            #expect(mixed.json["results"]?.arrayValue?[0]["replayed"]?.boolValue == false)
            #expect(try await backend.query("SELECT id FROM lists") == [["r4"]])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
        }
    }

    /// A plan from when the ledger was small is kept until statistics come, and must not read all of it at each upload.
    @Test func aKeptPlanReadsItByItsIndex() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            let opening = "SELECT psb.open('{}', 'u1', '{}', '{}', '{}', 'c', 10000, 10000, 0, NULL)"
            // A table that is known to be empty is read as a whole: nothing is cheaper.
            try await connection.query("VACUUM psb.ledger")
            for _ in 1...10 { try await connection.query(opening) }
            try await connection.query(
                """
                INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, op_ids, op_hashes,
                        hashing, verdict)
                    SELECT u, c, n + o, n + o, 0, ARRAY[n], ARRAY[n], 2, 1 FROM generate_series(1, 5000) AS n,
                        (VALUES ('u1', 'c', 0), ('u1', 'd', 10000), ('u2', 'c', 10000)) AS others (u, c, o)
                """)
            try await connection.script("BEGIN; \(opening)")
            let scans = try await connection.query(
                """
                SELECT seq_scan::text, idx_tup_fetch::text FROM pg_stat_xact_user_tables
                    WHERE relid = 'psb.ledger'::regclass
                """)
            #expect(scans[0, 0] == "0")
            #expect(scans[0, 1] == "0")
            await connection.close()
        }
    }

    @Test func whatIsUnseenIsRejectedForItself() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            #expect(try await backend.upload(body([operation(1)])).states == ["applied"])
            let answer = try await backend.upload(body([operation(1), operation(2), operation(3, "bad")]))
            #expect(answer.states == ["replayed", "skipped", "rejected"])
            #expect(
                try await backend.scalar("SELECT json_array_length(payload)::text FROM psb.dead_letters")
                    == "2")
            #expect(
                try await backend.query("SELECT first_op_id::text, last_op_id::text FROM psb.dead_letters")
                    == [["2", "3"]])
        }
    }

    /// Entries of a copied device lie within those of the first: each of its operations is looked up for itself.
    @Test func everyEntryOfTheRangeCounts() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let all = (1...10).map { operation($0) }
            _ = try await backend.upload(body(all))
            #expect(
                try await backend.upload(body([operation(3, "x"), operation(4, "y")])).states == [
                    "applied", "applied",
                ])
            #expect(
                try await backend.upload(body([operation(5), operation(6)])).states == [
                    "replayed", "replayed",
                ])
            #expect(
                try await backend.upload(body([operation(4, "y"), operation(5), operation(11)])).states
                    == ["replayed", "replayed", "applied"])
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "13")
        }
    }

    /// Two groupings of one queue at once, behind an entry that both know: what both hold is executed once.
    ///
    /// The database's own level would not see what was committed while the lock of the client was waited for.
    @Test func groupingsAtOnceExecuteNothingTwice() async throws {
        let schema =
            Self.schema + TestBackend.gated(where: "NEW.id = 'r6'") + """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET default_transaction_isolation = ''repeatable read''',
                        current_database());
                END $$;
                """
        try await TestBackend.with(schema: schema) { backend in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            _ = try await backend.upload(body((1...5).map { operation($0) }))
            async let long = backend.upload(body((1...10).map { operation($0) }))
            try await gate.waitForArrivals()
            async let short = backend.upload(body((1...7).map { operation($0) }))
            async let other = backend.upload(body((8...12).map { operation($0) }))
            try await backend.waitForLocked(3)
            try await gate.open()
            #expect(try await long.status == 200)
            #expect(try await short.states == Array(repeating: "replayed", count: 7))
            #expect(
                try await other.states == Array(repeating: "replayed", count: 3) + ["applied", "applied"])
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "12")
        }
    }

    @Test func aQueueThatIsWrittenAgainIsTheSameQueue() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            func upload(_ data: String) async throws -> [String] {
                try await backend.upload(
                    body([#"{"op_id":1,"op":"PUT","table":"lists","id":"a","data":\#(data)}"#])
                ).states
            }
            let first = try await upload(#"{"name":"1","created_at":"2026-01-01 00:00:00Z"}"#)
            #expect(first == ["applied"])
            #expect(try await upload(#"{"created_at":"2026-01-01 00:00:00Z","name":"1"}"#) == ["replayed"])
            #expect(
                try await upload(#"{"id":"a","created_at":"2026-01-01 00:00:00Z","name":"1"}"#) == [
                    "replayed"
                ])
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "1")
        }
    }

    /// What was applied long ago may name what is not there any more.
    @Test func whatIsKnownIsNotPlannedAgain() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let old = #"{"op_id":1,"op":"PUT","table":"lists","id":"a","data":{"name":"1","owner_id":null}}"#
            #expect(try await backend.upload(body([old])).states == ["applied"])
            _ = try await backend.query("ALTER TABLE lists DROP COLUMN owner_id")
            #expect(try await backend.upload(body([old])).states == ["replayed"])
            #expect(try await backend.upload(body([old, operation(9)])).states == ["replayed", "applied"])
            let unknown = #"{"op_id":2,"op":"PUT","table":"lists","id":"b","data":{"name":"1","nothing":1}}"#
            #expect(try await backend.upload(body([unknown])).states == ["rejected"])
            let again = try await backend.upload(body([unknown, operation(3)]))
            #expect(
                again.states == ["rejected", "applied"],
                "the known refusal is no reason to refuse its neighbour")
        }
    }

    @Test func troubleBehindACommitIsSaidWithinTheAnswer() async throws {
        let schema =
            Self.schema + """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE = '42601'; END $$;
                CREATE TRIGGER fails BEFORE INSERT ON lists FOR EACH ROW WHEN (NEW.id = 'r2') EXECUTE FUNCTION fail();
                """
        try await TestBackend.with(schema: schema) { backend in
            let answer = try await backend.upload(body([operation(1)], [operation(2)], [operation(3)]))
            #expect(answer.status == 200)
            #expect(answer.results == ["success", "retryable_error", "not_attempted"])
            #expect(try await backend.upload(body([operation(2)])).status == 500)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    @Test func numbersAtTheirEndsAreNumbers() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let (first, last) = (Int.min + 1, Int.max)
            let ends = try await backend.upload(body([operation(first, "a"), operation(last, "b")]))
            #expect(ends.states == ["applied", "applied"])
            #expect(try await backend.upload(body([operation(5)])).states == ["applied"])
            #expect(
                try await backend.upload(body([operation(first, "a"), operation(5), operation(last, "b")]))
                    .states
                    == ["replayed", "replayed", "replayed"])
        }
    }

    /// A copy of the device may mean something else by the same number; what was refused says nothing about that.
    @Test func whatNobodyKnowsIsNoDelete() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let first = try await backend.upload(body([operation(9)]))
            #expect(first.states == ["applied"])
            func upload(_ kind: String) async throws -> [String] {
                try await backend.upload(
                    body([#"{"op_id":10,"op":"\#(kind)","table":"lists","id":"r9"}"#])
                ).states
            }
            for _ in 0..<2 { #expect(try await upload("MERGE") == ["rejected"]) }
            #expect(try await upload("DELETE") == ["applied"])
            #expect(try await upload("DELETE") == ["replayed"])
            for _ in 0..<2 { #expect(try await upload("MERGE") == ["rejected"]) }
            #expect(try await upload("UPSERT") == ["rejected"])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "2")
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
        }
    }

    /// Some clients say what they delete, and do not say it again.
    @Test func theDataOfADeleteIsNotPartOfIt() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            #expect(try await backend.upload(body([operation(1)])).states == ["applied"])
            let with = #"{"op_id":2,"op":"DELETE","table":"lists","id":"r1","data":{"name":"n1"}}"#
            #expect(try await backend.upload(body([with])).states == ["applied"])
            _ = try await backend.query("INSERT INTO lists (id, name) VALUES ('r1', 'anew')")
            let without = #"{"op_id":2,"op":"DELETE","table":"lists","id":"r1"}"#
            #expect(try await backend.upload(body([without])).states == ["replayed"])
            #expect(try await backend.scalar("SELECT name FROM lists") == "anew")
        }
    }

    /// An empty name is none: devices that send it are not one client.
    @Test func anEmptyClientIsNoClient() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let anonymous = body([operation(1)]).replacing(#""client_id":"c""#, with: #""client_id":"""#)
            for _ in 0..<2 {
                let answer = try await backend.upload(anonymous)
                #expect(answer.states == ["applied"])
            }
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "2")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.ledger") == "0")
        }
    }

    // MARK: Bounds

    /// A rejection is kept as what its cause was, however many operations it stands for.
    @Test func aLongRejectionIsKeptAndRepeatedAsItsCause() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            let operations = (1...5_000).map {
                #"{"op_id":\#($0),"op":"PATCH","table":"\#($0 == 7 ? "nothing" : "lists")","id":"v","data":{}}"#
            }
            let states = (1...5_000).map { $0 == 7 ? "rejected" : "skipped" }
            let first = try await backend.upload(body(operations))
            #expect(first.states == states)
            let kept = try await backend.query(
                "SELECT json_array_length(result->'ops')::text FROM psb.ledger")
            #expect(kept == [["1"]])
            let again = try await backend.upload(body(operations))
            #expect(again.states == states && rejections(again) == rejections(first))
            // As backends kept it that wrote every state.
            _ = try await backend.query(
                """
                UPDATE psb.ledger SET result = json_build_object('status', 'fatal_error', 'replayed', false,
                    'requires_client_handling', false, 'rejection_id', result->'rejection_id',
                    'failed_operation', result->'failed_operation', 'ops', (SELECT json_agg(json_build_object('i', n - 1,
                        'op_id', n, 'status', CASE n WHEN 7 THEN 'rejected' ELSE 'skipped' END)) FROM generate_series(1, 5000) n))
                """)
            let former = try await backend.upload(body(operations))
            #expect(former.states == states && rejections(former) == rejections(first))
            #expect(
                former.json["results"]?.arrayValue?[0]["failed_operation"]?["operation_index"] == .integer(6))
        }
    }

    /// Stored results are read some at a time; of all of them the first is told.
    @Test func manyRejectionsAreReadInParts() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            var ids: [String] = []
            for number in 1...12 {
                let answer = try await backend.upload(body([operation(number, "bad")]))
                ids += rejections(answer)
            }
            _ = try await backend.query(
                """
                UPDATE psb.ledger SET result = json_build_object('status', 'fatal_error', 'replayed', false,
                    'requires_client_handling', false, 'rejection_id', result->'rejection_id', 'ops', result->'ops',
                    'failed_operation', json_build_object('operation_index', 0, 'error_code', 'CHECK_VIOLATION',
                        'message', repeat('x', 300000)))
                """)
            let all = try await backend.upload(body((1...13).map { operation($0, $0 < 13 ? "bad" : "good") }))
            #expect(all.states == Array(repeating: "rejected", count: 12) + ["applied"])
            #expect(rejections(all) == [ids[0]])
            let last = try await backend.upload(body((5...8).map { operation($0, "bad") }))
            #expect(rejections(last) == [ids[4]])
        }
    }

    // MARK: Pruning

    private func age(_ backend: TestBackend, _ condition: String) async throws {
        _ = try await backend.query(
            "UPDATE psb.ledger SET created_at = created_at - interval '25 hours' WHERE \(condition)")
    }

    /// What a later request has confirmed is forgotten after a day; the answer to anything else may have been lost.
    @Test func whatTheClientHasNotConfirmedIsKeptForEver() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            _ = try await backend.upload(body([operation(1)], [operation(2)]))
            _ = try await backend.upload(body([operation(3)], [operation(4)], [operation(5)]))
            _ = try await backend.query(
                "INSERT INTO psb.commits VALUES (gen_random_uuid(), 1, NULL, now() - interval '2 hours')")
            // The backend prunes by itself, too, so only what is left can be counted.
            _ = try await backend.backend.pruneLedger()
            #expect(try await backend.scalar("SELECT count(*) FROM psb.commits") == "0")
            #expect(
                try await backend.scalar("SELECT count(*) FROM psb.ledger") == "5", "nothing is a day old")
            try await age(backend, "true")
            _ = try await backend.backend.pruneLedger()
            #expect(
                try await backend.query("SELECT first_op_id::text FROM psb.ledger ORDER BY 1") == [
                    ["3"], ["4"], ["5"],
                ])
            // A phone that was off since.
            #expect(
                try await backend.upload(body([operation(3)], [operation(4)], [operation(5)])).states
                    == ["replayed", "replayed", "replayed"])
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "5")
        }
    }

    @Test func pruningWalksInBatches() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            _ = try await backend.query(
                """
                INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, op_ids, op_hashes,
                        hashing, verdict, created_at)
                    SELECT 'u' || n % 7, 'c', n, n, n - 1, ARRAY[n], ARRAY[0], 2, 1, now() - interval '30 hours'
                    FROM generate_series(1, 3500) AS n
                """)
            _ = try await backend.backend.pruneLedger()
            #expect(try await backend.scalar("SELECT count(*) FROM psb.ledger") == "7")
        }
    }

    /// Everything rejected of one request, as `isolate` makes it, and not confirmed: what is younger goes all the same.
    @Test func manyEntriesOfOneClientDoNotStopThePruning() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            _ = try await backend.query(
                """
                INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, op_ids, op_hashes,
                        hashing, verdict, created_at)
                    SELECT 'u1', 'c', n, n, 0, ARRAY[n], ARRAY[0], 2, 1, now() - interval '31 hours'
                    FROM generate_series(1, 50000) AS n
                    UNION ALL
                    SELECT 'u2', 'c', n, n, n - 1, ARRAY[n], ARRAY[0], 2, 1, now() - interval '30 hours'
                    FROM generate_series(1, 100) AS n
                """)
            _ = try await backend.backend.pruneLedger()
            #expect(
                try await backend.query(
                    "SELECT user_id, count(*)::text FROM psb.ledger GROUP BY 1 ORDER BY 1")
                    == [["u1", "50000"], ["u2", "1"]])
        }
    }

    /// Whoever makes up a client for each request confirms nothing; what is not confirmed of other users is kept for ever.
    @Test func whatNobodyConfirmsIsBounded() async throws {
        try await TestBackend.with(schema: Self.schema) { backend in
            _ = try await backend.query(
                """
                INSERT INTO psb.ledger (user_id, client_id, first_op_id, last_op_id, confirmed_op_id, op_ids, op_hashes,
                        hashing, verdict, created_at)
                    SELECT 'mallory', 'c' || n, 1, 1, 0, ARRAY[1], ARRAY[0], 2, 1,
                        now() - interval '70 days' + n * interval '1 second'
                    FROM generate_series(1, 12500) AS n
                    UNION ALL
                    SELECT 'mallory', 'new' || n, 1, 1, 0, ARRAY[1], ARRAY[0], 2, 1, now() - interval '50 days'
                    FROM generate_series(1, 500) AS n
                    UNION ALL
                    SELECT 'alice', 'c', n, n, 0, ARRAY[n], ARRAY[0], 2, 1, now() - interval '300 days'
                    FROM generate_series(1, 500) AS n
                """)
            for _ in 0..<2 {
                _ = try await backend.backend.pruneLedger()
                let kept = try await backend.query(
                    """
                    SELECT count(*) FILTER (WHERE user_id = 'alice'), count(*) FILTER (WHERE client_id LIKE 'new%'),
                        count(*) FILTER (WHERE client_id LIKE 'c_%') BETWEEN 8000 AND 10000,
                        count(*) FILTER (WHERE client_id = 'c12500')
                    FROM psb.ledger
                    """)
                #expect(kept == [["500", "500", "t", "1"]], "the oldest go, and no more than are too many")
            }
        }
    }
}
