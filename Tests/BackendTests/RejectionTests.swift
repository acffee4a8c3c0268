import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What users see of what was refused of theirs (backend 1.4; Backend/Start/SPEC.md; cases 100 and 179).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct RejectionTests {
    private static func bad(_ id: String) -> String {
        #"{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"bad"}}"#
    }

    private func list(_ backend: TestBackend, _ query: String = "", user: String = "u1") async throws
        -> TestBackend.Answer
    {
        let token = try await backend.token(user)
        return try await backend.send(
            "GET", "/api/v1/rejections\(query)", fields: ["authorization": "Bearer \(token)"])
    }

    private func acknowledge(_ backend: TestBackend, _ id: String, user: String = "u1") async throws
        -> TestBackend.Answer
    {
        let token = try await backend.token(user)
        return try await backend.send(
            "POST", "/api/v1/rejections/\(id)/ack", fields: ["authorization": "Bearer \(token)"])
    }

    private func rows(_ answer: TestBackend.Answer) -> [String] {
        (answer.json["rejections"]?.arrayValue ?? []).compactMap { $0["row_id"]?.stringValue }
    }

    @Test func theOwnerSeesWhatWasRefusedAndNothingOfWhatItHolds() async throws {
        try await TestBackend.with { backend in
            #expect(try await backend.apply(Self.bad("a")) == "CHECK_VIOLATION")
            #expect(try await backend.apply(Self.bad("b"), user: "u2") == "CHECK_VIOLATION")
            let answer = try await list(backend)
            #expect(answer.status == 200 && answer.fields["cache-control"] == "no-store")
            #expect(answer.json["next"] == .null && rows(answer) == ["a"])
            let letter = try #require(answer.json["rejections"]?.arrayValue?.first?.objectMembers)
            #expect(
                letter.map(\.name) == [
                    "id", "occurred_at", "client_id", "tx_id", "table", "row_id", "error_code", "message",
                    "state",
                    "acked_at",
                ])
            let rejection = JSON.object(letter)
            #expect(rejection["table"] == .string("lists") && rejection["state"] == .string("open"))
            #expect(rejection["error_code"] == .string("CHECK_VIOLATION") && rejection["acked_at"] == .null)
            let time = try #require(rejection["occurred_at"]?.stringValue)
            #expect(time.contains(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/), "\(time)")
            // The id is made of random digits, which may be these.
            #expect(!JSON.object(letter.filter { $0.name != "id" }).text.contains("bad"))
        }
    }

    @Test func pagesHaveEachOfThemOnce() async throws {
        try await TestBackend.with { backend in
            // Older ones may be pruned meanwhile.
            _ = try await backend.query(
                """
                INSERT INTO psb.dead_letters (id, occurred_at, user_id, row_id, error_code, message, payload, claims, request_id)
                SELECT ('00000000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid,
                    date_trunc('second', now()) - interval '1 hour' + (123456 + n / 3) * interval '1 microsecond', 'u1', n::text, 'X', 'm',
                    '[]', '{}', 'r'
                FROM generate_series(1, 7) AS n
                """)
            var seen: [String] = []
            var query = "?limit=3"
            for _ in 0..<3 {
                let answer = try await list(backend, query)
                seen += rows(answer)
                guard let next = answer.json["next"]?.stringValue else { break }
                query = "?limit=3&after=\(next)"
                // The place needs no letter to be there still.
                let last = try #require(seen.last)
                _ = try await backend.query("DELETE FROM psb.dead_letters WHERE row_id = $1", [last])
            }
            #expect(seen == (1...7).map { String($0) })
            #expect(try await list(backend, "?limit=5").json["next"] == .null, "a last page that is full")
        }
    }

    @Test(arguments: [
        "?limit=0", "?limit=1001", "?limit=x", "?after=x", "?after=", "?after=1-2",
        "?after=99999999999999999999-00000000-0000-4000-8000-000000000001",
        "?after=9223372036854775807-00000000-0000-4000-8000-000000000001",
        "?after=-1-00000000-0000-4000-8000-000000000001", "?after=1-0000000000004000800000000000000000001",
    ])
    func whatIsNoPlaceOrNumberIsRefused(query: String) async throws {
        try await TestBackend.with { backend in
            let answer = try await list(backend, query)
            #expect(answer.status == 400 && answer.json["code"] == .string("INVALID_REQUEST"), "\(query)")
        }
    }

    @Test func whoHasSeenOneSaysSoTwice() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.apply(Self.bad("a"))
            let id = try #require(try await backend.letterIDs().first)
            #expect(try await acknowledge(backend, id).status == 204)
            let first = try await list(backend).json["rejections"]?.arrayValue?.first
            #expect(first?["acked_at"]?.stringValue != nil)
            #expect(try await acknowledge(backend, id.uppercased()).status == 204)
            #expect(
                try await list(backend).json["rejections"]?.arrayValue?.first == first,
                "the first time counts")
            #expect(first?["state"] == .string("open"), "seeing to it is the operator's")
        }
    }

    /// Whoever asks learns nothing of what others have.
    @Test func anothersAndNobodysAreTheSame() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.apply(Self.bad("a"))
            let id = try #require(try await backend.letterIDs().first)
            for name in [
                id, "0b1c8a52-0000-4000-8000-000000000001", "x", "%27",
                "0b1c8a52-0000-4000-8000-00000000000g",
            ] {
                let answer = try await acknowledge(backend, name, user: "u2")
                #expect(
                    answer.status == 404 && answer.json["type"] == .string("urn:psb:problem:unknown"),
                    "\(name)")
                #expect(answer.json["detail"] == nil, "\(name)")
            }
            #expect(
                try await backend.scalar("SELECT count(*) FROM psb.dead_letters WHERE acked_at IS NULL")
                    == "1")
        }
    }

    @Test func whatWasGivenUpIsNotTold() async throws {
        try await TestBackend.with { backend in
            for id in ["a", "b"] { _ = try await backend.apply(Self.bad(id)) }
            _ = try await backend.query(
                "UPDATE psb.dead_letters SET state = CASE row_id WHEN 'a' THEN 'discarded' ELSE 'replayed' END"
            )
            let answer = try await list(backend)
            #expect(rows(answer) == ["b"])
            #expect(answer.json["rejections"]?.arrayValue?.first?["state"] == .string("replayed"))
        }
    }

    @Test func nobodyAsksWithoutAToken() async throws {
        try await TestBackend.with { backend in
            let found = try await backend.send("GET", "/api/v1/rejections").status
            #expect(found == 401)
            let path = "/api/v1/rejections/0b1c8a52-0000-4000-8000-000000000001/ack"
            let found2 = try await backend.send("POST", path).status
            #expect(found2 == 401)
        }
    }

    @Test func aDisabledUserIsToldSo() async throws {
        try await TestBackend.with { backend in
            _ = try await backend.apply(Self.bad("a"))
            let id = try #require(try await backend.letterIDs().first)
            _ = try await backend.query("INSERT INTO psb.disabled_users (user_id) VALUES ('u1')")
            for answer in [try await list(backend), try await acknowledge(backend, id)] {
                #expect(answer.status == 403 && answer.json["code"] == .string("ACCOUNT_DISABLED"))
            }
            #expect(
                try await backend.scalar("SELECT count(*) FROM psb.dead_letters WHERE acked_at IS NULL")
                    == "1")
        }
    }
}
