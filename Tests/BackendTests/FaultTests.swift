import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncPostgresServer
import PowerSyncWire
import Testing

/// What happens to uploads when the database does not do its part.
@Suite(.enabled(if: TestEnvironment.hasDatabase), .timeLimit(.minutes(1)))
struct FaultTests {
    private func body(_ number: Int) -> String {
        let operations = (0..<50).map {
            #"{"op_id":\#(number * 50 + $0 + 1),"op":"PUT","table":"lists","id":"r\#(number)-\#($0)","data":{"name":"n"}}"#
        }
        return
            #"{"v":1,"client_id":"c\#(number % 4)","transactions":[{"tx_id":\#(number),"crud":[\#(operations.joined(separator: ","))]}]}"#
    }

    /// Uploads until the answer is 200, as a client does.
    private func insist(_ backend: TestBackend, _ body: String, _ token: String) async throws -> (
        answer: TestBackend.Answer, refused: Int
    ) {
        var refused = 0
        while true {
            let answer = try await backend.send(
                "POST", "/api/data", body, fields: ["authorization": "Bearer \(token)"])
            if answer.status == 200 { return (answer, refused) }
            #expect(answer.status == 503)
            #expect(answer.fields["retry-after"] != nil)
            #expect(answer.json["retryable"]?.boolValue == true)
            refused += 1
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test func aDatabaseThatIsKilledInTheMiddleGetsEveryRowExactlyOnce() async throws {
        let server = try await PostgresServer.start()
        let schema =
            TestBackend.demoTables + """
                CREATE TABLE writes (id text);
                CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN INSERT INTO writes VALUES (NEW.id); RETURN NEW; END $$;
                CREATE TRIGGER counts BEFORE INSERT OR UPDATE ON lists FOR EACH ROW EXECUTE FUNCTION count_write();
                """
        do {
            try await TestBackend.with(schema: schema, uri: server.uri()) { backend in
                let token = try await backend.token()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<40 {
                        group.addTask {
                            let (answer, _) = try await insist(backend, body(number), token)
                            #expect(answer.results == ["success"])
                        }
                    }
                    group.addTask {
                        try await eventually("the first rows arrived") {
                            try await backend.scalar("SELECT count(*) > 0 FROM lists") == "t"
                        }
                        server.kill()
                        try await server.restart()
                    }
                    try await group.waitForAll()
                }
                #expect(try await backend.scalar("SELECT count(*) FROM lists") == "2000")
                #expect(try await backend.scalar("SELECT count(*) FROM writes") == "2000")
                #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func aDatabaseThatIsAwayIs503UntilItIsBack() async throws {
        let server = try await PostgresServer.start()
        do {
            try await TestBackend.with(uri: server.uri(), { $0.retries.budget = .milliseconds(100) }) {
                backend in
                let token = try await backend.token()
                #expect(try await backend.send("GET", "/readyz").status == 200)
                server.kill()
                try await eventually("the server is gone") { !server.isRunning }
                let away = try await backend.send(
                    "POST", "/api/data", body(1), fields: ["authorization": "Bearer \(token)"])
                #expect(away.status == 503)
                #expect(away.json["code"]?.stringValue == "DATABASE_UNAVAILABLE")
                #expect(try await backend.send("GET", "/healthz").status == 200)
                try await eventually("not ready") { try await backend.send("GET", "/readyz").status == 503 }
                try await server.restart()
                let (answer, _) = try await insist(backend, body(1), token)
                #expect(answer.results == ["success"])
                try await eventually("ready again") { try await backend.send("GET", "/readyz").status == 200 }
            }
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }

    @Test func aConnectionThatIsCutIsReplacedWithoutTheClientKnowing() async throws {
        try await TestBackend.with { backend in
            let token = try await backend.token()
            for number in 1...5 {
                _ = try await backend.query(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'powersync-backend' AND datname = current_database()"
                )
                let (answer, refused) = try await insist(backend, body(number), token)
                #expect(refused == 0)
                #expect(answer.states.allSatisfy { $0 == "applied" })
            }
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "250")
        }
    }

    @Test func aLockedRowIsWaitedForAndThenIs503() async throws {
        try await TestBackend.with({
            $0.lockTimeout = .milliseconds(20)
            $0.retries.budget = .milliseconds(100)
        }) { backend in
            let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"1"}}]}"#
            #expect(try await backend.upload(put).status == 200)
            let holder = try await PostgresConnection.connect(backend.uri, poller: backend.poller)
            try await holder.script("BEGIN; SELECT FROM lists FOR UPDATE")
            let answer = try await backend.upload(put)
            #expect(answer.status == 503)
            #expect(answer.json["code"]?.stringValue == "CONTENTION")
            await holder.close()
            #expect(try await backend.upload(put).status == 200)
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    @Test func deadlocksAreSettledInsideTheServer() async throws {
        try await TestBackend.with { backend in
            let token = try await backend.token()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<20 {
                    let ids = number.isMultiple(of: 2) ? ["a", "b", "c"] : ["c", "b", "a"]
                    let operations = ids.map {
                        #"{"op":"PUT","table":"lists","id":"\#($0)","data":{"name":"\#(number)"}}"#
                    }
                    group.addTask {
                        try await backend.send(
                            "POST", "/api/data", "{\"batch\":[\(operations.joined(separator: ","))]}",
                            fields: ["authorization": "Bearer \(token)"]
                        ).status
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.filter { $0 != 200 && $0 != 503 } == [])
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "3")
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

    @Test func aStatementThatNeverEndsIsRejectedWhenItHasFailedLongEnough() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_sleep(10); RETURN NEW; END $$;
                CREATE TRIGGER sleeps BEFORE INSERT ON lists FOR EACH ROW EXECUTE FUNCTION sleep();
                """
        try await TestBackend.with(
            schema: schema,
            {
                $0.statementTimeout = .seconds(1)
                $0.retries.poisonAttempts = 2
                $0.retries.poisonAge = .zero
            }
        ) { backend in
            let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"1"}}]}"#
            let first = try await backend.upload(put)
            #expect(first.status == 503)
            #expect(first.json["code"]?.stringValue == "TIMEOUT")
            #expect(try await backend.upload(put).errorCodes == ["TIMEOUT_POISON"])
            #expect(try await backend.scalar("SELECT error_code FROM psb.dead_letters") == "TIMEOUT_POISON")
        }
    }
}
