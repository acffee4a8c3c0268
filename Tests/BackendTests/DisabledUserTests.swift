import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Who has left may do nothing any more (Backend/Authentication/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct DisabledUserTests {
    private static let disable = "INSERT INTO psb.disabled_users (user_id, reason) VALUES ('u1', 'left')"

    private func put(_ id: String, _ name: String) -> String {
        #"{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"\#(name)"}}"#
    }

    private func expectDisabled(_ answer: TestBackend.Answer) {
        #expect(answer.status == 403, "\(answer.json.text)")
        #expect(answer.json["code"]?.stringValue == "ACCOUNT_DISABLED")
        #expect(!answer.json.text.contains("left"), "why is nobody's business")
    }

    /// Whatever would have become of it: applied, rejected, repeated, or nothing at all.
    @Test func anUploadIsRefused() async throws {
        try await TestBackend.with { backend in
            let known =
                #"{"v":1,"client_id":"c","transactions":[{"crud":[{"op_id":1,\#(put("k", "known").dropFirst())]}]}"#
            #expect(try await backend.upload(known).states == ["applied"])
            _ = try await backend.query(Self.disable)
            for body in [
                "{\"batch\":[\(put("a", "good"))]}", "{\"batch\":[\(put("a", "bad"))]}",
                #"{"batch":[{"op":"PUT","table":"nosuch","id":"a","data":{}}]}"#, "{\"batch\":[]}", known,
            ] {
                expectDisabled(try await backend.upload(body))
            }
            #expect(try await backend.scalar("SELECT string_agg(id, ' ') FROM lists") == "k")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
            let other = try await backend.apply(put("b", "good"), user: "u2")
            #expect(other == "applied")
        }
    }

    /// What is committed is said.
    @Test func behindACommittedTransactionTheRestComesAgain() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN \(Self.disable); RETURN NULL; END $$;
                CREATE TRIGGER leaves AFTER INSERT ON lists FOR EACH ROW WHEN (NEW.name = 'last')
                    EXECUTE FUNCTION leave();
                """
        try await TestBackend.with(schema: schema) { backend in
            let body =
                "{\"transactions\":[{\"crud\":[\(put("a", "last"))]},{\"crud\":[\(put("b", "more"))]},"
                + "{\"crud\":[\(put("c", "more"))]}]}"
            let answer = try await backend.upload(body)
            #expect(answer.status == 200)
            #expect(answer.results == ["success", "retryable_error", "not_attempted"], "\(answer.json.text)")
            #expect(answer.errorCodes == ["ACCOUNT_DISABLED"])
            #expect(try await backend.scalar("SELECT string_agg(id, ' ') FROM lists") == "a")
            expectDisabled(try await backend.upload(body))
        }
    }

    @Test func aTransactionWithoutOperationsIsNoCommit() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.query(Self.disable)
            expectDisabled(
                try await backend.upload(
                    "{\"transactions\":[{\"crud\":[]},{\"crud\":[\(put("a", "good"))]}]}"))
        }
    }

    @Test func aBatchThatIsCutIsRefused() async throws {
        try await TestBackend.with({ $0.isolatesLegacyBatches = true }) { backend in
            _ = try await backend.query(Self.disable)
            expectDisabled(
                try await backend.upload("{\"batch\":[\(put("a", "good")),\(put("b", "bad"))]}"))
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    @Test func attachmentsAreRefused() async throws {
        try await AttachmentsFixture.withScripted { fixture, _ in
            try await fixture.note("a", of: "u1", photo: "p")
            let backend = fixture.backend
            let fields: HTTPFields = ["authorization": "Bearer \(try await backend.token("u1"))"]
            let question = AttachmentsFixture.question("p", [1]).json.text
            let before = try await backend.send(
                "POST", "/api/v1/attachments/upload-url", question, fields: fields)
            #expect(before.status == 200)
            try await fixture.execute(Self.disable)
            expectDisabled(
                try await backend.send("POST", "/api/v1/attachments/upload-url", question, fields: fields))
            expectDisabled(
                try await backend.send("GET", "/api/v1/attachments/p/download-url", fields: fields))
            expectDisabled(
                try await backend.send("POST", "/api/v1/attachments/p/complete", "{}", fields: fields))
            expectDisabled(try await backend.send("DELETE", "/api/v1/attachments/p", fields: fields))
        }
    }

    @Test func aLetterIsNotSentAgain() async throws {
        try await OperatorDesk.with { backend, desk in
            #expect(try await backend.apply(OperatorDesk.put("a"), user: "u1") == "CHECK_VIOLATION")
            _ = try await backend.query(Self.disable)
            _ = try await backend.query("ALTER TABLE lists DROP CONSTRAINT lists_name_check")
            let id = try #require(try await backend.letterIDs().first)
            let answer = await desk.run("letters", "replay", id)
            #expect(answer.status == 1)
            #expect(answer.errors.contains("its user is disabled (psb.disabled_users)"), "\(answer)")
            #expect(try await backend.scalar("SELECT state FROM psb.dead_letters") == "open")
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            _ = try await backend.query("DELETE FROM psb.disabled_users")
            #expect(await desk.run("letters", "replay", id).status == 0)
        }
    }
}
