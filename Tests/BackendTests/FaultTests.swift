import PowerSyncBackend
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What happens to uploads when the database does not do its part.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct FaultTests {
    private static let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"1"}}]}"#

    @Test func aLockedRowIsWaitedFor() async throws {
        try await TestBackend.with { backend in
            #expect(try await backend.upload(Self.put).status == 200)
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; SELECT FROM lists FOR UPDATE")
            async let answer = backend.upload(Self.put)
            try await backend.waitForLocked(1)
            try await holder.script("ROLLBACK")
            #expect(try await answer.states == ["applied"])
            await holder.close()
        }
    }

    /// As an operator does for a while; the setting is the database's, and no transaction of ours may undo it.
    @Test func aDatabaseThatWasMadeReadOnlyIsNotWritten() async throws {
        try await TestBackend.with { backend in
            #expect(try await backend.upload(Self.put).states == ["applied"])
            let setting = "default_transaction_read_only"
            func set(_ isReadOnly: Bool) async throws {
                let database = try #require(try await backend.scalar("SELECT current_database()"))
                let connection = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
                try await connection.script("SET \(setting) = off")
                try await connection.script(
                    "ALTER DATABASE \(quoteIdentifier(database)) SET \(setting) = \(isReadOnly)")
                try await connection.script(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() "
                        + "AND application_name = 'powersync-backend'")
                await connection.close()
            }
            try await set(true)
            let answer = try await backend.upload(Self.put.replacing("\"a\"", with: "\"b\""))
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "DATABASE_READ_ONLY")
            try await set(false)
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "1")
        }
    }

    @Test func aRowThatStaysLockedIs503() async throws {
        try await TestBackend.with({
            $0.lockTimeout = .milliseconds(20)
            $0.retries.budget = .milliseconds(100)
        }) { backend in
            #expect(try await backend.upload(Self.put).status == 200)
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; SELECT FROM lists FOR UPDATE")
            let answer = try await backend.upload(Self.put)
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "CONTENTION")
            try await holder.script("ROLLBACK")
            #expect(try await backend.upload(Self.put).status == 200)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            await holder.close()
        }
    }

    @Test func deadlocksAreSettledInsideTheServer() async throws {
        let schema =
            TestBackend.demoTables + TestBackend.gated(where: "NEW.id = 'b'") + """
                DO $$ BEGIN
                    EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = 10', current_database());
                END $$;
                CREATE SEQUENCE attempts;
                CREATE FUNCTION count_attempt() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM nextval('public.attempts'); RETURN NEW; END $$;
                CREATE TRIGGER counts BEFORE INSERT ON lists FOR EACH ROW WHEN (NEW.id = 'b')
                    EXECUTE FUNCTION count_attempt();
                """
        try await TestBackend.with(schema: schema) { backend in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for ids in [["a", "b", "c"], ["c", "b", "a"]] {
                    let operations = ids.map {
                        #"{"op":"PUT","table":"lists","id":"\#($0)","data":{"name":"n"}}"#
                    }
                    group.addTask {
                        try await backend.upload("{\"batch\":[\(operations.joined(separator: ","))]}").status
                    }
                }
                // Each has its first row and will want the other's.
                try await gate.waitForArrivals(2)
                try await gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == [200, 200])
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "3")
            // One began anew, on a busy machine more than once: it has its first row again before the other comes to it.
            let attempts = try await backend.scalar("SELECT last_value FROM attempts").flatMap { Int($0) }
            #expect(try #require(attempts) >= 3)
        }
    }

    @Test func aColumnThatIsGoneForAWhileRejectsNothing() async throws {
        try await TestBackend.with { backend in
            let put =
                #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"1","owner_id":null}}]}"#
            _ = try await backend.query("ALTER TABLE lists DROP COLUMN owner_id")
            #expect(try await backend.upload(put).status == 503)
            _ = try await backend.query("ALTER TABLE lists ADD COLUMN owner_id uuid")
            #expect(try await backend.upload(put).states == ["applied"])
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    @Test func aColumnThatStaysAwayIsRejectedInTheEnd() async throws {
        try await TestBackend.with({ $0.retries.driftGrace = .zero }) { backend in
            _ = try await backend.query("ALTER TABLE lists DROP COLUMN owner_id")
            let answer = try await backend.upload(
                #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"1","owner_id":null}}]}"#)
            #expect(answer.errorCodes == ["SCHEMA_MISMATCH"])
        }
    }

    @Test func aNewColumnIsKnownWithoutARestart() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.query("ALTER TABLE lists ADD COLUMN color text")
            let state = try await backend.apply(
                #"{"op":"PUT","table":"lists","id":"a","data":{"name":"1","color":"red"}}"#)
            #expect(state == "applied")
            #expect(try await backend.scalar("SELECT color FROM lists") == "red")
        }
    }

    /// The server's own limit on a statement ends it with SQLSTATE 57014, as is done here without waiting for it.
    @Test func aStatementThatNeverEndsIsRejectedWhenItHasFailedLongEnough() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE FUNCTION time_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014';
                END $$;
                CREATE TRIGGER times_out BEFORE INSERT ON lists FOR EACH ROW EXECUTE FUNCTION time_out();
                """
        try await TestBackend.with(
            schema: schema,
            {
                $0.retries.poisonAttempts = 2
                $0.retries.poisonAge = .zero
            }
        ) { backend in
            let first = try await backend.upload(Self.put)
            #expect(first.status == 503)
            #expect(first.json["code"]?.stringValue == "TIMEOUT")
            #expect(try await backend.upload(Self.put).errorCodes == ["TIMEOUT_POISON"])
            #expect(try await backend.scalar("SELECT error_code FROM psb.dead_letters") == "TIMEOUT_POISON")
        }
    }

    /// Writes of `lists` time out while there is a row in `slow`.
    private static let slow =
        TestBackend.demoTables + """
            CREATE SCHEMA aside;
            CREATE TABLE aside.slow (n int);
            CREATE FUNCTION time_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF EXISTS (SELECT FROM aside.slow) THEN
                    RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014';
                END IF;
                RETURN NEW; END $$;
            CREATE TRIGGER times_out BEFORE INSERT ON lists FOR EACH ROW EXECUTE FUNCTION time_out();
            """

    private func withPoisonAtTheSecondFailure(_ body: (TestBackend) async throws -> Void) async throws {
        try await TestBackend.with(
            schema: Self.slow,
            {
                $0.retries.poisonAttempts = 2
                $0.retries.poisonAge = .zero
            }, body)
    }

    private static func numbered(_ number: Int) -> String {
        #"{"v":1,"client_id":"c","transactions":[{"crud":[{"op_id":\#(number),"op":"PUT","table":"lists","id":"a","data":{"name":"1"}}]}]}"#
    }

    /// The same content comes again, as another write: of a client that numbers its writes, and of one that does not.
    @Test(arguments: [[put, put], [numbered(1), numbered(2)]])
    func aWriteThatSucceededIsNotToBlameForTheNextOne(bodies: [String]) async throws {
        try await withPoisonAtTheSecondFailure { backend in
            _ = try await backend.query("INSERT INTO aside.slow VALUES (1)")
            #expect(try await backend.upload(bodies[0]).status == 503)
            _ = try await backend.query("DELETE FROM aside.slow")
            #expect(try await backend.upload(bodies[0]).states == ["applied"])
            _ = try await backend.query("INSERT INTO aside.slow VALUES (1)")
            #expect(try await backend.upload(bodies[1]).status == 503, "its first failure")
            #expect(try await backend.upload(bodies[1]).errorCodes == ["TIMEOUT_POISON"], "its second")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
        }
    }

    @Test func whatFailedLongAgoWasAnotherIncident() async throws {
        try await withPoisonAtTheSecondFailure { backend in
            _ = try await backend.query("INSERT INTO aside.slow VALUES (1)")
            #expect(try await backend.upload(Self.put).status == 503)
            _ = try await backend.query(
                """
                UPDATE psb.upload_attempts SET attempts = 100, first_at = first_at - interval '25 hours',
                    last_at = last_at - interval '25 hours'
                """)
            #expect(try await backend.upload(Self.put).status == 503, "the first of today")
            let counted = try await backend.query("SELECT attempts::text FROM psb.upload_attempts")
            #expect(counted == [["1"]])
            #expect(try await backend.upload(Self.put).errorCodes == ["TIMEOUT_POISON"])
        }
    }

    @Test func statementsHaveTheLimitsOfTheConfiguration() async throws {
        let schema = """
            CREATE TABLE seen (id text PRIMARY KEY, limits text);
            CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                NEW.limits = concat_ws(' ', current_setting('statement_timeout'), current_setting('lock_timeout'));
                RETURN NEW; END $$;
            CREATE TRIGGER stamps BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION stamp();
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """
        try await TestBackend.with(
            schema: schema,
            {
                $0.statementTimeout = .seconds(1234)
                $0.lockTimeout = .seconds(567)
            }
        ) { backend in
            let state = try await backend.apply(#"{"op":"PUT","table":"seen","id":"a","data":{}}"#)
            #expect(state == "applied")
            #expect(try await backend.scalar("SELECT limits FROM seen") == "1234s 567s")
        }
    }

    /// Whether it is the write or the database that is slow, only what others upload to the table tells (backend 3.4).
    @Test(arguments: [true, false]) func aWriteThatTakesTooLongIsToBlameWhereOthersCommit(isAlone: Bool)
        async throws
    {
        let schema = TestBackend.demoTables + TestBackend.gated(where: "NEW.id = 'slow'")
        try await TestBackend.with(
            schema: schema,
            {
                $0.uploadTimes.transaction = TestOptions.standstill
                $0.retries.poisonAttempts = 1
                $0.retries.poisonAge = .zero
            }
        ) { backend in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            async let slow = backend.upload(Self.put.replacing("\"a\"", with: "\"slow\""))
            try await gate.waitForArrivals()
            if !isAlone { #expect(try await backend.upload(Self.put).states == ["applied"]) }
            let answer = try await slow
            try await gate.open()
            let counted = try await backend.scalar("SELECT count(*) FROM psb.upload_attempts")
            if isAlone {
                #expect(answer.status == 503)
                #expect(answer.json["code"]?.stringValue == "TIMEOUT")
                #expect(counted == "0", "nothing says that it is the write")
            } else {
                #expect(answer.errorCodes == ["TIMEOUT_POISON"])
                #expect(counted == "0", "with the rejection the incident is over")
            }
        }
    }

    /// What is left of a long request is not the time that a write has.
    @Test func aWriteThatHadLittleTimeIsNotToBlame() async throws {
        let schema = TestBackend.demoTables + TestBackend.gated(where: "NEW.id = 'slow'")
        try await TestBackend.with(
            schema: schema,
            {
                $0.uploadTimes.request = TestOptions.standstill
                $0.uploadTimes.transaction = TestOptions.standstill * 12
                $0.retries.poisonAttempts = 1
                $0.retries.poisonAge = .zero
            }
        ) { backend in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            async let slow = backend.upload(Self.put.replacing("\"a\"", with: "\"slow\""))
            try await gate.waitForArrivals()
            #expect(try await backend.upload(Self.put).states == ["applied"])
            let answer = try await slow
            try await gate.open()
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "TIMEOUT")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.upload_attempts") == "0")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }
}
