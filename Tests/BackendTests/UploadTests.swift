import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct UploadTests {
    private static let three = """
        {"v":1,"client_id":"c1","request_id":"r1","transactions":[
        {"tx_id":1,"crud":[{"op_id":1,"op":"PUT","table":"lists","id":"a","data":{"name":"one"}}]},
        {"tx_id":2,"crud":[{"op_id":2,"op":"PUT","table":"lists","id":"b","data":{"name":"two"}},
            {"op_id":3,"op":"PUT","table":"lists","id":"c","data":{"name":"bad"}},
            {"op_id":4,"op":"PATCH","table":"lists","id":"a","data":{"name":"changed"}}]},
        {"tx_id":3,"crud":[{"op_id":5,"op":"PUT","table":"lists","id":"d","data":{"name":"four"}}]}]}
        """

    @Test func aCheckViolationInTheMiddleRejectsThatTransactionAlone() async throws {
        try await TestBackend.with({ $0.continuesAfterFatalError = true }) { backend in
            let answer = try await backend.upload(Self.three)
            #expect(answer.status == 200)
            #expect(answer.results == ["success", "fatal_error", "success"])
            #expect(answer.states == ["applied", "skipped", "rejected", "skipped", "applied"])
            let failed = try #require(answer.json["results"]?.arrayValue?[1]["failed_operation"])
            #expect(failed["operation_index"]?.int64Value == 1)
            #expect(failed["error_code"]?.stringValue == "CHECK_VIOLATION")
            #expect(failed["details"]?["constraint"]?.stringValue == "lists_name_check")
            #expect(failed["details"]?["table"]?.stringValue == "lists")
            #expect(answer.json["results"]?.arrayValue?[1]["requires_client_handling"]?.boolValue == false)
            #expect(
                try await backend.query("SELECT id, name FROM lists ORDER BY id") == [
                    ["a", "one"], ["d", "four"],
                ])
            let letters = try await backend.query(
                """
                SELECT id::text, user_id, client_id, tx_id::text, first_op_id::text, last_op_id::text, failed_index::text,
                    error_code, sqlstate, constraint_name, table_name, row_id, payload->2->'data'->>'name',
                    claims->>'sub', state FROM psb.dead_letters
                """)
            let rejection = answer.json["results"]?.arrayValue?[1]["rejection_id"]?.stringValue
            #expect(
                letters == [
                    [
                        rejection, "u1", "c1", "2", "2", "4", "1", "CHECK_VIOLATION", "23514",
                        "lists_name_check",
                        "lists", "c", "changed", "u1", "open",
                    ]
                ])
        }
    }

    @Test func behindARejectedTransactionNothingIsTriedButAllArrivesWithTheNextUpload() async throws {
        try await TestBackend.with { backend in
            let first = try await backend.upload(Self.three)
            #expect(first.results == ["success", "fatal_error", "not_attempted"])
            // The client completes the first two and sends what is left.
            let rest = try await backend.upload(
                #"{"v":1,"client_id":"c1","transactions":[{"tx_id":3,"crud":[{"op_id":5,"op":"PUT","table":"lists","id":"d","data":{"name":"four"}}]}]}"#
            )
            #expect(rest.results == ["success"])
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "2")
        }
    }

    @Test func repeatingARequestChangesNothingAndSaysSo() async throws {
        try await TestBackend.with({ $0.continuesAfterFatalError = true }) { backend in
            let first = try await backend.upload(Self.three)
            // Another client writes meanwhile: a repetition must not win over it.
            _ = try await backend.query("UPDATE lists SET name = 'newer' WHERE id = 'a'")
            let again = try await backend.upload(Self.three)
            #expect(again.results == first.results)
            #expect(again.json["replayed"]?.boolValue == true)
            #expect(again.states == ["replayed", "skipped", "rejected", "skipped", "replayed"])
            #expect(
                again.json["results"]?.arrayValue?[1]["rejection_id"]
                    == first.json["results"]?.arrayValue?[1]["rejection_id"])
            #expect(try await backend.scalar("SELECT name FROM lists WHERE id = 'a'") == "newer")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "1")
        }
    }

    @Test func otherContentUnderUsedNumbersIsExecuted() async throws {
        try await TestBackend.with { backend in
            func body(_ name: String) -> String {
                #"{"v":1,"client_id":"c","transactions":[{"tx_id":1,"crud":[{"op_id":1,"op":"PUT","table":"lists","id":"a","data":{"name":"\#(name)"}}]}]}"#
            }
            _ = try await backend.upload(body("one"))
            let cloned = try await backend.upload(body("two"))
            #expect(cloned.states == ["applied"])
            #expect(try await backend.scalar("SELECT name FROM lists") == "two")
            #expect(try await backend.upload(body("one")).states == ["replayed"])
            // The numbers are those of one user's client, not of everybody's.
            #expect(try await backend.upload(body("one"), user: "u2").states == ["applied"])
        }
    }

    @Test func operationsInOtherGroupsAreNotExecutedTwice() async throws {
        try await TestBackend.with { backend in
            func crud(_ numbers: [Int]) -> String {
                let operations = numbers.map {
                    #"{"op_id":\#($0),"op":"PUT","table":"lists","id":"r\#($0)","data":{"name":"n"}}"#
                }
                return
                    #"{"v":1,"client_id":"c","transactions":[{"crud":[\#(operations.joined(separator: ","))]}]}"#
            }
            #expect(try await backend.upload(crud([1, 2])).states == ["applied", "applied"])
            _ = try await backend.query("DELETE FROM lists")
            #expect(try await backend.upload(crud([2, 3, 4])).states == ["replayed", "applied", "applied"])
            #expect(
                try await backend.upload(crud([1, 2, 3, 4])).states == Array(repeating: "replayed", count: 4))
            #expect(try await backend.query("SELECT id FROM lists ORDER BY id") == [["r3"], ["r4"]])
        }
    }

    @Test func twentyRepetitionsAtOnceAreExecutedOnce() async throws {
        let schema = TestBackend.demoTables + TestBackend.counted + TestBackend.gated()
        try await TestBackend.with(schema: schema) { backend in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let token = try await backend.token()
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<20 {
                    group.addTask {
                        try await backend.send(
                            "POST", "/api/v1/upload",
                            #"{"v":1,"client_id":"c","transactions":[{"crud":[{"op_id":9,"op":"PUT","table":"lists","id":"a","data":{"name":"n"}}]}]}"#,
                            fields: ["authorization": "Bearer \(token)"]
                        ).status
                    }
                }
                // The first is at the gate; behind it the rest of the pool waits for its entry in the ledger.
                try await gate.waitForArrivals()
                try await backend.waitForLocked(4)
                try await gate.open()
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.allSatisfy { $0 == 200 || $0 == 503 })
            #expect(statuses.contains(200))
            #expect(try await backend.scalar("SELECT count(*) FROM writes") == "1")
        }
    }

    @Test func everyConstraintHasItsCode() async throws {
        let schema = """
            CREATE TABLE parents (id text PRIMARY KEY);
            CREATE TABLE things (id uuid PRIMARY KEY, parent text REFERENCES parents, late text
                REFERENCES parents DEFERRABLE INITIALLY DEFERRED, code text UNIQUE, n int NOT NULL CHECK (n > 0),
                made int GENERATED ALWAYS AS (n * 2) STORED);
            INSERT INTO things VALUES ('00000000-0000-4000-8000-000000000001', NULL, NULL, 'taken', 1);
            CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
                $$ BEGIN RAISE EXCEPTION 'thirteen is not for sale'; END $$;
            CREATE TRIGGER refuses BEFORE INSERT ON things FOR EACH ROW WHEN (NEW.n = 13) EXECUTE FUNCTION refuse();
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """
        try await TestBackend.with(schema: schema) { backend in
            func put(_ data: String, id: String = "00000000-0000-4000-8000-000000000002") async throws
                -> String
            {
                try await backend.apply(
                    "{\"op\":\"PUT\",\"table\":\"things\",\"id\":\"\(id)\",\"data\":\(data)}")
            }
            #expect(try await put(#"{"n":1}"#) == "applied")
            #expect(try await put(#"{"n":1,"code":"taken"}"#) == "UNIQUE_VIOLATION")
            #expect(try await put(#"{"n":0}"#) == "CHECK_VIOLATION")
            #expect(try await put(#"{"n":null}"#) == "NOT_NULL_VIOLATION")
            #expect(try await put(#"{"n":1,"parent":"nobody"}"#) == "FOREIGN_KEY_VIOLATION")
            #expect(try await put(#"{"n":1,"late":"nobody"}"#) == "FOREIGN_KEY_VIOLATION")
            #expect(try await put(#"{"n":"many"}"#) == "INVALID_DATA")
            #expect(try await put(#"{"n":1}"#, id: "no uuid") == "INVALID_DATA")
            #expect(try await put(#"{"n":1,"made":2}"#) == "READ_ONLY_COLUMN")
            #expect(try await put(#"{"n":1,"nosuch":2}"#) == "UNKNOWN_COLUMN")
            #expect(try await backend.apply(#"{"op":"PUT","table":"nosuch","id":"x"}"#) == "UNKNOWN_TABLE")
            let raised = try await backend.upload(
                #"{"batch":[{"op":"PUT","table":"things","id":"00000000-0000-4000-8000-000000000003","data":{"n":13}}]}"#
            )
            #expect(raised.errorCodes == ["BUSINESS_RULE"])
            #expect(raised.json.text.contains("thirteen is not for sale"))
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "11")
            #expect(try await backend.scalar("SELECT count(*) FROM things") == "2")
        }
    }

    @Test func aRejectionSaysNothingOfValues() async throws {
        try await TestBackend.with { backend in
            let answer = try await backend.upload(
                #"{"batch":[{"op":"PUT","table":"lists","id":"x","data":{"name":"bad","owner_id":"canary-value"}},"#
                    + #"{"op":"PUT","table":"lists","id":"y","data":{"name":"canary-value"}}]}"#)
            #expect(answer.errorCodes == ["INVALID_DATA"])
            let check = try await backend.upload(
                #"{"batch":[{"op":"PUT","table":"lists","id":"x","data":{"name":"bad"}},"#
                    + #"{"op":"PUT","table":"lists","id":"y","data":{"name":"canary-value"}}]}"#)
            #expect(check.errorCodes == ["CHECK_VIOLATION"])
            for text in [answer.json.text, check.json.text] + backend.lines.withLock({ $0 }) {
                #expect(!text.contains("canary") && !text.contains("DETAIL") && !text.contains("relation"))
            }
        }
    }

    @Test func namesThatTryToBeSQLAreOnlyNames() async throws {
        try await TestBackend.with { backend in
            for table in [
                "todos; drop table lists--", "todos\\\"", "public\\\".\\\"todos", "pg_catalog.pg_class",
                "psb.upload_ledger",
                "information_schema.tables",
            ] {
                let state = try await backend.apply(
                    "{\"op\":\"PUT\",\"table\":\"\(table)\",\"id\":\"x\",\"data\":{}}")
                #expect(state == "UNKNOWN_TABLE")
            }
            for column in [
                "name\\\" = 'x', \\\"owner_id", "a\\u0000", "ctid", "xmin", String(repeating: "c", count: 70),
            ] {
                let state = try await backend.apply(
                    "{\"op\":\"PATCH\",\"table\":\"lists\",\"id\":\"x\",\"data\":{\"\(column)\":1}}")
                #expect(state == "UNKNOWN_COLUMN")
            }
            let nul = try await backend.apply(
                #"{"op":"PUT","table":"lists","id":"a\u0000b","data":{"name":"x"}}"#)
            #expect(nul == "NUL_CHARACTER")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "12")
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
        }
    }

    @Test func deletesAndPutsKeepTheirOrder() async throws {
        try await TestBackend.with { backend in
            let answer = try await backend.upload(
                #"{"batch":[{"op":"PUT","table":"lists","id":"x","data":{"name":"1"}},{"op":"DELETE","table":"lists","id":"x"},"#
                    + #"{"op":"PUT","table":"lists","id":"x","data":{"name":"2"}},{"op":"PUT","table":"lists","id":"x","data":{"name":"3"}},"#
                    + #"{"op":"PATCH","table":"lists","id":"x","data":{"name":"4"}},{"op":"PATCH","table":"lists","id":"none","data":{"name":"5"}},"#
                    + #"{"op":"PATCH","table":"lists","id":"x","data":{}},{"op":"DELETE","table":"lists","id":"none"}]}"#
            )
            #expect(
                answer.states == [
                    "applied", "applied", "applied", "applied", "applied", "noop", "noop", "noop",
                ])
            #expect(try await backend.query("SELECT id, name FROM lists") == [["x", "4"]])
        }
    }

    @Test func tenThousandOperationsOfOneTransactionArrive() async throws {
        try await TestBackend.with { backend in
            let operations = (0..<10_000).map {
                #"{"op_id":\#($0 + 1),"op":"PUT","table":"lists","id":"r\#($0)","data":{"name":"n\#($0)"}}"#
            }
            let body =
                #"{"v":1,"client_id":"c","transactions":[{"tx_id":1,"crud":[\#(operations.joined(separator: ","))]}]}"#
            let answer = try await backend.upload(body)
            #expect(answer.states.count { $0 == "applied" } == 10_000)
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "10000")
        }
    }

    @Test func theBadOneOfManyIsFound() async throws {
        try await TestBackend.with { backend in
            let operations = (0..<1_000).map {
                #"{"op":"PUT","table":"lists","id":"r\#($0)","data":{"name":"\#($0 == 617 ? "bad" : "n")"}}"#
            }
            let answer = try await backend.upload("{\"batch\":[\(operations.joined(separator: ","))]}")
            let failed = try #require(answer.json["results"]?.arrayValue?.first?["failed_operation"])
            #expect(failed["operation_index"]?.int64Value == 617)
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
        }
    }

    @Test func isolationAppliesTheGoodOnesOfALegacyBatch() async throws {
        try await TestBackend.with({ $0.isolatesLegacyBatches = true }) { backend in
            let answer = try await backend.upload(
                #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"1"}},{"op":"PUT","table":"lists","id":"b","data":{"name":"bad"}},"#
                    + #"{"op":"PUT","table":"nosuch","id":"c","data":{}},{"op":"PUT","table":"lists","id":"d","data":{"name":"bad"}},"#
                    + #"{"op":"PUT","table":"lists","id":"e","data":{"name":"5"}}]}"#)
            #expect(answer.states == ["applied", "rejected", "rejected", "rejected", "applied"])
            #expect(try await backend.query("SELECT id FROM lists ORDER BY id") == [["a"], ["e"]])
            #expect(
                try await backend.query(
                    "SELECT error_code, payload->0->>'id' FROM psb.dead_letters ORDER BY 2") == [
                        ["CHECK_VIOLATION", "b"], ["UNKNOWN_TABLE", "c"], ["CHECK_VIOLATION", "d"],
                    ])
        }
    }
}
