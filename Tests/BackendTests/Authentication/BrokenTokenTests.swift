import PowerSyncBackend
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What is shown to each route that asks who somebody is, over a socket, in each way (reliability 3).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct BrokenTokenTests {
    private static let schema = """
        CREATE TABLE lists (id text PRIMARY KEY, owner_id text NOT NULL, name text, photo_id text);
        INSERT INTO lists VALUES ('old', 'u1', 'old', 'photo');
        """
    private static let map = "tables: { lists: { owner: owner_id, attachments: [photo_id] } }"

    /// A request that only somebody who is known may make.
    private struct Question: Sendable {
        let method: String
        let path: String
        var body: String?
        /// Whether it is for a token, which no token of this backend is good for.
        var isForToken = false
    }

    /// One for each route.
    private static let questions: [Question] = {
        let put = #"{"op":"PUT","table":"lists","id":"new","data":{"name":"n"}}"#
        let single = #"{"table":"lists","data":{"id":"new","name":"n"}}"#
        let v1 =
            #"{"v":1,"client_id":"c","transactions":[{"tx_id":1,"crud":[{"op_id":1,\#(put.dropFirst())]}]}"#
        let digest = String(repeating: "0", count: 64)
        let letter = "0b1c8a52-0000-4000-8000-000000000001"
        let photo = AttachmentsFixture.question("photo", [1]).json.text
        let attachments = "/api/v1/attachments"
        return [
            Question(method: "GET", path: "/api/auth/token?user_id=u1", isForToken: true),
            Question(method: "POST", path: "/api/auth/token", body: #"{"user_id":"u1"}"#, isForToken: true),
            Question(method: "POST", path: "/api/data", body: "{\"batch\":[\(put)]}"),
            Question(method: "POST", path: "/api/data", body: "{\"transactions\":[{\"crud\":[\(put)]}]}"),
            Question(method: "POST", path: "/api/v1/upload", body: v1),
            Question(method: "PUT", path: "/api/data", body: single),
            Question(method: "PATCH", path: "/api/data", body: single),
            Question(method: "DELETE", path: "/api/data", body: #"{"table":"lists","data":{"id":"old"}}"#),
            Question(method: "PUT", path: "/api/data/checkpoint", body: #"{"client_id":"c"}"#),
            Question(
                method: "POST", path: "/api/data/checkpoint-request",
                body: #"{"client_id":"c","checkpoint_request_id":"7"}"#),
            Question(method: "GET", path: "/api/v1/rejections"),
            Question(method: "POST", path: "/api/v1/rejections/\(letter)/ack"),
            Question(method: "POST", path: "\(attachments)/upload-url", body: photo),
            Question(method: "POST", path: "/api/attachments/upload-url", body: photo),
            Question(method: "POST", path: "\(attachments)/batch", body: "{\"upload\":[\(photo)]}"),
            Question(
                method: "POST", path: "\(attachments)/photo/parts",
                body: "{\"parts\":[{\"number\":1,\"sha256\":\"\(digest)\"}]}"),
            Question(method: "POST", path: "\(attachments)/photo/complete", body: "{}"),
            Question(method: "GET", path: "\(attachments)/photo/download-url"),
            Question(method: "DELETE", path: "\(attachments)/photo"),
        ]
    }()

    /// A backend with all ways of signing in, and whoever asks it.
    private struct Desk: Sendable {
        let backend: TestBackend
        let client: JSONClient
        let tokens: BrokenTokens

        func ask(
            _ question: Question, _ fields: HTTPFields, query: String = ""
        ) async throws -> JSONClient.Answer {
            var path = question.path
            if !query.isEmpty { path += (path.contains("?") ? "&" : "?") + query }
            return try await client.send(question.method, path, question.body, fields: fields)
        }

        /// Uploads a row with a good token.
        func expectGood(_ way: BrokenTokens.Way, _ id: String) async throws {
            let put = #"{"batch":[{"op":"PUT","table":"lists","id":"\#(id)","data":{"name":"n"}}]}"#
            let token = try tokens.good(way, ["jti": .string(id)])
            let fields = tokens.shown(token, way)
            let answer = try await client.send("POST", "/api/data", put, fields: fields)
            #expect(answer.status == 200, "\(way.rawValue)")
            #expect(try answer.json["results"]?.arrayValue?.first?["status"] == .string("success"))
        }
    }

    private func with(_ body: (Desk) async throws -> Void) async throws {
        let tokens = try BrokenTokens()
        let document = try tokens.document()
        let provider = try RawServer { connection in
            while connection.request() != nil {
                let head = "HTTP/1.1 200 OK\r\nContent-Length: \(document.utf8.count)\r\n\r\n"
                guard connection.send(head + document) else { return }
            }
        }
        let session = try SignIn.sessionSettings(cookie: "s")
        var trusted = try SignIn.providerSettings
        trusted.keysURL = provider.url("/keys")
        let proxies = [try #require(IPRange("10.0.0.0/8"))]
        let configured = trusted
        try await KeysFixture.with { keys in
            let now = Int(SignIn.now)
            try keys.put(
                "own.jwk", tokens.own,
                ["psb_state": .string("current"), "psb_current": .integer(now - 1_000)])
            try keys.put(
                "revoked.jwk", tokens.revoked,
                [
                    "psb_state": .string("retired"), "psb_retired": .integer(now - 10),
                    "psb_revoked": .integer(now - 10),
                ])
            let folder = keys.folder.path
            try await TestBackend.with(
                schema: Self.schema, map: Self.map, store: ScriptedStore(),
                {
                    $0.hasDevelopmentTokens = false
                    $0.hasCustomCheckpoints = true
                    $0.audiences = ["app"]
                    $0.tokenIssuer = SignIn.issuer
                    $0.acceptsSyncTokens = true
                    $0.keys = .directory(folder)
                    $0.authentication.provider = configured
                    $0.authentication.session = session
                    $0.authentication.trustedProxies = proxies
                    $0.authentication.userHeader = "X-User"
                }
            ) { backend in
                let client = try JSONClient("http://127.0.0.1:\(backend.backend.port)")
                try await body(Desk(backend: backend, client: client, tokens: tokens))
            }
        }
        withExtendedLifetime(provider) {}
    }

    /// The rows, what was refused, and what else requests leave behind.
    private func traces(_ backend: TestBackend) async throws -> [[String?]] {
        try await backend.query(
            """
            SELECT (SELECT string_agg(concat_ws(' ', id, owner_id, name, photo_id), '|' ORDER BY id) FROM lists),
                (SELECT count(*)::text FROM psb.dead_letters), (SELECT count(*)::text FROM psb.attachments),
                (SELECT count(*)::text FROM psb.commits), (SELECT count(*)::text FROM public.checkpoints)
            """)
    }

    @Test func theyAreSixtyAndMore() throws {
        let tokens = try BrokenTokens()
        for way in BrokenTokens.Way.allCases {
            let all = try tokens.all(way)
            #expect(all.count >= 60, "\(way.rawValue): \(all.count)")
            #expect(Set(all.map { "\($0.fields) \($0.query)" }).count == all.count, "no two are the same")
        }
    }

    @Test(arguments: BrokenTokens.Way.allCases)
    func eachIsRefusedWithItsCode(way: BrokenTokens.Way) async throws {
        try await with { desk in
            try await desk.expectGood(way, "before")
            let before = try await traces(desk.backend)
            for broken in try desk.tokens.all(way) {
                for question in Self.questions {
                    let answer = try await desk.ask(question, broken.fields, query: broken.query)
                    let place = "\(broken.name): \(question.method) \(question.path)"
                    let text = String(decoding: answer.body, as: UTF8.self)
                    #expect(answer.status == 401, "\(place): \(text)")
                    #expect(try answer.json["code"]?.stringValue == broken.code, "\(place)")
                    #expect(answer.fields["www-authenticate"]?.hasPrefix("Bearer ") == true, "\(place)")
                    #expect(answer.fields["content-type"] == "application/problem+json", "\(place)")
                    #expect(!text.contains("evil.example.com") && !text.contains("admin"), "\(place)")
                }
            }
            #expect(try await traces(desk.backend) == before, "nothing was done")
            let lines = desk.backend.lines.withLock { $0 }
            #expect(!lines.contains { $0.contains("eyJ") }, "no token is in the log")
            try await desk.expectGood(way, "after")
        }
    }

    /// What a client says of itself in a proxy's words, with whatever else it shows.
    @Test(arguments: BrokenTokens.Way.allCases)
    func noneOpensTheProxysWayIn(way: BrokenTokens.Way) async throws {
        try await with { desk in
            let question = try #require(Self.questions.first { $0.path == "/api/data" })
            let before = try await traces(desk.backend)
            for broken in try desk.tokens.all(way) {
                var fields = broken.fields
                fields.append("x-user", "u1")
                fields.append("x-forwarded-for", "10.0.0.1")
                let answer = try await desk.ask(question, fields, query: broken.query)
                let isTwice = broken.code == Problem.CredentialsCode.twice.rawValue
                #expect(answer.status == 401, "\(broken.name)")
                let code = try answer.json["code"]?.stringValue
                #expect(code == (isTwice ? broken.code : "PROXY_UNTRUSTED"), "\(broken.name)")
            }
            #expect(try await traces(desk.backend) == before)
            try await desk.expectGood(way, "after")
        }
    }

    /// Such as have a name of a key, a subject or a payload of 64 KB.
    @Test(arguments: BrokenTokens.Way.allCases)
    func aHeadOver16KiBIs431(way: BrokenTokens.Way) async throws {
        try await with { desk in
            let long = String(repeating: "x", count: 64 << 10)
            let deep = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
            let open = String(SignIn.claims().text.dropLast())
            let tokens = try [
                desk.tokens.signed(way, header: desk.tokens.header(way, kid: "\"\(long)\"") + "}"),
                desk.tokens.good(way, ["sub": .string(long)]),
                desk.tokens.signed(way, payload: "\(open),\"x\":\(deep)}"),
                String(repeating: "x", count: 1 << 20),
            ]
            try await desk.expectGood(way, "before")
            let before = try await traces(desk.backend)
            for token in tokens {
                for question in Self.questions {
                    // No more than the server reads: what comes behind that could cost the answer.
                    let shown = String(token.prefix(18 << 10))
                    let field = way == .cookie ? "Cookie: s=\(shown)" : "Authorization: Bearer \(shown)"
                    let client = try RawClient(desk.backend.backend.port, desk.backend.poller)
                    try await client.send(
                        "\(question.method) \(question.path) HTTP/1.1\r\nHost: h\r\nX-Requested-With: t\r\n\(field)"
                    )
                    let answer = try await client.response()
                    #expect(answer.status == 431, "\(question.method) \(question.path)")
                }
            }
            #expect(try await traces(desk.backend) == before)
            try await desk.expectGood(way, "after")
        }
    }

    @Test(arguments: BrokenTokens.Way.allCases)
    func aDisabledUserIs403(way: BrokenTokens.Way) async throws {
        try await with { desk in
            _ = try await desk.backend.query(
                "INSERT INTO psb.disabled_users (user_id, reason) VALUES ('u1', 'left')")
            let before = try await traces(desk.backend)
            let fields = desk.tokens.shown(try desk.tokens.good(way), way)
            for question in Self.questions {
                // Also what has been verified once.
                for _ in 0..<2 {
                    let answer = try await desk.ask(question, fields)
                    let place = "\(question.method) \(question.path)"
                    let text = String(decoding: answer.body, as: UTF8.self)
                    if question.isForToken, way == .own {
                        #expect(answer.status == 401 && text.contains("TOKEN_KIND"), "\(place): \(text)")
                    } else {
                        #expect(answer.status == 403, "\(place): \(text)")
                        #expect(try answer.json["code"]?.stringValue == "ACCOUNT_DISABLED", "\(place)")
                    }
                    #expect(!text.contains("left"), "\(place)")
                }
            }
            #expect(try await traces(desk.backend) == before)
            let other = desk.tokens.shown(try desk.tokens.good(way, ["sub": .string("u2")]), way)
            let question = try #require(Self.questions.first { $0.path == "/api/data" })
            #expect(try await desk.ask(question, other).status == 200)
        }
    }
}
