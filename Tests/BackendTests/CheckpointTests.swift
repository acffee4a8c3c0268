import PowerSyncSystem
import PowerSyncHTTP
import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Custom checkpoints (backend 5.2; Backend/Start/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct CheckpointTests {
    private func with(
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, String) async throws -> Void
    ) async throws {
        try await TestBackend.with({
            $0.hasCustomCheckpoints = true
            change(&$0)
        }) { backend in
            try await body(backend, try await backend.token())
        }
    }

    private func count(_ backend: TestBackend, _ token: String, _ body: String) async throws
        -> TestBackend.Answer
    {
        try await backend.send(
            "PUT", "/api/data/checkpoint", body, fields: ["authorization": "Bearer \(token)"])
    }

    /// Case 145: with fewer connections than requests, none of which may be refused for want of one.
    @Test func fiftyAtOnceAreFiftyAnswers() async throws {
        try await with({ $0.poolSize = 3 }) { backend, token in
            let numbers = try await withThrowingTaskGroup(of: String?.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        let answer = try await count(backend, token, #"{"client_id":"c"}"#)
                        return answer.status == 200 ? answer.json["checkpoint"]?.stringValue : nil
                    }
                }
                return try await group.reduce(into: Set<String>()) { set, number in
                    if let number { set.insert(number) }
                }
            }
            #expect(numbers == Set((1...50).map { String($0) }))
        }
    }

    @Test func aCounterAtTheHighestNumberStaysAndTheLogSaysSo() async throws {
        try await with { backend, token in
            let most = String(Int64.max)
            _ = try await backend.query(
                "INSERT INTO public.checkpoints (user_id, client_id, checkpoint) VALUES ('u1', 'c', \(Int64.max - 1))"
            )
            for _ in 0..<2 {
                let answer = try await count(backend, token, #"{"client_id":"c"}"#)
                #expect(answer.status == 200 && answer.json["checkpoint"] == .string(most))
            }
            let words = "a custom checkpoint is at the highest number"
            #expect(backend.lines.withLock { $0.count { $0.contains(words) } } == 2)
        }
    }

    @Test func aClientIsNamedByATextOrNotAtAll() async throws {
        try await with { backend, token in
            for wrong in ["1", "true", "[]", "{}", #""""#] {
                let answer = try await count(backend, token, #"{"client_id":\#(wrong)}"#)
                #expect(answer.status == 400, "\(wrong)")
                #expect(answer.json["code"] == .string("INVALID_REQUEST"), "\(wrong)")
            }
            #expect(try await count(backend, token, "[]").status == 400)
            for absent in ["{}", #"{"client_id":null}"#, #"{"client_id":"1"}"#] {
                #expect(try await count(backend, token, absent).status == 200, "\(absent)")
            }
            #expect(
                try await backend.query("SELECT user_id, client_id, checkpoint FROM public.checkpoints")
                    == [["u1", "1", "3"]])
        }
    }

    /// Nobody fills the table by naming clients that are not there.
    @Test func aUserHasAThousandClients() async throws {
        try await with { backend, token in
            _ = try await backend.query(
                """
                INSERT INTO public.checkpoints (user_id, client_id, checkpoint)
                    SELECT 'u1', 'c' || n, 1 FROM generate_series(1, 999) AS n
                """)
            func raise(_ client: String) async throws -> TestBackend.Answer {
                try await backend.send(
                    "POST", "/api/data/checkpoint-request",
                    #"{"client_id":"\#(client)","checkpoint_request_id":7}"#,
                    fields: ["authorization": "Bearer \(token)"])
            }
            #expect(try await count(backend, token, #"{"client_id":"c1000"}"#).status == 200)
            for answer in [
                try await count(backend, token, #"{"client_id":"c1001"}"#), try await raise("c1001"),
            ] {
                #expect(answer.status == 429 && answer.json["code"] == .string("CHECKPOINT_QUOTA"))
            }
            #expect(
                try await count(backend, token, #"{"client_id":"c1000"}"#).json["checkpoint"] == .string("2"))
            #expect(try await raise("c1").status == 200, "those that are known go on")
            let other = try await backend.token("u2")
            #expect(try await count(backend, other, #"{"client_id":"c1001"}"#).status == 200)
            #expect(try await backend.scalar("SELECT count(*) FROM public.checkpoints") == "1001")
        }
    }

    @Test func nothingIsCountedForADisabledUser() async throws {
        try await with { backend, token in
            _ = try await backend.query("INSERT INTO psb.disabled_users (user_id) VALUES ('u1')")
            let counted = try await count(backend, token, "{}")
            let raised = try await backend.send(
                "POST", "/api/data/checkpoint-request", #"{"checkpoint_request_id":7}"#,
                fields: ["authorization": "Bearer \(token)"])
            for answer in [counted, raised] {
                #expect(
                    answer.status == 403 && answer.json["type"] == .string("urn:psb:problem:account-disabled")
                )
            }
            #expect(try await backend.scalar("SELECT count(*) FROM public.checkpoints") == "0")
        }
    }
}
