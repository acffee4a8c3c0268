import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncPostgresServer
import PowerSyncPostgresTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// The token route of a backend in production (backend 4.4).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct TokenRouteTests {
    private static let origin = "https://app.example.com"

    /// A backend with sessions and their cookie `s`, asked with a session token of the claims.
    private func with(
        schema: String = TestBackend.demoTables,
        _ change: (inout BackendConfiguration) throws -> Void = { _ in },
        _ body: (TestBackend) async throws -> Void
    ) async throws {
        let session = try SignIn.sessionSettings(cookie: "s")
        var changed = TestBackend.configuration("")
        try change(&changed)
        let (authentication, roles) = (changed.authentication, changed.roles)
        let hasDevelopmentTokens = changed.hasDevelopmentTokens
        try await TestBackend.with(
            schema: schema,
            {
                $0.hasDevelopmentTokens = hasDevelopmentTokens
                $0.corsOrigins = [Self.origin]
                $0.authentication = authentication
                $0.authentication.session = session
                $0.roles = roles
            }, body)
    }

    private func ask(
        _ backend: TestBackend, _ claims: [String: JSON?] = [:], _ method: String = "GET",
        _ body: String? = nil
    ) async throws -> TestBackend.Answer {
        let token = try SignIn.session(SignIn.claims(claims))
        return try await backend.send(
            method, "/api/auth/token?user_id=admin", body, fields: ["authorization": "Bearer \(token)"])
    }

    private func payload(_ answer: TestBackend.Answer) throws -> JSON {
        try JSON.parse(try JSONWebToken(parsing: try #require(answer.json["token"]?.stringValue)).payload)
    }

    @Test func aSessionGetsATokenOfItsUserThatUploads() async throws {
        try await with { backend in
            let answer = try await ask(backend)
            #expect(answer.status == 200)
            #expect(answer.fields["cache-control"] == "no-store" && answer.fields["pragma"] == "no-cache")
            #expect(answer.fields["vary"]?.hasPrefix("Authorization, Cookie") == true)
            let claims = try payload(answer)
            #expect(claims["sub"] == .string("u1"), "whatever the query says")
            #expect(claims["parameters"] == nil)
            let token = try #require(answer.json["token"]?.stringValue)
            let fields: HTTPFields = ["authorization": "Bearer \(token)"]
            let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"one"}}]}"#
            #expect(try await backend.send("POST", "/api/data", put, fields: fields).status == 200)
            // It does not renew itself.
            let again = try await backend.send("GET", "/api/auth/token", fields: fields)
            #expect(again.status == 401 && again.json["code"] == .string("TOKEN_KIND"))
            #expect(try await backend.send("GET", "/api/auth/token?user_id=u1").status == 401)
        }
    }

    @Test func parametersAreClaimsAndNotWhatTheUserSends() async throws {
        try await with({ $0.authentication.parameterClaims = ["team", "plan", "team", "none"] }) { backend in
            let given: [String: JSON?] = ["team": .string("t"), "plan": .object([]), "x": .string("y")]
            let expected = JSON.object([
                JSONMember("team", .string("t")), JSONMember("plan", .object([])),
            ])
            #expect(try payload(try await ask(backend, given))["parameters"] == expected)
            #expect(try payload(try await ask(backend, given, "POST", "{}"))["parameters"] == expected)
            let chosen = try await ask(backend, given, "POST", #"{"parameters":{"team":"other"}}"#)
            #expect(chosen.status == 400 && chosen.json["token"] == nil)
            let large = try await ask(backend, ["team": .string(String(repeating: "t", count: 2_048))])
            #expect(large.status == 403 && large.json["code"] == .string("CLAIMS_TOO_LARGE"))
            #expect(backend.lines.withLock { $0.contains { $0.contains("too large to be shown") } })
        }
    }

    @Test func aRoleThatIsNotAllowedGetsNothing() async throws {
        let names = ["token_app", "token_admin"]
        let made = names.map { "CREATE ROLE \($0); GRANT ALL ON lists, todos TO \($0);" }.joined()
        try await with(
            schema: TestBackend.demoTables + made,
            {
                $0.roles.roles = names.compactMap { DatabaseRole($0) }
                $0.roles.claim = "db"
            }
        ) { backend in
            #expect(try payload(try await ask(backend))["db"] == nil)
            let admin = try payload(try await ask(backend, ["db": .string("token_admin")]))
            #expect(admin["db"] == .string("token_admin"))
            let refused = try await ask(backend, ["db": .string("postgres")])
            #expect(refused.status == 403 && refused.json["code"] == .string("ROLE_NOT_ALLOWED"))
            for name in names {
                _ = try await backend.query("DROP OWNED BY \(name)")
                _ = try await backend.query("DROP ROLE \(name)")
            }
        }
    }

    @Test func aCookieNeedsTheMarkAndAnOriginOfOurs() async throws {
        try await with { backend in
            let cookie = "a=b; s=\(try SignIn.session())"
            for (fields, status) in [
                (["cookie": cookie], 403), (["cookie": cookie, "x-requested-with": "fetch"], 200),
                (["cookie": cookie, "x-requested-with": "fetch", "origin": Self.origin], 200),
                (["cookie": cookie, "x-requested-with": "fetch", "origin": "https://evil.com"], 403),
            ] as [(HTTPFields, Int)] {
                let answer = try await backend.send("GET", "/api/auth/token", fields: fields)
                #expect(answer.status == status)
                let isListed = fields["origin"] == Self.origin
                #expect(answer.fields["access-control-allow-credentials"] == (isListed ? "true" : nil))
            }
            let asked = try await backend.send("OPTIONS", "/api/auth/token", fields: ["origin": Self.origin])
            #expect(asked.fields["access-control-allow-credentials"] == "true")
            #expect(asked.fields.tokens("access-control-allow-headers").contains("x-requested-with"))
        }
    }

    @Test func aProxySaysWhoHasSignedIn() async throws {
        try await with({
            $0.authentication.trustedProxies = [try #require(IPRange("127.0.0.0/8"))]
            $0.authentication.userHeader = "X-User"
        }) { backend in
            let client = try JSONClient("http://127.0.0.1:\(backend.backend.port)")
            let answer = try await client.send("GET", "/api/auth/token", fields: ["x-user": "alice"])
            #expect(answer.status == 200)
            let token = try #require(try answer.json["token"]?.stringValue)
            #expect(try JSON.parse(try JSONWebToken(parsing: token).payload)["sub"] == .string("alice"))
            // Without a connection there is no proxy.
            let nobody = try await backend.send("GET", "/api/auth/token", fields: ["x-user": "alice"])
            #expect(nobody.status == 401 && nobody.json["code"] == .string("PROXY_UNTRUSTED"))
        }
    }
}

/// Users who may do nothing any more (Backend/Authentication/SPEC.md).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct DisabledTokenTests {
    @Test func whoIsDisabledGetsNoTokenFromThatMomentOn() async throws {
        try await TestBackend.with { backend in
            func status(_ user: String) async throws -> Int {
                try await backend.send("GET", "/api/auth/token?user_id=\(user)").status
            }
            #expect(try await status("u1") == 200)
            _ = try await backend.query("INSERT INTO psb.disabled_users (user_id) VALUES ('u1')")
            let refused = try await backend.send("GET", "/api/auth/token?user_id=u1")
            #expect(refused.status == 403 && refused.json["code"] == .string("ACCOUNT_DISABLED"))
            #expect(refused.json["token"] == nil && refused.json["retryable"] == .bool(false))
            #expect(try await status("U1") == 200)
            #expect(try await status("u2") == 200)
            _ = try await backend.query("DELETE FROM psb.disabled_users")
            #expect(try await status("u1") == 200)
        }
    }

    @Test func withoutTheDatabaseNobodyGetsAToken() async throws {
        try await TestCluster.withServer { server in
            try await TestBackend.with(uri: server.uri()) { backend in
                func ask() async throws -> TestBackend.Answer {
                    try await backend.send("GET", "/api/auth/token?user_id=u1")
                }
                #expect(try await ask().status == 200)
                server.kill()
                try await wait(for: "the server to be gone") { !server.isRunning }
                let answer = try await ask()
                #expect(answer.status == 503 && answer.json["retryable"] == .bool(true))
                #expect(answer.fields["retry-after"] != nil && answer.json["token"] == nil)
                try await server.restart()
                try await wait(for: "a token", read: { try await ask().status }, until: { $0 == 200 })
            }
        }
    }
}
