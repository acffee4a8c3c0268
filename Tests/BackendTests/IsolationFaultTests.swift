import PowerSyncBackend
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Batches that are cut while answers to COMMIT are lost, or while something is wrong with a later piece (backend 1.6, 3.5).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct IsolationFaultTests {
    private static let map = "tables: { lists: }\n"
    private static let bad = [3, 66]

    private static func put(_ id: String, _ name: String, opID: Int? = nil) -> String {
        let number = opID.map { "\"op_id\":\($0)," } ?? ""
        return #"{\#(number)"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"\#(name)"}}"#
    }

    private static func body(_ operations: [String]) -> String {
        #"{"client_id":"c","batch":[\#(operations.joined(separator: ","))]}"#
    }

    /// Two pieces, with a bad operation in each.
    private static func batch(hasIDs: Bool) -> String {
        body((0..<70).map { put("r\($0)", bad.contains($0) ? "bad" : "n", opID: hasIDs ? $0 + 1 : nil) })
    }

    /// How often each row was written, by the number of times.
    private func writes(_ backend: TestBackend) async throws -> [[String?]] {
        try await backend.query(
            """
            SELECT times::text, count(*)::text FROM (SELECT count(*) AS times FROM writes GROUP BY id) w
            GROUP BY times ORDER BY times
            """)
    }

    private func letter(_ backend: TestBackend, of row: String) async throws -> String? {
        try await backend.scalar("SELECT id FROM psb.dead_letters WHERE row_id = '\(row)'")
    }

    @Test(arguments: [true, false], [0, 1])
    func aPieceWhoseCommitIsNotHeardOfIsDoneOnce(hasIDs: Bool, piece: Int) async throws {
        try await TestBackend.withRelay(
            schema: TestBackend.demoTables + TestBackend.counted, map: Self.map,
            { $0.isolatesLegacyBatches = true }
        ) { backend, relay in
            relay.swallowCommits(1, then: .cut, after: piece)
            let answer = try await backend.upload(Self.batch(hasIDs: hasIDs))
            #expect(relay.swallowed == 1)
            #expect(answer.status == 200)
            let lost = piece == 0 ? 0..<64 : 64..<70
            #expect(
                answer.states
                    == (0..<70).map {
                        Self.bad.contains($0) ? "rejected" : lost.contains($0) ? "replayed" : "applied"
                    })
            let result = try #require(answer.json["results"]?.arrayValue?.first)
            #expect(result["status"] == .string("fatal_error"))
            #expect(result["failed_operation"]?["operation_index"] == .number("3"))
            #expect(try await letter(backend, of: "r3") == result["rejection_id"]?.stringValue)
            #expect(try await writes(backend) == [["1", "68"]])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "2")
        }
    }

    /// Without ids a batch that was answered with 503 is done again when it comes again.
    @Test(arguments: [true, false], [0, 1])
    func aPieceThatNobodyAnswersForIsSentAgain(hasIDs: Bool, piece: Int) async throws {
        try await TestBackend.withRelay(
            schema: TestBackend.demoTables + TestBackend.counted, map: Self.map,
            {
                $0.isolatesLegacyBatches = true
                $0.uploadTimes.transaction = TestOptions.standstill
            }
        ) { backend, relay in
            relay.swallowCommits(1, then: .silent, after: piece)
            let unheard = try await backend.upload(Self.batch(hasIDs: hasIDs))
            #expect(relay.swallowed == 1)
            #expect(unheard.status == 503)
            let answer = try await backend.upload(Self.batch(hasIDs: hasIDs))
            #expect(answer.status == 200)
            let committed = !hasIDs ? 0 : piece == 0 ? 64 : 70
            #expect(
                answer.states
                    == (0..<70).map {
                        Self.bad.contains($0) ? "rejected" : $0 < committed ? "replayed" : "applied"
                    })
            let result = try #require(answer.json["results"]?.arrayValue?.first)
            #expect(result["status"] == .string("fatal_error"))
            #expect(result["failed_operation"]?["operation_index"] == .number("3"))
            let twice = hasIDs ? 0 : piece == 0 ? 63 : 68
            let expected: [[String?]] = [["1", String(68 - twice)], ["2", String(twice)]]
            #expect(try await writes(backend) == expected.filter { $0[1] != "0" })
            guard hasIDs else { return }
            #expect(try await letter(backend, of: "r3") == result["rejection_id"]?.stringValue)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "2")
        }
    }

    /// By the new type the values of a batch that is committed would be refused.
    @Test(arguments: [true, false], [true, false])
    func whatIsCommittedIsNotCutForAMigrationSince(isolates: Bool, hasIDs: Bool) async throws {
        try await TestBackend.withRelay(map: Self.map, { $0.isolatesLegacyBatches = isolates }) {
            backend, relay in
            let batch = Self.body((0..<3).map { Self.put("r\($0)", "n", opID: hasIDs ? $0 + 1 : nil) })
            #expect(try await backend.upload(Self.body([Self.put("first", "n")])).states == ["applied"])
            relay.swallowCommits(1, then: .cut, isHolding: true)
            async let upload = backend.upload(batch)
            try await wait(
                for: "the batch to be committed",
                read: { try await backend.scalar("SELECT count(*) FROM lists") }, until: { $0 == "4" })
            _ = try await backend.query(
                """
                ALTER TABLE lists DROP CONSTRAINT lists_name_check, ALTER name TYPE integer USING 0
                """)
            relay.letAnswersPass()
            let answer = try await upload
            #expect(relay.swallowed == 1)
            #expect(answer.states == ["replayed", "replayed", "replayed"])
            #expect(answer.results == ["success"])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    /// Writes of `r66` fail always, and those of `r68` in another way if its name is "slow".
    private func withPoison(_ body: (TestBackend) async throws -> Void) async throws {
        let schema =
            TestBackend.demoTables + TestBackend.counted + """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF NEW.id = 'r68' AND NEW.name <> 'slow' THEN RETURN NEW; END IF;
                    RAISE EXCEPTION 'no more' USING ERRCODE = CASE NEW.id WHEN 'r68' THEN '57014' ELSE 'XX000' END;
                END $$;
                CREATE TRIGGER fails BEFORE INSERT ON lists FOR EACH ROW WHEN (NEW.id IN ('r66', 'r68'))
                    EXECUTE FUNCTION fail();
                """
        try await TestBackend.with(
            schema: schema,
            {
                $0.isolatesLegacyBatches = true
                $0.retries.poisonAttempts = 2
                $0.retries.poisonAge = .zero
                $0.retries.unknownAge = .zero
            }, body)
    }

    /// Neither its piece nor the operation itself is counted from the beginning (backend 3.4).
    @Test(arguments: [true, false]) func aPoisonIsRejectedWithTheBatchThatFailedForIt(hasIDs: Bool)
        async throws
    {
        try await withPoison { backend in
            let batch = Self.body(
                (0..<70).map { Self.put("r\($0)", "n", opID: hasIDs ? $0 + 1 : nil) })
            #expect(try await backend.upload(batch).status == 503)
            let answer = try await backend.upload(batch)
            #expect(answer.status == 200)
            #expect(answer.states == (0..<70).map { $0 == 66 ? "rejected" : "applied" })
            #expect(try await writes(backend) == [["1", "69"]])
            let codes = try await backend.query("SELECT error_code FROM psb.dead_letters")
            #expect(codes == [["UNCLASSIFIED_ERROR"]])
        }
    }

    @Test func whatFailsInAnotherWayThanThePoisonIsCountedByItself() async throws {
        try await withPoison { backend in
            let batch = Self.body(
                (0..<70).map { Self.put("r\($0)", $0 == 68 ? "slow" : "n", opID: $0 + 1) })
            for _ in 0..<2 { #expect(try await backend.upload(batch).status == 503) }
            // The poison is out, and what is before the other one is in.
            let rejected = try await backend.query("SELECT row_id FROM psb.dead_letters")
            #expect(rejected == [["r66"]])
            #expect(try await writes(backend) == [["1", "67"]])
        }
    }

    /// Many operations may be too slow together of which none is.
    @Test func aTimeoutOfTheBatchIsNoneOfAnOperation() async throws {
        try await withPoison { backend in
            let batch = Self.body(
                (0..<67).map {
                    $0 < 66 ? Self.put("r\($0)", "n", opID: $0 + 1) : Self.put("r68", "slow", opID: 67)
                })
            for _ in 0..<2 { #expect(try await backend.upload(batch).status == 503) }
            #expect(try await writes(backend) == [["1", "66"]])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            let answer = try await wait(
                for: "its own timeouts to be enough", read: { try await backend.upload(batch) },
                until: { $0.status == 200 })
            #expect(answer.errorCodes == ["TIMEOUT_POISON"])
            #expect(try await writes(backend) == [["1", "66"]])
        }
    }

    @Test func aMistakeBehindACommittedPieceIsNo500() async throws {
        let schema =
            TestBackend.demoTables + TestBackend.counted + """
                CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN RAISE EXCEPTION 'nothing found' USING ERRCODE = 'P0002'; END $$;
                CREATE TRIGGER fails BEFORE INSERT ON lists FOR EACH ROW WHEN (NEW.id = 'r64')
                    EXECUTE FUNCTION fail();
                """
        try await TestBackend.with(schema: schema, { $0.isolatesLegacyBatches = true }) { backend in
            let first = try await backend.upload(Self.batch(hasIDs: true))
            #expect(first.status == 503)
            #expect(first.json["retryable"] == .bool(true))
            #expect(try await writes(backend) == [["1", "63"]])
            _ = try await backend.query("DROP TRIGGER fails ON lists")
            let again = try await backend.upload(Self.batch(hasIDs: true))
            #expect(
                again.states
                    == (0..<70).map { Self.bad.contains($0) ? "rejected" : $0 < 64 ? "replayed" : "applied" })
            #expect(try await writes(backend) == [["1", "68"]])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "2")
        }
    }
}
