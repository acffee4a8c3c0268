import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire
import Testing

/// The backend as its clients see it: over a socket.
@Suite(.enabled(if: TestEnvironment.hasDatabase), .timeLimit(.minutes(1)))
struct ServerTests {
    private struct Client: Sendable {
        let http: HTTPClient
        let base: String

        func send(
            _ method: String, _ path: String, _ body: String? = nil, _ fields: HTTPFields = [:]
        ) async throws -> (status: Int, fields: HTTPFields, json: JSON) {
            var fields = fields
            if body != nil, fields["content-type"] == nil { fields["content-type"] = "application/json" }
            let request = HTTPClientRequest(
                method: method, url: base + path, fields: fields, body: body.map { Array($0.utf8) })
            let response = try await http.send(request)
            return (
                response.status, response.fields,
                response.body.isEmpty ? .null : try JSON.parse(response.body)
            )
        }

        func token(_ user: String = "u1") async throws -> String {
            try #require(try await send("GET", "/api/auth/token?user_id=\(user)").json["token"]?.stringValue)
        }
    }

    private func with(
        map: String? = nil, _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, Client) async throws -> Void
    ) async throws {
        try await TestBackend.with(map: map, change) { backend in
            let http = try HTTPClient()
            defer { http.close() }
            try await body(backend, Client(http: http, base: "http://127.0.0.1:\(backend.backend.port)"))
        }
    }

    private static let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"one"}}]}"#

    @Test func aTokenOfTheRouteUploads() async throws {
        try await with { backend, client in
            let minted = try await client.send("GET", "/api/auth/token?user_id=u1")
            #expect(minted.status == 200)
            #expect(minted.fields["cache-control"] == "no-store")
            #expect(minted.json["powersync_url"]?.stringValue == "http://sync.example.com")
            let token = try #require(minted.json["token"]?.stringValue)
            for path in ["/api/data", "/api/data/", "//api/data", "/api/v1/upload"] {
                let answer = try await client.send(
                    "POST", path, Self.put, ["authorization": "Bearer \(token)"])
                #expect(answer.status == 200, "\(path)")
                #expect(answer.json["message"] == .string("Batch completed"))
                #expect(answer.fields["x-request-id"]?.isEmpty == false)
            }
            #expect(try await backend.scalar("SELECT name FROM lists") == "one")
        }
    }

    @Test func aPostedUserGetsParametersToo() async throws {
        try await with { _, client in
            let answer = try await client.send(
                "POST", "/api/auth/token", #"{"user_id":"u9","parameters":{"a":1}}"#)
            #expect(answer.status == 200)
            #expect(try await client.send("POST", "/api/auth/token", #"{"parameters":[]}"#).status == 400)
            #expect(try await client.send("POST", "/api/auth/token", "{").status == 400)
        }
    }

    @Test func withoutDevelopmentTokensNobodyIsMinted() async throws {
        try await with({ $0.hasDevelopmentTokens = false }) { _, client in
            let answer = try await client.send("GET", "/api/auth/token?user_id=u1")
            #expect(answer.status == 401)
            #expect(answer.json["token"] == nil)
        }
    }

    @Test func withoutAValidTokenNothingIsWrittenAndTheClientIsTold() async throws {
        try await with { backend, client in
            let token = try await client.token()
            backend.clock.withLock { $0 += 661 }
            let expired: HTTPFields = ["authorization": "Bearer \(token)"]
            for fields in [[:], expired, ["authorization": "Bearer x.y.z"], ["authorization": "Basic dTpw"]]
                as [HTTPFields]
            {
                let answer = try await client.send("POST", "/api/data", Self.put, fields)
                #expect(answer.status == 401)
                #expect(answer.fields["www-authenticate"]?.hasPrefix("Bearer ") == true)
                #expect(answer.fields["content-type"] == "application/problem+json")
                #expect(answer.json["retryable"] == .bool(true))
                #expect(answer.json["code"] == .string("UNAUTHENTICATED"))
                #expect(answer.json["message"]?.stringValue?.isEmpty == false)
            }
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    @Test func bodiesHaveALimitHoweverTheyCome() async throws {
        try await with({ $0.bodyLimit = 4_096 }) { backend, client in
            let token = try await client.token()
            let large = "{\"batch\":[" + String(repeating: " ", count: 5_000) + "]}"
            let announced = try await client.send(
                "POST", "/api/data", large, ["authorization": "Bearer \(token)"])
            #expect(announced.status == 413)
            #expect(announced.json["limit"] == .number("4096"))
            let chunked = try await client.send(
                "POST", "/api/data", large,
                ["authorization": "Bearer \(token)", "transfer-encoding": "chunked"])
            #expect(chunked.status == 413)
            #expect(try await client.send("GET", "/healthz").status == 200)
        }
    }

    @Test func aBodyOfSixteenMebibytesIsTakenByDefault() async throws {
        try await with { backend, client in
            let token = try await client.token()
            let text = String(repeating: "x", count: 5 << 20)
            let operations = (0..<3).map {
                #"{"op":"PUT","table":"lists","id":"r\#($0)","data":{"name":"\#(text)"}}"#
            }
            let answer = try await client.send(
                "POST", "/api/data", "{\"batch\":[\(operations.joined(separator: ","))]}",
                ["authorization": "Bearer \(token)"])
            #expect(answer.status == 200)
            #expect(try await backend.scalar("SELECT sum(length(name)) FROM lists") == String(15 << 20))
        }
    }

    @Test func mistakesOfTheConnectorAre400sThatSayWhat() async throws {
        try await with { _, client in
            let token = try await client.token()
            let fields: HTTPFields = ["authorization": "Bearer \(token)"]
            let malformed = try await client.send("POST", "/api/data", #"{"batch":["#, fields)
            #expect(malformed.status == 400)
            #expect(malformed.json["type"] == .string("urn:psb:problem:malformed-json"))
            #expect(try await client.send("POST", "/api/data", "{}", fields).status == 400)
            #expect(try await client.send("POST", "/api/data", #"{"transactions":[]}"#, fields).status == 400)
            var plain = fields
            plain["content-type"] = "text/plain"
            #expect(try await client.send("POST", "/api/data", Self.put, plain).status == 415)
            let wrong = try await client.send("GET", "/api/data", nil, fields)
            #expect(wrong.status == 405)
            #expect(wrong.fields["allow"]?.contains("POST") == true)
            #expect(try await client.send("GET", "/nothing").status == 404)
        }
    }

    @Test func thePublicRoutesAnswer() async throws {
        try await with { _, client in
            for path in ["/", "/healthz", "/readyz", "/startupz", "/api/capabilities"] {
                #expect(try await client.send("GET", path).status == 200, "\(path)")
            }
            let keys = try await client.send("GET", "/.well-known/jwks.json")
            #expect(keys.json["keys"]?.arrayValue?.count == 1)
            #expect(keys.fields["cache-control"] == "public, max-age=300")
            let tag = try #require(keys.fields["etag"])
            #expect(try await client.send("GET", "/api/auth/keys", nil, ["if-none-match": tag]).status == 304)
            let head = try await client.send("HEAD", "/api/auth/keys")
            #expect(head.status == 200)
            #expect(head.json == .null)
            let limits = try await client.send("GET", "/api/capabilities").json["limits"]
            #expect(limits?["body_bytes"] == .number(String(16 << 20)))
        }
    }

    @Test func browsersOfNamedOriginsMayCall() async throws {
        try await with({ $0.corsOrigins = ["http://app.example.com"] }) { _, client in
            let asked = try await client.send(
                "OPTIONS", "/api/data", nil,
                ["origin": "http://app.example.com", "access-control-request-method": "POST"])
            #expect(asked.status == 200)
            #expect(asked.fields["access-control-allow-origin"] == "http://app.example.com")
            #expect(asked.fields["access-control-allow-headers"]?.contains("authorization") == true)
            let other = try await client.send("GET", "/healthz", nil, ["origin": "http://evil.example.com"])
            #expect(other.fields["access-control-allow-origin"] == nil)
        }
    }

    @Test func theLogHoldsNeitherTokensNorValues() async throws {
        try await with { backend, client in
            let token = try await client.token("canary-user")
            let body =
                #"{"batch":[{"op":"PUT","table":"lists","id":"canary-id","data":{"name":"canary-name"}}]}"#
            _ = try await client.send(
                "POST", "/api/data", body, ["authorization": "Bearer \(token)", "x-request-id": "my-request"])
            let lines = backend.lines.withLock { $0 }
            #expect(lines.contains { $0.contains("my-request") && $0.contains("upload.operations=1") })
            #expect(!lines.contains { $0.contains("canary") || $0.contains(token) })
        }
    }

    @Test func aStopLetsRunningUploadsEnd() async throws {
        let schema =
            TestBackend.demoTables + """
                CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS
                    $$ BEGIN PERFORM pg_sleep(0.5); RETURN NEW; END $$;
                CREATE TRIGGER sleeps BEFORE INSERT ON lists FOR EACH ROW EXECUTE FUNCTION sleep();
                """
        let backend = try await TestBackend.start(schema: schema)
        let http = try HTTPClient()
        defer { http.close() }
        let client = Client(http: http, base: "http://127.0.0.1:\(backend.backend.port)")
        let token = try await client.token()
        async let upload = client.send("POST", "/api/data", Self.put, ["authorization": "Bearer \(token)"])
        try await eventually("the upload runs") {
            try await backend.scalar(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'powersync-backend' AND state = 'active'"
            )
                == "1"
        }
        await backend.backend.stop()
        #expect(try await upload.status == 200)
        #expect(try await backend.scalar("SELECT count(*) FROM lists") == "1")
        await #expect(throws: HTTPClientError.self) { try await client.send("GET", "/healthz") }
        await backend.stop()
    }

    @Test func aStartThatCannotSucceedSaysWhatToChange() async throws {
        try await with { backend, _ in
            func start(_ change: (inout BackendConfiguration) -> Void) async -> BackendError? {
                var configuration = BackendConfiguration(databaseURI: backend.uri, powersyncURL: "http://x")
                configuration.host = "127.0.0.1"
                configuration.port = 0
                configuration.startTimeout = .zero
                change(&configuration)
                let second = Backend(
                    configuration: configuration, poller: backend.poller,
                    log: .init(label: "x", sink: { _ in }))
                do {
                    try await second.start()
                    await second.stop()
                    return nil
                } catch {
                    return error as? BackendError
                }
            }
            #expect(await start { $0.port = backend.backend.port }?.code == .address)
            #expect(await start { $0.databaseURI = "postgres://127.0.0.1:1/none" }?.code == .database)
            let map = await start { $0.tables = .text("tables:\n  lists: { owner: nobody }\n") }
            #expect(map?.code == .tableMap)
            #expect(map?.message.contains("line 2, column 19") == true)
            #expect(await start { $0.tables = .file("/nonexistent/map.yaml") }?.code == .tableMap)
            #expect(await start { $0.keys = .key("nonsense") }?.code == .keys)
            _ = try await backend.query("CREATE ROLE poor LOGIN")
            _ = try await backend.query("DROP SCHEMA psb CASCADE")
            let poor = await start { $0.databaseURI = backend.uri.replacing("postgres@", with: "poor@") }
            #expect(poor?.code == .database)
            #expect(poor?.message.contains("GRANT CREATE") == true)
            _ = try await backend.query("DROP ROLE poor")
        }
    }

    @Test func twoStartsAtOnceMakeOneSchema() async throws {
        try await with { backend, _ in
            _ = try await backend.query("DROP SCHEMA psb CASCADE")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        var configuration = BackendConfiguration(
                            databaseURI: backend.uri, powersyncURL: "http://x")
                        configuration.host = "127.0.0.1"
                        configuration.port = 0
                        let another = Backend(
                            configuration: configuration, poller: backend.poller,
                            log: .init(label: "x", sink: { _ in }))
                        try await another.start()
                        await another.stop()
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await backend.scalar("SELECT count(*) FROM psb.schema_migrations") == "1")
            #expect(
                try await backend.scalar(
                    "SELECT count(*) FROM pg_publication_tables WHERE pubname = 'powersync' AND schemaname = 'psb'"
                ) == "0")
        }
    }
}
