import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Who is asked about whom a request is from (Backend/Authentication/SPEC.md).
@Suite(.patient())
struct AuthenticationTests {
    private func bearer(_ token: String) -> HTTPFields { ["authorization": "Bearer \(token)"] }

    // MARK: What is shown chooses

    @Test func eachWayProvesItsUser() async throws {
        let desk = try SignInDesk()
        #expect(await desk.outcome(bearer(try desk.foreign())) == "provider u1")
        #expect(await desk.outcome(bearer(try SignIn.session())) == "session u1")
        #expect(await desk.outcome(bearer(try desk.minted())) == "own u1")
        #expect(await desk.outcome(["x-user": "alice"], from: "10.0.0.1") == "proxy alice")
        let cookie: HTTPFields = ["cookie": "s=\(try SignIn.session())", "x-requested-with": "fetch"]
        #expect(await desk.outcome(cookie) == "session u1")
        for use in [Authentication.Use.token, .uploads, .attachments] {
            #expect(await desk.outcome([:], use) == "UNAUTHENTICATED")
        }
    }

    @Test func twoThingsWhereOneCountsAreNone() async throws {
        let desk = try SignInDesk()
        let good = "Bearer \(try desk.foreign())"
        var twice = HTTPFields()
        for _ in 0..<2 { twice.append("authorization", good) }
        #expect(await desk.outcome(twice) == "CREDENTIALS_TWICE")
        for users in ["alice,bob", "alice, alice"] {
            #expect(await desk.outcome(["x-user": users], from: "10.0.0.1") == "CREDENTIALS_TWICE")
        }
        let session = try SignIn.session()
        let cookies: HTTPFields = ["cookie": "s=\(session); s=\(session)", "x-requested-with": "x"]
        #expect(await desk.outcome(cookies) == "CREDENTIALS_TWICE")
        #expect(await desk.outcome(["x-user": "a,b", "authorization": good]) == "CREDENTIALS_TWICE")
    }

    @Test func onlyAProxySaysWhomARequestIsFrom() async throws {
        let desk = try SignInDesk()
        let good = try desk.foreign()
        for peer in ["192.0.2.7", "::10.0.0.1", "11.0.0.1"] {
            #expect(await desk.outcome(["x-user": "alice"], from: peer) == "PROXY_UNTRUSTED")
            let both: HTTPFields = ["x-user": "alice", "authorization": "Bearer \(good)"]
            #expect(await desk.outcome(both, from: peer) == "PROXY_UNTRUSTED", "whatever else is shown")
        }
        // What a proxy passes on besides is its own business.
        let basic: HTTPFields = ["x-user": "alice", "authorization": "Basic dTpw"]
        #expect(await desk.outcome(basic, from: "10.0.0.1") == "proxy alice")
        #expect(await desk.outcome(["x-user": "é"], from: "::ffff:10.0.0.1") == "proxy é")
        for user in ["", "a\u{1}b", "a\u{7F}", "a\u{85}b", "a\u{FFFD}", String(repeating: "u", count: 1_025)]
        {
            #expect(await desk.outcome(["x-user": user], from: "10.0.0.1") == "CREDENTIALS_MALFORMED")
        }
        let request = HTTPRequest(method: "GET", target: "/", fields: ["x-user": "alice"])
        #expect(
            await refusalCode { _ = try await desk.authentication.principal(of: request, for: .uploads) }
                == "PROXY_UNTRUSTED", "without a connection nobody is a proxy")
    }

    @Test func noFailureOfOneOpensTheWayOfAnother() async throws {
        let desk = try SignInDesk()
        let other = try JSONWebKey.generate(.ES256)
        // Names of keys of another kind, algorithms of another kind, nothing that fits.
        let secret = try JSONWebKey(secret: Array(SignIn.secret.utf8), algorithm: .HS256)
        let wrongSecret = try SignIn.session(secret: String(repeating: "x", count: 32))
        for (token, code) in [
            (try SignIn.token(secret, .HS256, kid: desk.ownKey.kid), "none"),
            (wrongSecret, "TOKEN_SIGNATURE"),
            (try SignIn.token(other, kid: desk.ownKey.kid), "TOKEN_SIGNATURE"),
            (try SignIn.token(other, kid: desk.providerKey.kid), "TOKEN_SIGNATURE"),
            (try SignIn.token(desk.providerKey, kid: desk.ownKey.kid), "TOKEN_SIGNATURE"),
            (try SignIn.token(desk.ownKey, kid: desk.providerKey.kid), "TOKEN_SIGNATURE"),
            (try SignIn.token(desk.ownKey, kid: nil), "TOKEN_KEY_UNKNOWN"),
            (try SignIn.token(other, kid: "new"), "TOKEN_KEY_UNKNOWN"),
            (try SignIn.token(header: #"{"alg":"none"}"#, other), "TOKEN_ALGORITHM"),
            (try SignIn.token(header: #"{"alg":"HS512"}"#, other), "TOKEN_ALGORITHM"),
        ] {
            // A good cookie beside it, and a proxy's word from nobody, change nothing.
            var fields = bearer(token)
            fields["cookie"] = "s=\(try SignIn.session())"
            fields["x-requested-with"] = "fetch"
            let outcome = await desk.outcome(fields)
            #expect(outcome == (code == "none" ? "session u1" : code))
        }
    }

    @Test func withoutAWayThereIsNone() async throws {
        let desk = try SignInDesk {
            $0.authentication = AuthenticationSettings()
        }
        #expect(await desk.outcome(bearer(try SignIn.session())) == "TOKEN_ALGORITHM")
        #expect(await desk.outcome(bearer(try desk.foreign())) == "TOKEN_KEY_UNKNOWN")
        #expect(await desk.outcome(["x-user": "alice"], from: "10.0.0.1") == "UNAUTHENTICATED")
        #expect(await desk.outcome(["cookie": "s=\(try SignIn.session())"]) == "UNAUTHENTICATED")
        #expect(await desk.outcome(bearer(try desk.minted())) == "own u1")
        #expect(await desk.outcome(bearer("a.b.c")) == "CREDENTIALS_MALFORMED")
        let noPayload = try SignIn.token(header: #"{"alg":"ES256"}"#, desk.ownKey, payload: "text")
        #expect(await desk.outcome(bearer(noPayload)) == "CREDENTIALS_MALFORMED")
        #expect(desk.provider.fetches == 0)
    }

    @Test func aKeyThatHasComeSinceIsLookedFor() async throws {
        let desk = try SignInDesk { $0.authentication.provider = nil }
        let next = try JSONWebKey.generate(.ES256)
        let token = try SignIn.token(
            next, kid: next.kid, SignIn.claims(["aud": .string("http://sync"), "iss": nil]))
        #expect(await desk.outcome(bearer(token)) == "TOKEN_KEY_UNKNOWN")
        #expect(desk.looks.withLock { $0 } == 1)
        desk.own.replace(with: try KeySet(signer: desk.ownKey, others: [next]))
        #expect(await desk.outcome(bearer(token)) == "own u1")
        #expect(desk.looks.withLock { $0 } == 1, "it is known")
    }

    // MARK: What it is good for

    @Test func aTokenOfOursGetsNoOtherOne() async throws {
        let desk = try SignInDesk()
        let token = try desk.minted()
        for _ in 0..<2 {
            #expect(await desk.outcome(bearer(token), .token) == "TOKEN_KIND")
            #expect(await desk.outcome(bearer(token), .attachments) == "own u1")
        }
        let bad = try desk.minted(SignIn.claims(["aud": .string("x")]))
        #expect(await desk.outcome(bearer(bad), .token) == "TOKEN_AUDIENCE", "what is no good is told first")
    }

    @Test func aSyncTokenUploadsOnlyWhereThatIsAllowed() async throws {
        let desk = try SignInDesk {
            $0.acceptsSyncTokens = false
            $0.uploadAudiences = ["uploads"]
        }
        let sync = try desk.minted()
        let upload = try desk.minted(SignIn.claims(["aud": .array([.string("uploads")])]))
        for use in [Authentication.Use.uploads, .attachments] {
            for _ in 0..<2 {
                #expect(await desk.outcome(bearer(sync), use) == "TOKEN_KIND")
                #expect(await desk.outcome(bearer(upload), use) == "own u1")
            }
        }
    }

    @Test func nobodyIsSomebodyInDevelopmentAlone() async throws {
        let desk = try SignInDesk {
            $0.hasDevelopmentTokens = true
            $0.hasOpenUploads = true
            $0.developmentUser = "dev"
        }
        #expect(await desk.outcome([:], .token) == "development dev")
        #expect(await desk.outcome([:], .token, target: "/?user_id=alice") == "development alice")
        #expect(await desk.outcome([:], .token, target: "/?user_id=") == "development dev")
        let long = String(repeating: "u", count: 256)
        #expect(await desk.outcome([:], .token, target: "/?user_id=\(long)") == "INVALID_REQUEST")
        #expect(await desk.outcome([:], .uploads, target: "/?user_id=alice") == "development dev")
        #expect(await desk.outcome([:], .attachments) == "UNAUTHENTICATED")
        // Whoever shows something is who that proves, or nobody.
        #expect(await desk.outcome(bearer("x"), .token) == "CREDENTIALS_MALFORMED")
        #expect(
            await desk.outcome(bearer(try desk.foreign()), .token, target: "/?user_id=x") == "provider u1")
        let tokens = try SignInDesk { $0.hasDevelopmentTokens = true }
        #expect(await tokens.outcome([:], .uploads) == "UNAUTHENTICATED")
        let uploads = try SignInDesk { $0.hasOpenUploads = true }
        #expect(await uploads.outcome([:], .token, target: "/?user_id=x") == "UNAUTHENTICATED")
    }

    @Test func aCookieOfAnotherSiteIsForbidden() async throws {
        let desk = try SignInDesk()
        let cookie = "s=\(try SignIn.session())"
        for (fields, outcome) in [
            (["cookie": cookie], "CROSS_SITE"),
            (["cookie": cookie, "x-requested-with": "x"], "session u1"),
            (["cookie": cookie, "x-requested-with": "x", "origin": "https://app.example.com"], "session u1"),
            (
                ["cookie": cookie, "x-requested-with": "x", "origin": "https://evil.example.com"],
                "CROSS_SITE"
            ),
            (
                ["cookie": cookie, "x-requested-with": "x", "origin": "https://h:1", "host": "h:1"],
                "session u1"
            ),
            // Nobody's browser sends a header of its own unasked.
            (["authorization": "Bearer \(try SignIn.session())", "origin": "https://evil"], "session u1"),
        ] as [(HTTPFields, String)] {
            // Also what has been found good.
            for _ in 0..<2 { #expect(await desk.outcome(fields) == outcome) }
        }
    }

    /// A proxy that signs people in by a cookie of its own has the browser send that along, too.
    @Test func aPageOfAnotherSiteDoesNotActThroughAProxy() async throws {
        let desk = try SignInDesk()
        for (page, outcome) in [
            ([:], "proxy alice"), (["sec-fetch-site": "same-origin"], "proxy alice"),
            (["sec-fetch-site": "none"], "proxy alice"), (["sec-fetch-site": "cross-site"], "CROSS_SITE"),
            (["sec-fetch-site": "same-site"], "CROSS_SITE"),
            (["origin": "https://evil.example.com"], "CROSS_SITE"),
            (["origin": "null"], "CROSS_SITE"), (["origin": "https://app.example.com"], "proxy alice"),
            (["origin": "https://app.example.com", "sec-fetch-site": "cross-site"], "proxy alice"),
            (["origin": "https://evil.example.com", "sec-fetch-site": "cross-site"], "CROSS_SITE"),
            (["origin": "https://h:1", "host": "h:1"], "proxy alice"),
            // The proxy has changed the name of the host.
            (["origin": "https://h:1", "host": "backend", "sec-fetch-site": "same-origin"], "proxy alice"),
        ] as [([String: String], String)] {
            var fields: HTTPFields = ["x-user": "alice"]
            for (name, value) in page { fields[name] = value }
            #expect(await desk.outcome(fields, from: "10.0.0.1") == outcome, "\(page)")
            #expect(await desk.outcome(fields) == "PROXY_UNTRUSTED")
        }
    }

    // MARK: Roles

    @Test func theClaimChoosesTheRole() async throws {
        let desk = try SignInDesk {
            $0.roles.roles = ["app", "admin"].compactMap(DatabaseRole.init)
            $0.roles.claim = "db"
        }
        func role(_ claim: JSON?) async throws -> String? {
            let token = try desk.foreign(SignIn.claims(["db": claim]))
            return try await desk.principal(bearer(token)).role?.name
        }
        #expect(try await role(nil) == "app")
        #expect(try await role(.string("admin")) == "admin")
        for claim in [
            JSON.string("postgres"), .string("Admin"), .string(""), .null, .array([.string("admin")]),
        ] {
            #expect(await refusalCode { _ = try await role(claim) } == "ROLE_NOT_ALLOWED", "\(claim.text)")
        }
        #expect(try await desk.principal(["x-user": "a"], from: "10.0.0.1").role?.name == "app")
    }

    // MARK: What is remembered

    @Test func aSignatureIsCheckedOnceUntilTheKeysChange() async throws {
        let desk = try SignInDesk()
        let token = try desk.minted()
        #expect(await desk.outcome(bearer(token)) == "own u1")
        // Time goes on for what is remembered, too.
        desk.wall.withLock { $0 += 661 }
        #expect(await desk.outcome(bearer(token)) == "TOKEN_EXPIRED")
        desk.wall.withLock { $0 -= 661 }
        #expect(await desk.outcome(bearer(token)) == "own u1")
        desk.own.replace(with: try KeySet(signer: try JSONWebKey.generate(.ES256)))
        #expect(await desk.outcome(bearer(token)) != "own u1", "the key counts no more")
        let session = try SignIn.session()
        #expect(await desk.outcome(bearer(session)) == "session u1")
        var settings = try SignIn.sessionSettings(cookie: "s")
        settings.secret = Array(String(repeating: "n", count: 32).utf8)
        try desk.authentication.session?.replace(with: settings)
        #expect(await desk.outcome(bearer(session)) == "TOKEN_SIGNATURE")
        let foreign = try desk.foreign()
        for _ in 0..<3 { #expect(await desk.outcome(bearer(foreign)) == "provider u1") }
        desk.provider.publish([try JSONWebKey.generate(.ES256)])
        desk.seconds.pass(301)
        #expect(await desk.outcome(bearer(foreign)) == "provider u1", "fetched in the background")
        try await wait(for: "the other keys") { await desk.outcome(bearer(foreign)) == "TOKEN_KEY_UNKNOWN" }
    }
}

/// Each way of signing in while whoever provides for it is down.
@Suite(.patient())
struct AuthenticatorTests {
    @Test func withItsProviderDown() async throws {
        let desk = try SignInDesk()
        let key = try JSONWebKey.generate(.ES256)
        func outcome(_ token: String) async -> String {
            await desk.outcome(["authorization": "Bearer \(token)"])
        }
        #expect(await outcome(try desk.foreign()) == "provider u1")
        desk.provider.goDown()
        // A key that is known; of tokens that were never seen.
        for number in 0..<3 {
            let token = try desk.foreign(SignIn.claims(["jti": .integer(number)]))
            #expect(await outcome(token) == "provider u1")
        }
        #expect(await outcome(try SignIn.token(key, kid: key.kid)) == "KEYS_UNAVAILABLE")
        #expect(await outcome(try desk.foreign(SignIn.claims(["n": .integer(1)]))) == "provider u1")
        // Sessions need nobody.
        #expect(await outcome(try SignIn.session()) == "session u1")
        // A proxy that is gone is another peer.
        #expect(await desk.outcome(["x-user": "alice"], from: "192.0.2.1") == "PROXY_UNTRUSTED")
        #expect(await desk.outcome(["x-user": "alice"], from: "10.1.2.3") == "proxy alice")
        // Once the keys are over nobody can tell, and says so.
        desk.seconds.pass(3_600)
        #expect(await outcome(try desk.foreign()) == "KEYS_UNAVAILABLE")
        desk.provider.publish([desk.providerKey, key])
        desk.seconds.pass(30)
        #expect(await outcome(try SignIn.token(key, kid: key.kid)) == "provider u1")
    }

    /// Read as Latin-1 the second name would be the first one.
    @Test(.enabled(if: TestOptions.hasDatabase)) func aNameThatIsNoUTF8IsNobodys() async throws {
        let proxies = [try #require(IPRange("127.0.0.1"))]
        try await TestBackend.with({
            $0.authentication.trustedProxies = proxies
            $0.authentication.userHeader = "X-User"
        }) { backend in
            for (user, status) in [(Array("é".utf8), 200), ([0xE9], 401), ([0xE8], 401)] as [([UInt8], Int)] {
                let client = try RawClient(backend.backend.port, backend.poller)
                let head = "GET /api/auth/token HTTP/1.1\r\nHost: h\r\nX-User: "
                try await client.send(Array(head.utf8) + user + Array("\r\n\r\n".utf8))
                let answer = try await client.response()
                #expect(answer.status == status, "\(user)")
            }
        }
    }

    @Test func aTokenThatIsSignedInNoWayOfTheProviderFetchesNothing() async throws {
        let desk = try SignInDesk { $0.authentication.provider?.algorithms = [.RS256] }
        #expect(await desk.outcome(["authorization": "Bearer \(try desk.foreign())"]) == "TOKEN_ALGORITHM")
        #expect(desk.provider.fetches == 0)
    }
}

/// How many credentials that are no good somebody may show (backend 7, number 20).
@Suite(.patient())
struct LimitTests {
    private func outcome(
        _ desk: SignInDesk, _ token: String, from peer: String = "192.0.2.7"
    ) async -> String {
        await desk.outcome(["authorization": "Bearer \(token)"], from: peer)
    }

    @Test func failuresOfOneAddress() async throws {
        let desk = try SignInDesk()
        for _ in 0..<20 { #expect(await outcome(desk, "x") == "CREDENTIALS_MALFORMED") }
        #expect(await outcome(desk, "x") == "RATE_LIMITED")
        let wrong = try SignIn.session(secret: String(repeating: "x", count: 32))
        #expect(await outcome(desk, wrong) == "RATE_LIMITED")
        #expect(await desk.outcome(["x-user": "a"]) == "RATE_LIMITED")
        #expect(await desk.outcome([:]) == "UNAUTHENTICATED", "who shows nothing guesses nothing")
        #expect(await outcome(desk, "x", from: "192.0.2.8") == "CREDENTIALS_MALFORMED")
        desk.wall.withLock { $0 += 3 }
        #expect(await outcome(desk, "x") == "CREDENTIALS_MALFORMED")
        #expect(await outcome(desk, "x") == "RATE_LIMITED")
    }

    /// Behind a balancer that nobody has named all clients have one address: one of them must not lock the others out.
    @Test func aGoodTokenPassesWhateverElseItsAddressHasShown() async throws {
        let desk = try SignInDesk()
        for _ in 0..<30 { _ = await outcome(desk, "x") }
        // None has been seen before, and the keys of the provider are still to be fetched.
        #expect(await outcome(desk, try desk.foreign()) == "provider u1")
        #expect(await outcome(desk, try SignIn.session()) == "session u1")
        #expect(await outcome(desk, try desk.minted()) == "own u1")
        // Who is told that its token has expired gets another one.
        let late = try SignIn.session(SignIn.claims(["exp": .integer(Int(SignIn.now) - 61)]))
        #expect(await outcome(desk, late) == "TOKEN_EXPIRED")
        #expect(await outcome(desk, "x") == "RATE_LIMITED")
        #expect(await outcome(desk, try SignIn.session(SignIn.claims(["n": .integer(1)]))) == "session u1")
    }

    @Test func aProxyThatNobodyHasNamedIsToldOfOnce() async throws {
        let desk = try SignInDesk()
        func told() -> [String] { desk.lines.withLock { $0.filter { $0.contains("TRUSTED_PROXIES") } } }
        let session = "Bearer \(try SignIn.session())"
        _ = await desk.outcome(["authorization": session])
        _ = await desk.outcome(
            ["authorization": session, "x-forwarded-for": "203.0.113.1"], from: "10.0.0.1")
        #expect(told() == [])
        for peer in ["192.0.2.7", "192.0.2.8"] {
            _ = await desk.outcome(["authorization": session, "x-forwarded-for": "203.0.113.1"], from: peer)
        }
        #expect(told().count == 1 && told().first?.contains("backend.peer=192.0.2.7") == true, "\(told())")
    }

    @Test func expiredOnesAreNoFailures() async throws {
        let desk = try SignInDesk()
        let late = try SignIn.session(SignIn.claims(["exp": .integer(Int(SignIn.now) - 61)]))
        for _ in 0..<100 { #expect(await outcome(desk, late) == "TOKEN_EXPIRED") }
        for _ in 0..<100 { #expect(await desk.outcome([:]) == "UNAUTHENTICATED") }
        #expect(await outcome(desk, try SignIn.session()) == "session u1")
    }

    @Test func thoseBehindAProxyAreToldApart() async throws {
        let desk = try SignInDesk()
        func show(_ token: String, _ client: String) async -> String {
            await desk.outcome(
                ["authorization": "Bearer \(token)", "x-forwarded-for": client], from: "10.0.0.1")
        }
        for _ in 0..<20 { _ = await show("x", "203.0.113.1") }
        #expect(await show("x", "203.0.113.1") == "RATE_LIMITED")
        #expect(await show("x", "9.9.9.9, 203.0.113.1") == "RATE_LIMITED", "what he has sent himself")
        #expect(await show("x", "203.0.113.1:4711") == "RATE_LIMITED", "as some proxies write it")
        #expect(await show("x", "192.0.2.1:4711") == "CREDENTIALS_MALFORMED")
        #expect(await show(try SignIn.session(), "203.0.113.2") == "session u1")
    }

    @Test func zeroSetsNoLimit() async throws {
        let desk = try SignInDesk { $0.rateLimits.failedCredentialsPerMinute = 0 }
        for _ in 0..<200 { #expect(await outcome(desk, "x") == "CREDENTIALS_MALFORMED") }
    }

    @Test(.enabled(if: TestOptions.hasDatabase)) func tokensOfOneUser() async throws {
        try await TestBackend.with({ $0.rateLimits.tokensPerMinute = 3 }) { backend in
            func status(_ user: String) async throws -> Int {
                try await backend.send("GET", "/api/auth/token?user_id=\(user)").status
            }
            for _ in 0..<3 { #expect(try await status("u1") == 200) }
            let refused = try await backend.send("GET", "/api/auth/token?user_id=u1")
            #expect(refused.status == 429 && refused.json["code"] == .string("RATE_LIMITED"))
            #expect(refused.fields["retry-after"] == "20" && refused.json["token"] == nil)
            #expect(try await status("u2") == 200)
            backend.clock.withLock { $0 += 20 }
            #expect(try await status("u1") == 200)
            #expect(try await status("u1") == 429)
        }
    }
}
