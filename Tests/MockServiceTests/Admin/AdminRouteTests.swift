import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncMockService
import PowerSyncPostgres
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Who may ask the admin routes, and what is refused (service 1.3, 1.10).
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct AdminRouteTests {
    private static let schema = ReplicationServiceTests.schema
    private static let config = ReplicationServiceTests.config
    private static let refusal =
        #"{"error":{"code":"PSYNC_S2101","status":401,"description":"Authorization failed","name":"AuthorizationError"}}"#
    private static let bodies: [(route: String, body: JSON)] = [
        ("diagnostics", .object([])), ("schema", .object([])),
        ("validate", .object([JSONMember("sync_rules", .string(""))])),
    ]

    @Test func onlyATokenOfTheConfigurationIsLetIn() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.apiTokens = ["first", "second"] }
            for (route, body) in Self.bodies {
                for token in ["first", "second"] {
                    #expect(try await service.admin(route, body, token: token).status == 200, "\(route)")
                }
                for token in ["", "firs", "first1", "FIRST", "second first"] {
                    let answer = try await service.admin(route, body, token: token)
                    #expect(answer.status == 401, "\(route) \(token)")
                    #expect(String(decoding: answer.body, as: UTF8.self) == Self.refusal)
                }
                func status(_ fields: HTTPFields) async throws -> Int {
                    try await service.send(
                        "POST", "/api/admin/v1/\(route)", body: body.utf8, fields: fields, token: ""
                    ).status
                }
                #expect(try await status(["authorization": "Bearer second"]) == 200)
                #expect(try await status(["authorization": "Basic second"]) == 401)
                #expect(try await status(["authorization": "token second"]) == 401)
                // A token of a user is none of these.
                #expect(
                    try await service.send("POST", "/api/admin/v1/\(route)", body: body.utf8).status == 401)
            }
        }
    }

    /// A proxy may have looked at another one of them than we would.
    @Test func twoTokensAreNone() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            let client = try RawClient(service.port, service.poller)
            let fields = "authorization: Token admin\r\nauthorization: Token admin\r\n"
            try await client.send(
                "POST /api/admin/v1/schema HTTP/1.1\r\nhost: h\r\n\(fields)content-type: application/json\r\n"
                    + "content-length: 2\r\n\r\n{}")
            let answer = try await client.response()
            client.leave()
            #expect(answer.head.hasPrefix("HTTP/1.1 401 ") && answer.body == Self.refusal)
        }
    }

    @Test func withoutTokensInTheConfigurationNobodyIsLetIn() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config)
            for (route, body) in Self.bodies {
                for token in ["", "admin"] {
                    let answer = try await service.admin(route, body, token: token)
                    #expect(answer.status == 401, "\(route)")
                    #expect(String(decoding: answer.body, as: UTF8.self) == Self.refusal)
                }
            }
        }
    }

    @Test func otherRoutesAndMethodsAreNotThere() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            for (method, path) in [
                ("GET", "/api/admin/v1/diagnostics"), ("PUT", "/api/admin/v1/validate"),
                ("POST", "/api/admin/v1/execute-sql"), ("POST", "/api/admin/v1/reprocess"),
                ("POST", "/api/sync-rules/v1/deploy"), ("POST", "/api/admin/v1/schema/"),
            ] {
                let answer = try await service.send(method, path, token: "admin")
                #expect(answer.status == 404, "\(method) \(path)")
                #expect(try JSON.parse(answer.body)["error"]?["code"] == .string("PSYNC_S2002"))
            }
        }
    }

    /// As of the other routes, a body is looked at before the token.
    @Test(arguments: [
        ("diagnostics", #"{"sync_rules_content":"yes"}"#, 400, "/sync_rules_content: type must be boolean"),
        ("validate", "{}", 400, " must have required property 'sync_rules'"),
        ("validate", #"{"sync_rules":1}"#, 400, "/sync_rules: type must be string"),
        ("validate", "{", 400, "Body is not valid JSON but content-type is set to 'application/json'"),
        ("validate", "", 400, "Body cannot be empty when content-type is set to 'application/json'"),
    ])
    func bodiesAreChecked(route: String, body: String, status: Int, text: String) async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            for token in ["admin", "wrong"] {
                let answer = try await service.send(
                    "POST", "/api/admin/v1/\(route)", body: Array(body.utf8),
                    fields: ["content-type": "application/json"], token: token)
                let error = try JSON.parse(answer.body)["error"]
                #expect(answer.status == status, "\(token)")
                let details = error?["details"]?.stringValue ?? ""
                let description = error?["description"]?.stringValue
                let isTold = details == JSON.array([.string(text)]).text || description == text
                #expect(isTold, "\(error?.text ?? "")")
            }
        }
    }

    @Test func aBodyOfMoreThanOneMebibyteIsRefused() async throws {
        try await TestService.run(Self.schema) { service in
            try await service.start(Self.config) { $0.apiTokens = ["admin"] }
            func status(_ count: Int) async throws -> Int {
                // A comment is no configuration, and costs nothing.
                let text = "#" + String(repeating: "a", count: count)
                let body = JSON.object([JSONMember("sync_rules", .string(text))])
                return try await service.admin("validate", body).status
            }
            #expect(try await status((1 << 20) - 100) == 200)
            #expect(try await status(1 << 20) == 413)
        }
    }

    @Test func tokensAreComparedWhole() {
        func isLetIn(_ field: String?, _ tokens: [String]) -> Bool {
            do throws(AuthorizationError) {
                try APITokens(tokens).check(field)
                return true
            } catch {
                #expect(error == AuthorizationError("PSYNC_S2101", "Authorization failed"))
                return false
            }
        }
        #expect(isLetIn("Token a", ["a"]) && isLetIn("Bearer b", ["a", "b"]))
        #expect(isLetIn("Token a", ["a", "b"]))
        #expect(!isLetIn(nil, ["a"]) && !isLetIn("Token a", []) && !isLetIn("Token aa", ["a"]))
        #expect(!isLetIn("Token ", [""]) && !isLetIn("a", ["a"]))
        // Composed and decomposed are the same characters, and other bytes.
        #expect(!isLetIn("Token \u{E9}", ["e\u{301}"]))
    }
}
