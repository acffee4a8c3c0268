import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// How much anybody may ask of the backend at once, over a socket (backend 1.7, 7, 8.2).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct BoundsTests {
    private func with(
        schema: String = TestBackend.demoTables, _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, JSONClient) async throws -> Void
    ) async throws {
        try await TestBackend.with(schema: schema, change) { backend in
            try await body(backend, try JSONClient("http://127.0.0.1:\(backend.backend.port)"))
        }
    }

    private static func put(_ id: String, _ name: String = "n") -> String {
        #"{"batch":[{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"\#(name)"}}]}"#
    }

    private static let slowRows = TestBackend.demoTables + TestBackend.gated(where: "NEW.name = 'slow'")

    @Test func aUserHasOneUploadInWorkAndALineBehindIt() async throws {
        try await with(
            schema: Self.slowRows,
            {
                $0.uploadsPerUser = 1
                $0.uploadsWaiting = 2
            }
        ) { backend, client in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let token = try await backend.token("u1")
            let other = try await backend.token("u2")
            try await withThrowingTaskGroup(of: JSONClient.Answer.self) { group in
                group.addTask {
                    try await client.send("POST", "/api/data", Self.put("s", "slow"), token: token)
                }
                try await gate.waitForArrivals()
                for number in 0..<3 {
                    group.addTask {
                        try await client.send("POST", "/api/data", Self.put("r\(number)"), token: token)
                    }
                }
                // Two of them wait; nothing else can end before the gate is open.
                let refused = try #require(try await group.next())
                #expect(refused.status == 429)
                #expect(refused.fields["retry-after"].flatMap { Int($0) } ?? 0 > 0)
                #expect(try refused.json["code"] == .string("RATE_LIMITED"))
                #expect(try refused.json["retryable"] == .bool(true))
                #expect(try await client.send("POST", "/api/data", Self.put("o"), token: other).status == 200)
                try await gate.open()
                for try await answer in group { #expect(answer.status == 200) }
            }
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "4")
        }
    }

    /// One that is slow in sending has no turn yet.
    @Test func aSlowDeviceHoldsUpNoOtherOneOfItsUser() async throws {
        try await with({ $0.uploadsPerUser = 1 }) { backend, client in
            let token = try await backend.token("u1")
            let body = Self.put("slow")
            let slow = try RawClient(backend.backend.port, backend.poller)
            try await slow.send(
                "POST /api/data HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
                    + "Authorization: Bearer \(token)\r\nContent-Length: \(body.utf8.count)\r\n\r\n")
            try await slow.send(String(body.prefix(20)))
            try await wait(for: "it to be let in") { backend.backend.admission?.unanswered("u1") == 1 }
            for number in 0..<10 {
                let answer = try await client.send("POST", "/api/data", Self.put("r\(number)"), token: token)
                #expect(answer.status == 200)
            }
            try await slow.send(String(body.dropFirst(20)))
            #expect(try await slow.response().status == 200)
        }
    }

    @Test func whoWaitsTooLongForItsTurnIsAskedToComeAgain() async throws {
        try await with(
            schema: Self.slowRows,
            {
                $0.uploadsPerUser = 1
                $0.admissionTimeout = .milliseconds(50)
            }
        ) { backend, client in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let token = try await backend.token("u1")
            async let first = client.send("POST", "/api/data", Self.put("s", "slow"), token: token)
            try await gate.waitForArrivals()
            let second = try await client.send("POST", "/api/data", Self.put("r"), token: token)
            #expect(second.status == 503 && second.fields["retry-after"] != nil)
            try await gate.open()
            #expect(try await first.status == 200)
        }
    }

    /// More than the 120 a minute that contract 7, number 20, once allowed.
    @Test func aDeviceThatDrainsItsQueueAloneIsNeverRefused() async throws {
        let defaults = BackendConfiguration.development()
        try await with({
            $0.uploadsPerUser = defaults.uploadsPerUser
            $0.uploadsWaiting = defaults.uploadsWaiting
            $0.admissionTimeout = defaults.admissionTimeout
        }) { backend, client in
            let token = try await backend.token("u1")
            var times: [ContinuousClock.Instant] = []
            // On a slow machine until so many lie in a minute; one that does not come to that shows nothing, and others do.
            while times.count < 300, times.count < 150 || times[times.count - 121] + .seconds(60) < .now {
                let body = Self.put("r\(times.count)")
                let answer = try await client.send("POST", "/api/data", body, token: token)
                try #require(answer.status == 200)
                times.append(.now)
            }
        }
    }

    @Test func whatTheServerRefusesByItselfIsAProblemToo() async throws {
        try await with({ $0.bodyTimeout = .milliseconds(200) }) { backend, _ in
            let token = try await backend.token()
            let long = String(repeating: "x", count: 20_000)
            let upload =
                "POST /api/data HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nAuthorization: Bearer \(token)\r\n"
            for (text, status, slug) in [
                ("GET / HTTP/1.1\r\n\r\n", 400, "invalid-request"), ("GET /\(long)", 414, "too-large"),
                ("GET / HTTP/1.1\r\nHost: h\r\nX: \(long)", 431, "too-large"),
                ("GET / HTTP/2.0\r\n\r\n", 505, "version-not-supported"),
                (upload + "Content-Length: 99999999\r\n\r\n", 413, "too-large"),
                (upload + "Content-Length: 100\r\n\r\n{", 408, "request-timeout"),
            ] {
                let client = try RawClient(backend.backend.port, backend.poller)
                try await client.send(text)
                let answer = try await client.response()
                #expect(answer.status == status)
                #expect(answer.has("content-type: application/problem+json"))
                let json = try JSON.parse(answer.body)
                #expect(json["type"] == .string("urn:psb:problem:\(slug)"))
                #expect(json["status"] == .integer(status))
                #expect(json["message"]?.stringValue?.isEmpty == false)
            }
        }
    }

    @Test func aBodyOfTwoDialectsSwallowsNothing() async throws {
        try await with { backend, client in
            let token = try await backend.token()
            let put = #"{"op":"PUT","table":"lists","id":"a","data":{"name":"n"}}"#
            for body in [
                #"{"batch":[],"transactions":[{"crud":[\#(put)]}]}"#, #"{"batch":[\#(put)],"batch":[]}"#,
                #"{"transactions":[{"crud":[\#(put)],"crud":[]}]}"#,
                #"{"v":2,"transactions":[{"crud":[\#(put)]}]}"#,
            ] {
                let answer = try await client.send("POST", "/api/data", body, token: token)
                #expect(answer.status == 400)
                #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            }
            let unknown = try await client.send("POST", "/api/data", #"{"ops":[]}"#, token: token)
            #expect(try unknown.json["type"] == .string("urn:psb:problem:unknown-dialect"))
        }
    }

    @Test func theNameOfAnUploadFindsItEverywhere() async throws {
        try await with { backend, client in
            let token = try await backend.token()
            func upload(_ id: String, header: String? = nil) async throws -> JSONClient.Answer {
                let body =
                    #"{"v":1,"request_id":"\#(id)","transactions":[{"crud":[{"op":"PUT","table":"lists","#
                    + #""id":"a","data":{"name":"bad"}}]}]}"#
                return try await client.send(
                    "POST", "/api/data", body, fields: header.map { ["x-request-id": $0] } ?? [:],
                    token: token)
            }
            let answer = try await upload("body-1", header: "header-1")
            #expect(try answer.json["request_id"] == .string("body-1"))
            #expect(answer.fields["x-request-id"] == "header-1")
            #expect(try await backend.scalar("SELECT request_id FROM psb.dead_letters") == "body-1")
            let lines = backend.lines.withLock { $0 }
            #expect(
                lines.contains {
                    $0.contains("request.id=body-1") && $0.contains("request.header_id=header-1")
                })
            #expect(
                lines.contains { $0.contains("transaction rejected") && $0.contains("request.id=body-1") })
            // One that no log can hold is not answered either.
            let odd = try await upload("no good")
            let given = try #require(try odd.json["request_id"]?.stringValue)
            #expect(given != "no good" && odd.fields["x-request-id"] == given)
            #expect(backend.lines.withLock { $0 }.contains { $0.contains("request.id=\(given)") })
        }
    }

    @Test func aBodyThatIsNoUploadIsSmall() async throws {
        let session = try SignIn.sessionSettings()
        let change: (inout BackendConfiguration) -> Void = {
            $0.hasCustomCheckpoints = true
            $0.authentication.session = session
        }
        try await with(change) { backend, client in
            let tokens = [
                "/api/auth/token": try SignIn.session(), "/api/data/checkpoint": try await backend.token(),
            ]
            let long = #"{"client_id":"1","user_id":"u1","x":"\#(String(repeating: "x", count: 17_000))"}"#
            for (method, path) in [("POST", "/api/auth/token"), ("PUT", "/api/data/checkpoint")] {
                let answer = try await client.send(method, path, long, token: tokens[path])
                #expect(answer.status == 413, "\(path)")
            }
        }
    }
}
