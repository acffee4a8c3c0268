import PowerSyncBackend
import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPTestSupport
import PowerSyncPostgres
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The backend as its clients see it: over a socket.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct ServerTests {
    private func with(
        schema: String = TestBackend.demoTables, map: String? = nil,
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, JSONClient) async throws -> Void
    ) async throws {
        try await TestBackend.with(schema: schema, map: map, change) { backend in
            try await body(backend, try JSONClient("http://127.0.0.1:\(backend.backend.port)"))
        }
    }

    private func token(_ client: JSONClient, _ user: String = "u1") async throws -> String {
        let answer = try await client.send("GET", "/api/auth/token?user_id=\(user)")
        return try #require(try answer.json["token"]?.stringValue)
    }

    private static let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"one"}}]}"#

    /// The example of `Backend` is this code, with which `Scripts/examples.py` compares it.
    @Test func exampleOfTheBackendRuns() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        let uri = try await TestPostgres.database(poller)
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.script(TestBackend.demoTables)
        await connection.close()
        let configuration = TestBackend.configuration(uri)
        let lines = Lock<[String]>([])
        let log = Log(label: "test", level: .info) { line in lines.withLock { $0.append(line) } }
        let backend = Backend(configuration: configuration, poller: poller, log: log)
        try await backend.start()
        // http://127.0.0.1:\(backend.port)/api/data
        await backend.stop()
        #expect(lines.withLock { $0.contains { $0.contains("backend listens") } })
        #expect(backend.port == 0)
    }

    @Test func aTokenOfTheRouteUploads() async throws {
        try await with { backend, client in
            let minted = try await client.send("GET", "/api/auth/token?user_id=u1")
            #expect(minted.status == 200)
            #expect(minted.fields["cache-control"] == "no-store")
            #expect(try minted.json["powersync_url"]?.stringValue == "http://sync.example.com")
            let token = try #require(try minted.json["token"]?.stringValue)
            for path in ["/api/data", "/api/data/", "//api/data", "/api/v1/upload"] {
                let answer = try await client.send(
                    "POST", path, Self.put, token: token)
                #expect(answer.status == 200, "\(path)")
                #expect(try answer.json["message"] == .string("Batch completed"))
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
            let token = try JSONWebToken(parsing: try #require(try answer.json["token"]?.stringValue))
            let claims = try JSON.parse(token.payload)
            #expect(claims["sub"] == .string("u9"))
            #expect(claims["parameters"] == .object([JSONMember("a", .number("1"))]))
            #expect(try await client.send("POST", "/api/auth/token", #"{"parameters":[]}"#).status == 400)
            #expect(try await client.send("POST", "/api/auth/token", "{").status == 400)
        }
    }

    @Test func withoutDevelopmentTokensNobodyIsMinted() async throws {
        try await with({ $0.hasDevelopmentTokens = false }) { _, client in
            let answer = try await client.send("GET", "/api/auth/token?user_id=u1")
            #expect(answer.status == 401)
            #expect(try answer.json["token"] == nil)
        }
    }

    @Test func withoutAValidTokenNothingIsWrittenAndTheClientIsTold() async throws {
        try await with { backend, client in
            let token = try await token(client)
            backend.clock.withLock { $0 += 661 }
            for (fields, code) in [
                ([:], "UNAUTHENTICATED"), (["authorization": "Bearer \(token)"], "TOKEN_EXPIRED"),
                (["authorization": "Bearer x.y.z"], "CREDENTIALS_MALFORMED"),
                (["authorization": "Basic dTpw"], "CREDENTIALS_MALFORMED"),
            ] as [(HTTPFields, String)] {
                let answer = try await client.send("POST", "/api/data", Self.put, fields: fields)
                #expect(answer.status == 401)
                #expect(answer.fields["www-authenticate"]?.hasPrefix("Bearer ") == true)
                #expect(answer.fields["content-type"] == "application/problem+json")
                #expect(try answer.json["retryable"] == .bool(true))
                #expect(try answer.json["code"] == .string(code))
                #expect(try answer.json["message"]?.stringValue?.isEmpty == false)
            }
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            #expect(try await backend.scalar("SELECT count(*) FROM psb.dead_letters") == "0")
        }
    }

    @Test func bodiesHaveALimitHoweverTheyCome() async throws {
        try await with({ $0.bodyLimit = 4_096 }) { backend, client in
            let token = try await token(client)
            let large = "{\"batch\":[" + String(repeating: " ", count: 5_000) + "]}"
            let announced = try await client.send(
                "POST", "/api/data", large, token: token)
            #expect(announced.status == 413)
            #expect(try announced.json["limit"] == .number("4096"))
            let chunked = try await client.send(
                "POST", "/api/data", large, fields: ["transfer-encoding": "chunked"], token: token)
            #expect(chunked.status == 413)
            #expect(try await client.send("GET", "/healthz").status == 200)
        }
    }

    @Test func aBodyOfSixteenMebibytesIsTakenByDefault() async throws {
        try await with { backend, client in
            let token = try await token(client)
            let text = String(repeating: "x", count: 5 << 20)
            let operations = (0..<3).map {
                #"{"op":"PUT","table":"lists","id":"r\#($0)","data":{"name":"\#(text)"}}"#
            }
            let answer = try await client.send(
                "POST", "/api/data", "{\"batch\":[\(operations.joined(separator: ","))]}", token: token)
            #expect(answer.status == 200)
            #expect(try await backend.scalar("SELECT sum(length(name)) FROM lists") == String(15 << 20))
        }
    }

    @Test func mistakesOfTheConnectorAre400sThatSayWhat() async throws {
        try await with { _, client in
            let token = try await token(client)
            let malformed = try await client.send("POST", "/api/data", #"{"batch":["#, token: token)
            #expect(malformed.status == 400)
            #expect(try malformed.json["type"] == .string("urn:psb:problem:malformed-json"))
            #expect(try await client.send("POST", "/api/data", "{}", token: token).status == 400)
            let empty = try await client.send("POST", "/api/data", #"{"transactions":[]}"#, token: token)
            #expect(empty.status == 400)
            let plain = try await client.send(
                "POST", "/api/data", Self.put, fields: ["content-type": "text/plain"], token: token)
            #expect(plain.status == 415)
            let wrong = try await client.send("GET", "/api/data", token: token)
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
            #expect(try keys.json["keys"]?.arrayValue?.count == 1)
            #expect(keys.fields["cache-control"] == "public, max-age=300")
            let tag = try #require(keys.fields["etag"])
            #expect(
                try await client.send("GET", "/api/auth/keys", fields: ["if-none-match": tag]).status == 304)
            let head = try await client.send("HEAD", "/api/auth/keys")
            #expect(head.status == 200)
            #expect(try head.json == .null)
            let limits = try await client.send("GET", "/api/capabilities").json["limits"]
            #expect(limits?["body_bytes"] == .number(String(16 << 20)))
        }
    }

    @Test func browsersOfNamedOriginsMayCall() async throws {
        try await with({ $0.corsOrigins = ["http://app.example.com"] }) { _, client in
            let asked = try await client.send(
                "OPTIONS", "/api/data",
                fields: ["origin": "http://app.example.com", "access-control-request-method": "POST"])
            #expect(asked.status == 200)
            #expect(asked.fields["access-control-allow-origin"] == "http://app.example.com")
            #expect(asked.fields["access-control-allow-headers"]?.contains("authorization") == true)
            let other = try await client.send(
                "GET", "/healthz", fields: ["origin": "http://evil.example.com"])
            #expect(other.fields["access-control-allow-origin"] == nil)
        }
    }

    @Test func theLogHoldsNeitherTokensNorValues() async throws {
        try await with { backend, client in
            let token = try await token(client, "canary-user")
            let body =
                #"{"batch":[{"op":"PUT","table":"lists","id":"canary-id","data":{"name":"canary-name"}}]}"#
            _ = try await client.send(
                "POST", "/api/data", body, fields: ["x-request-id": "my-request"], token: token)
            let lines = backend.lines.withLock { $0 }
            #expect(lines.contains { $0.contains("my-request") && $0.contains("upload.operations=1") })
            #expect(!lines.contains { $0.contains("canary") || $0.contains(token) })
        }
    }

    @Test func aStopLetsRunningUploadsEnd() async throws {
        try await with(schema: TestBackend.demoTables + TestBackend.gated()) { backend, client in
            let gate = try await DatabaseGate(backend.uri, backend.poller)
            let token = try await token(client)
            async let upload = client.send("POST", "/api/data", Self.put, token: token)
            try await gate.waitForArrivals()
            async let stop: Void = backend.backend.stop()
            try await wait(for: "the server to take nothing new") {
                do {
                    _ = try await client.send("GET", "/healthz")
                    return false
                } catch is HTTPClientError {
                    return true
                }
            }
            try await gate.open()
            #expect(try await upload.status == 200)
            await stop
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "1")
        }
    }

    @Test func aStartThatCannotSucceedSaysWhatToChange() async throws {
        try await with { backend, _ in
            func start(_ change: (inout BackendConfiguration) -> Void) async -> BackendError? {
                var configuration = TestBackend.configuration(backend.uri)
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
            #expect(await start { $0.keys = .given(GivenKeys(privateText: "nonsense")) }?.code == .keys)
            _ = try await backend.query("CREATE ROLE poor \(try TestRole.login(backend.uri))")
            _ = try await backend.query("DROP SCHEMA psb CASCADE")
            let poor = await start { $0.databaseURI = TestRole.uri(backend.uri, as: "poor") }
            #expect(poor?.code == .database)
            #expect(poor?.message.contains("powersync-backend migrate --role poor") == true)
            _ = try await backend.query("DROP ROLE poor")
        }
    }

    @Test func startsAtOnceMakeOneSchema() async throws {
        try await with { backend, _ in
            _ = try await backend.query("DROP SCHEMA psb CASCADE")
            // The lock of `SchemaMigration` holds all of them until the last has come.
            let gate = try await DatabaseGate(backend.uri, backend.poller, key: 0x505342)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let another = Backend(
                            configuration: TestBackend.configuration(backend.uri), poller: backend.poller,
                            log: .init(label: "x", sink: { _ in }))
                        try await another.start()
                        await another.stop()
                    }
                }
                try await gate.waitForArrivals(4)
                try await gate.open()
                try await group.waitForAll()
            }
            #expect(
                try await backend.scalar(
                    "SELECT string_agg(version::text, ' ' ORDER BY version) FROM psb.schema_migrations")
                    == (1...BackendSchema.version).map { String($0) }.joined(separator: " "))
            #expect(
                try await backend.scalar(
                    "SELECT count(*) FROM pg_publication_tables WHERE pubname = 'powersync' AND schemaname = 'psb'"
                ) == "0")
        }
    }
}
