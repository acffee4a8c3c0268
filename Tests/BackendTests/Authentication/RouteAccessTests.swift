import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A request that would be answered if it were shown who asks.
struct RouteAsk: Sendable, CustomStringConvertible {
    let method: String
    let target: String
    var body: String?

    var description: String { "\(method) \(target)" }

    /// Whether it is for this path, whatever its query.
    func isOf(_ path: String) -> Bool { target == path || target.hasPrefix(path + "?") }

    /// Requests of each method and path that a kind of route has.
    ///
    /// There is no `default`: a kind that is added is asked for here, or these tests do not compile.
    static func asks(_ kind: Route.Kind) -> [RouteAsk] {
        func get(_ paths: [String]) -> [RouteAsk] { paths.map { RouteAsk(method: "GET", target: $0) } }
        switch kind {
        case .upload:
            return ["/api/data", "/api/v1/upload"].map {
                RouteAsk(
                    method: "POST", target: $0,
                    body: #"{"batch":[{"op":"PUT","table":"notes","id":"a","data":{"friend":"f"}}]}"#)
            }
        case .operation:
            return ["PUT", "PATCH"].map {
                RouteAsk(
                    method: $0, target: "/api/data",
                    body: #"{"table":"notes","data":{"id":"a","friend":"g"}}"#)
            } + [RouteAsk(method: "DELETE", target: "/api/data", body: #"{"table":"notes","id":"a"}"#)]
        case .checkpoint: return [RouteAsk(method: "PUT", target: "/api/data/checkpoint", body: "{}")]
        case .checkpointRequest:
            return [
                RouteAsk(
                    method: "POST", target: "/api/data/checkpoint-request",
                    body: #"{"checkpoint_request_id":7}"#)
            ]
        case .token:
            return get(["/api/auth/token?user_id=u1"]) + [
                RouteAsk(method: "POST", target: "/api/auth/token", body: #"{"user_id":"u1"}"#)
            ]
        case .keys: return get(["/api/auth/keys", "/.well-known/jwks.json"])
        case .capabilities: return get(["/api/capabilities"])
        case .greeting: return get(["/"])
        case .liveness: return get(["/healthz", "/probes/liveness"])
        case .readiness: return get(["/readyz", "/probes/readiness"])
        case .startup: return get(["/startupz", "/probes/startup"])
        case .rejections: return get(["/api/v1/rejections"])
        case .acknowledgement:
            return [
                RouteAsk(
                    method: "POST", target: "/api/v1/rejections/0b1c8a52-0000-4000-8000-000000000001/ack")
            ]
        case .attachment: return ["/api/v1/attachments", "/api/attachments"].flatMap(attachments)
        case .blob:
            return ["GET", "PUT", "DELETE"].map { RouteAsk(method: $0, target: "/api/v1/blobs/key") }
        case .preflight: return [RouteAsk(method: "OPTIONS", target: "/api/data")]
        }
    }

    private static func attachments(_ base: String) -> [RouteAsk] {
        let question = AttachmentsFixture.question("p", [1, 2, 3]).json.text
        let digest = Hexadecimal.encode(Digest.sha256([]))
        let parts = AttachmentPartsRequest(parts: [AttachmentPart(number: 1, sha256: digest)]).json.text
        return [
            RouteAsk(method: "POST", target: base + "/upload-url", body: question),
            RouteAsk(
                method: "POST", target: base + "/batch",
                body: "{\"upload\":[\(question)],\"complete\":[\"p\"],\"download\":[\"p\"]}"),
            RouteAsk(method: "POST", target: base + "/p/parts", body: parts),
            RouteAsk(method: "POST", target: base + "/p/complete"),
            RouteAsk(method: "GET", target: base + "/p/download-url"),
            RouteAsk(method: "DELETE", target: base + "/p"),
        ]
    }
}

/// Who is answered on which route (Backend/Authentication/SPEC.md).
struct RouteAccessTests {
    /// What is everybody's is listed here, by its name: whatever is added asks who somebody is, or stands here.
    @Test func onlyTheseAreForEverybody() {
        let open = Route.Kind.allCases.filter { $0.access == .everybody }
        #expect(
            open == [.keys, .capabilities, .greeting, .liveness, .readiness, .startup, .preflight])
        #expect(Route.Kind.allCases.filter { $0.access == .signature } == [.blob])
        #expect(Route.Kind.allCases.filter { $0.access == .principal(.token) } == [.token])
        #expect(Route.Kind.allCases.filter { $0.access == .principal(.attachments) } == [.attachment])
    }

    @Test(arguments: Route.Kind.allCases)
    func eachIsFoundByItsRequests(kind: Route.Kind) throws {
        var options = Route.Options()
        options.hasCheckpoints = true
        options.hasAttachments = true
        options.hasBlobs = true
        options.hasRejections = true
        let asks = RouteAsk.asks(kind)
        #expect(!asks.isEmpty)
        for ask in asks {
            let route = try Route.find(HTTPRequest(method: ask.method, target: ask.target), options)
            #expect(route.kind == kind && route.access == kind.access, "\(ask)")
        }
        // Each path that a kind has is among them.
        for (path, methods) in Route.table {
            for (method, route) in methods where route.kind == kind {
                #expect(asks.contains { $0.method == method && $0.isOf(path) }, "\(method) \(path)")
            }
        }
    }
}

/// Each route of a backend in production, asked by whoever may not and by whoever may.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct RouteAuthenticationTests {
    /// Something that is shown, and the code with which the token route and the others refuse it; "none" lets it in.
    private struct Shown {
        let name: String
        let fields: HTTPFields
        let token: String
        let others: String

        init(_ name: String, _ fields: HTTPFields, _ token: String, _ others: String? = nil) {
            self.name = name
            self.fields = fields
            self.token = token
            self.others = others ?? token
        }

        func code(_ use: Authentication.Use) -> String { use == .token ? token : others }
    }

    private static func bearer(_ token: String) -> HTTPFields { ["authorization": "Bearer \(token)"] }

    /// A token of the backend's own key.
    private static func own(
        _ key: JSONWebKey, _ audience: String, _ changes: [String: JSON?] = [:]
    ) throws -> String {
        let usual: [String: JSON?] = ["aud": .string(audience), "iss": nil]
        return try SignIn.token(key, kid: key.kid, SignIn.claims(usual.merging(changes) { $1 }))
    }

    private static func refused(_ key: JSONWebKey) throws -> [Shown] {
        let late: [String: JSON?] = ["exp": .integer(Int(SignIn.now) - 61)]
        let session = try SignIn.session()
        var twice = HTTPFields()
        for _ in 0..<2 { twice.append("authorization", "Bearer \(session)") }
        let other = try JSONWebKey.generate(.ES256)
        let secret = String(repeating: "x", count: 32)
        let elsewhere = SignIn.claims(["aud": .string("elsewhere")])
        return [
            Shown("nothing", [:], "UNAUTHENTICATED"),
            Shown("no token", bearer("x"), "CREDENTIALS_MALFORMED"),
            Shown("another scheme", ["authorization": "Basic dTpw"], "CREDENTIALS_MALFORMED"),
            Shown("two of them", twice, "CREDENTIALS_TWICE"),
            Shown("a key of others", bearer(try SignIn.token(other, kid: "other")), "TOKEN_KEY_UNKNOWN"),
            Shown("our name of it", bearer(try SignIn.token(other, kid: key.kid)), "TOKEN_SIGNATURE"),
            Shown("a secret of others", bearer(try SignIn.session(secret: secret)), "TOKEN_SIGNATURE"),
            Shown("a session that ended", bearer(try SignIn.session(SignIn.claims(late))), "TOKEN_EXPIRED"),
            Shown("a token that ended", bearer(try own(key, "uploads", late)), "TOKEN_EXPIRED"),
            Shown("a session for others", bearer(try SignIn.session(elsewhere)), "TOKEN_AUDIENCE"),
            Shown("a token for others", bearer(try own(key, "elsewhere")), "TOKEN_AUDIENCE"),
            Shown("a cookie that any page sends", ["cookie": "s=\(session)"], "CROSS_SITE"),
            Shown("a token for the service", bearer(try own(key, "http://sync.example.com")), "TOKEN_KIND"),
        ]
    }

    private static func good(_ key: JSONWebKey) throws -> [Shown] {
        let session = try SignIn.session()
        return [
            Shown("a session", bearer(session), "none"),
            Shown("its cookie", ["cookie": "s=\(session)", "x-requested-with": "fetch"], "none"),
            Shown("a token for uploads", bearer(try own(key, "uploads")), "TOKEN_KIND", "none"),
        ]
    }

    /// A backend with every route, which takes sessions, and of its own tokens those for uploads.
    private func with(
        _ change: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (AttachmentsFixture, JSONWebKey) async throws -> Void
    ) async throws {
        let key = try JSONWebKey.generate(.ES256)
        let given = GivenKeys(privateText: key.jsonObjectText(includePrivate: true))
        let session = try SignIn.sessionSettings(cookie: "s")
        try await AttachmentsFixture.with({
            $0.keys = .given(given)
            $0.hasDevelopmentTokens = false
            $0.hasCustomCheckpoints = true
            $0.acceptsSyncTokens = false
            $0.uploadAudiences = ["uploads"]
            $0.authentication.session = session
            change(&$0)
        }) { fixture in
            try await fixture.note("n", of: "u1", photo: "p")
            try await body(fixture, key)
        }
    }

    private func send(
        _ ask: RouteAsk, _ fields: HTTPFields, to fixture: AttachmentsFixture
    ) async throws -> TestBackend.Answer {
        try await fixture.backend.send(ask.method, ask.target, ask.body, fields: fields)
    }

    /// Asks each route that wants to know who asks, and expects the code.
    private func expectRefused(
        _ shown: Shown, by fixture: AttachmentsFixture,
        uses: [Authentication.Use] = [.token, .uploads, .attachments]
    ) async throws {
        for kind in Route.Kind.allCases {
            guard case .principal(let use) = kind.access, uses.contains(use) else { continue }
            for ask in RouteAsk.asks(kind) {
                let answer = try await send(ask, shown.fields, to: fixture)
                let code = shown.code(use)
                #expect(answer.json["code"] == .string(code), "\(ask), \(shown.name): \(answer.json.text)")
                #expect(answer.status == (code == "CROSS_SITE" ? 403 : 401), "\(ask), \(shown.name)")
                #expect((answer.fields["www-authenticate"] != nil) == (answer.status == 401))
                #expect(answer.json["retryable"] == .bool(answer.status == 401))
                #expect(!answer.json.text.contains("eyJ"))
            }
        }
    }

    /// How much there is of what requests write.
    private func written(_ fixture: AttachmentsFixture) async throws -> String? {
        try await fixture.backend.scalar(
            """
            SELECT concat_ws(' ', (SELECT count(*) FROM notes WHERE id = 'a'), (SELECT count(*) FROM psb.attachments),
                (SELECT count(*) FROM public.checkpoints), (SELECT count(*) FROM psb.dead_letters),
                (SELECT count(*) FROM psb.ledger))
            """)
    }

    @Test func whoeverIsNobodyIsRefusedEverywhere() async throws {
        try await with { fixture, key in
            let before = try await written(fixture)
            #expect(before == "0 0 0 0 0")
            for shown in try Self.refused(key) { try await expectRefused(shown, by: fixture) }
            // It is good, and gets no other one.
            let upload = try Self.bearer(Self.own(key, "uploads"))
            try await expectRefused(
                Shown("a token for uploads", upload, "TOKEN_KIND"), by: fixture, uses: [.token])
            #expect(try await written(fixture) == before)
        }
    }

    /// Each of the same requests, with the same tables: it is the credentials alone that make the difference.
    @Test func whoeverIsSomebodyIsLetInUntilDisabled() async throws {
        try await with { fixture, key in
            let good = try Self.good(key)
            for shown in good {
                for kind in Route.Kind.allCases {
                    guard case .principal(let use) = kind.access, shown.code(use) == "none" else { continue }
                    for ask in RouteAsk.asks(kind) {
                        let answer = try await send(ask, shown.fields, to: fixture)
                        #expect(
                            ![401, 403].contains(answer.status) && answer.status < 500,
                            "\(ask), \(shown.name): \(answer.json.text)")
                    }
                }
            }
            try await fixture.execute("INSERT INTO psb.disabled_users (user_id) VALUES ('u1')")
            let before = try await written(fixture)
            let counter = try await fixture.backend.scalar("SELECT sum(checkpoint) FROM public.checkpoints")
            for shown in good {
                for kind in Route.Kind.allCases {
                    guard case .principal(let use) = kind.access, shown.code(use) == "none" else { continue }
                    for ask in RouteAsk.asks(kind) {
                        let answer = try await send(ask, shown.fields, to: fixture)
                        #expect(answer.status == 403, "\(ask), \(shown.name): \(answer.json.text)")
                        #expect(answer.json["code"] == .string("ACCOUNT_DISABLED"), "\(ask), \(shown.name)")
                    }
                }
            }
            #expect(try await written(fixture) == before)
            #expect(
                try await fixture.backend.scalar("SELECT sum(checkpoint) FROM public.checkpoints") == counter)
        }
    }

    /// Switches of development are for whoever shows nothing.
    @Test func whatIsNoGoodIsRefusedInDevelopmentToo() async throws {
        try await with({
            $0.hasDevelopmentTokens = true
            $0.hasOpenUploads = true
        }) { fixture, key in
            for shown in try Self.refused(key).dropFirst() { try await expectRefused(shown, by: fixture) }
            let nothing = Shown("nothing", [:], "UNAUTHENTICATED")
            try await expectRefused(nothing, by: fixture, uses: [.attachments])
            #expect(try await written(fixture) == "0 0 0 0 0")
        }
    }

    /// Nothing of it is anybody's, so that nothing that is shown matters.
    @Test func whatIsForEverybodyIsAnsweredWhateverIsShown() async throws {
        try await with { fixture, key in
            for kind in Route.Kind.allCases where kind.access == .everybody {
                for ask in RouteAsk.asks(kind) {
                    for shown in try Self.refused(key) + Self.good(key) {
                        let answer = try await send(ask, shown.fields, to: fixture)
                        #expect(answer.status == 200, "\(ask), \(shown.name): \(answer.json.text)")
                    }
                }
            }
        }
    }

    /// Bytes are for whoever has a URL that is signed, and for nobody else, whoever that is.
    @Test func aSignatureIsAskedForAndNobodysName() async throws {
        try await with { fixture, key in
            for ask in RouteAsk.asks(.blob) {
                for shown in try Self.refused(key) + Self.good(key) {
                    let answer = try await send(ask, shown.fields, to: fixture)
                    // Without a socket no length of a body is told.
                    let status = ask.method == "PUT" ? 411 : 403
                    #expect(answer.status == status, "\(ask), \(shown.name): \(answer.json.text)")
                }
            }
        }
    }

    // MARK: Log

    @Test func theLineOfARequestSaysByWhatItWasProved() async throws {
        try await with { fixture, _ in
            let claims = SignIn.claims(["sub": .string("canary-user"), "jti": .string("j-1")])
            let fields = Self.bearer(try SignIn.session(claims))
            for ask in RouteAsk.asks(.upload) { _ = try await send(ask, fields, to: fixture) }
            for ask in RouteAsk.asks(.token) { _ = try await send(ask, fields, to: fixture) }
            try await fixture.execute("INSERT INTO psb.disabled_users (user_id) VALUES ('canary-user')")
            for ask in RouteAsk.asks(.rejections) { _ = try await send(ask, fields, to: fixture) }
            let lines = fixture.backend.lines.withLock { $0 }
            for (route, status) in [("upload", "200"), ("token", "200"), ("rejections", "403")] {
                let line = try #require(
                    lines.first {
                        $0.contains("http.route=\(route)") && $0.contains("http.status=\(status)")
                    },
                    "\(route)")
                for value in ["auth.kind=session", "token.id=j-1", "user.digest="] {
                    #expect(line.contains(value), "\(line)")
                }
            }
            #expect(!lines.contains { $0.contains("canary") })
        }
    }
}
