import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What the official demo apps ask of a backend: pages of this machine that call it, and connectors that send no token.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct DemoAppTests {
    private static let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"one"}}]}"#
    private static let page = "http://localhost:5173"

    private func with(
        schema: String = TestBackend.demoTables, map: String? = nil,
        _ change: (inout BackendConfiguration) -> Void,
        _ body: (TestBackend, JSONClient) async throws -> Void
    ) async throws {
        try await TestBackend.with(schema: schema, map: map, change) { backend in
            try await body(backend, try JSONClient("http://127.0.0.1:\(backend.backend.port)"))
        }
    }

    /// Asks as a browser does before the page's own request.
    private func preflight(_ client: JSONClient, _ origin: String) async throws -> JSONClient.Answer {
        try await client.send(
            "OPTIONS", "/api/data",
            fields: [
                "origin": origin, "access-control-request-method": "POST",
                "access-control-request-headers": "authorization,content-type",
            ])
    }

    @Test func pagesOfThisMachineMayCallWithDevelopmentTokens() async throws {
        try await with({ $0.corsOrigins = [] }) { backend, client in
            for origin in [Self.page, "http://127.0.0.1:4173"] {
                let asked = try await preflight(client, origin)
                #expect(asked.status == 200)
                #expect(asked.fields["access-control-allow-origin"] == origin)
                #expect(asked.fields["access-control-allow-methods"]?.contains("POST") == true)
                #expect(asked.fields["access-control-allow-headers"]?.contains("authorization") == true)
                let token = try await backend.token()
                let answer = try await client.send(
                    "POST", "/api/data", Self.put, fields: ["origin": origin], token: token)
                #expect(answer.status == 200)
                #expect(answer.fields["access-control-allow-origin"] == origin)
            }
            let other = try await preflight(client, "http://evil.example.com")
            #expect(other.fields["access-control-allow-origin"] == nil && other.fields["vary"] == "Origin")
        }
        try await with({ $0.hasDevelopmentTokens = false }) { _, client in
            let asked = try await preflight(client, Self.page)
            #expect(asked.fields["access-control-allow-origin"] == nil)
        }
        try await with({ $0.corsOrigins = ["https://app.example.com"] }) { _, client in
            let asked = try await preflight(client, Self.page)
            #expect(asked.fields["access-control-allow-origin"] == nil)
        }
    }

    @Test func openUploadsAreThoseOfTheDevelopmentUser() async throws {
        let schema = """
            CREATE TABLE lists (id text PRIMARY KEY, owner_id text NOT NULL, name text);
            CREATE PUBLICATION powersync FOR TABLES IN SCHEMA public;
            """
        try await with(
            schema: schema, map: "tables:\n  lists: { owner: owner_id }\n",
            {
                $0.hasOpenUploads = true
                $0.developmentUser = "somebody"
            }
        ) { backend, client in
            #expect(try await preflight(client, Self.page).fields["access-control-allow-origin"] == Self.page)
            let answer = try await client.send("POST", "/api/data", Self.put, fields: ["origin": Self.page])
            #expect(answer.status == 200)
            #expect(answer.fields["access-control-allow-origin"] == Self.page)
            #expect(try await backend.query("SELECT id, owner_id FROM lists") == [["a", "somebody"]])
            for authorization in ["Bearer x.y.z", "Bearer ", ""] {
                let bad = try await client.send(
                    "POST", "/api/data", Self.put, fields: ["authorization": authorization])
                #expect(bad.status == 401, "\(authorization)")
            }
            let token = try await backend.token("u1")
            let own = #"{"batch":[{"op":"PUT","table":"lists","id":"b","data":{"name":"two"}}]}"#
            #expect(try await client.send("POST", "/api/data", own, token: token).status == 200)
            #expect(try await backend.scalar("SELECT owner_id FROM lists WHERE id = 'b'") == "u1")
            #expect(
                backend.lines.withLock { $0 }.contains {
                    $0.contains("WARNING") && $0.contains("DEV_OPEN_UPLOADS")
                })
        }
    }

    @Test func withoutThatSwitchNobodyWritesWithoutAToken() async throws {
        try await with({ _ in }) { backend, client in
            let answer = try await client.send("POST", "/api/data", Self.put)
            #expect(answer.status == 401)
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
        }
    }
}
