import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Nothing that an upload waits for holds it beyond its deadline, whatever its phase (Backend/Apply/SPEC.md, invariant 3).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct WallClockTests {
    private let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"1"}}]}"#
    private let numbered =
        #"{"v":1,"client_id":"c","transactions":[{"crud":[{"op_id":1,"op":"PUT","table":"lists","id":"a","data":{"name":"1"}}]}]}"#

    /// Uploads while a table is locked, on whose other end nothing else has a limit, and waits for the answer.
    private func answer(
        _ backend: TestBackend, to body: String, whileLocked table: String
    ) async throws -> TestBackend.Answer {
        let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
        try await holder.script("BEGIN; LOCK TABLE \(table) IN ACCESS EXCLUSIVE MODE")
        let answered = Lock<TestBackend.Answer?>(nil)
        let upload = Task {
            let answer = try await backend.upload(body)
            answered.withLock { $0 = answer }
        }
        defer { upload.cancel() }
        let answer = try await wait(
            for: "an answer in spite of the lock", read: { answered.withLock { $0 } }, until: { $0 != nil })
        try await holder.script("ROLLBACK")
        await holder.close()
        return try #require(answer)
    }

    private func withAShortTransaction(
        schema: String = TestBackend.demoTables, _ body: (TestBackend) async throws -> Void
    ) async throws {
        try await TestBackend.with(
            schema: schema,
            {
                $0.uploadTimes.transaction = TestOptions.standstill
                $0.uploadTimes.last = .seconds(2)
                // A new session opens every table of the catalog if it is the first since a change: also the locked one.
                $0.quotaTimeout = TestOptions.standstill
                $0.statementTimeout = TestOptions.deadline * 10
                $0.lockTimeout = TestOptions.deadline * 10
            }, body)
    }

    private static let timesOut =
        TestBackend.demoTables + """
            CREATE FUNCTION time_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014';
            END $$;
            CREATE TRIGGER times_out BEFORE INSERT ON lists FOR EACH ROW EXECUTE FUNCTION time_out();
            """

    @Test func theLedgerIsNotWaitedForBeyondTheDeadline() async throws {
        try await withAShortTransaction { backend in
            _ = try await backend.query("ALTER TABLE lists DROP COLUMN owner_id")
            let body = numbered.replacing(#""name":"1""#, with: #""owner_id":null"#)
            let answer = try await answer(backend, to: body, whileLocked: "psb.ledger")
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "TIMEOUT")
        }
    }

    @Test func aReadingOfTheCatalogIsNotWaitedForBeyondTheDeadline() async throws {
        try await withAShortTransaction { backend in
            let body = put.replacing(#""name":"1""#, with: #""nothing":1"#)
            let answer = try await answer(backend, to: body, whileLocked: "pg_catalog.pg_publication")
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "DATABASE_UNAVAILABLE")
            #expect(try await backend.upload(body).errorCodes == ["UNKNOWN_COLUMN"])
        }
    }

    @Test func countingIsNotWaitedForBeyondTheDeadline() async throws {
        try await withAShortTransaction(schema: Self.timesOut) { backend in
            let answer = try await answer(backend, to: numbered, whileLocked: "psb.upload_attempts")
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "TIMEOUT")
        }
    }

    /// Before a client is sent away for a name that is missing, the ledger is asked; that this fails is no mistake of ours.
    @Test func aLedgerThatCannotBeAskedRejectsNothing() async throws {
        try await TestBackend.with({
            $0.lockTimeout = .milliseconds(20)
            $0.retries.budget = .milliseconds(100)
        }) { backend in
            _ = try await backend.query("ALTER TABLE lists DROP COLUMN owner_id")
            let body = numbered.replacing(#""name":"1""#, with: #""owner_id":null"#)
            let answer = try await answer(backend, to: body, whileLocked: "psb.ledger")
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "CONTENTION")
            #expect(answer.fields["retry-after"] != nil)
            #expect(try await backend.upload(body).json["code"]?.stringValue == "SCHEMA_MISMATCH")
        }
    }
}
