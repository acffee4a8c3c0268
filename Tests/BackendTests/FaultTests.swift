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
            #expect(try await backend.scalar("SELECT last_value FROM attempts") == "3", "one began anew")
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
}
