import PowerSyncBackend
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Who may call a backend by which name while it takes anybody for whom he says he is (backend 7, number 33).
struct HostPolicyTests {
    @Test(arguments: [
        ("localhost", true), ("localhost:6060", true), ("LOCALHOST:1", true), ("localhost.", true),
        ("app.localhost:80", true), ("127.0.0.1", true), ("127.0.0.1:6060", true), ("10.0.2.2:6060", true),
        ("[::1]", true), ("[::1]:6060", true), ("[fe80::1]:6060", true), ("backend:6060", true),
        ("Mac.Local", true), ("mac.local:99", true), ("sync.example.com:8080", true),
        ("app.example.com", true), ("", true),
        ("evil.example:6060", false), ("evil.example", false), ("localhost.evil.example:6060", false),
        ("evil-localhost", false), ("127.0.0.1.evil.example", false), ("127.1", false),
        ("2130706433", false), ("0x7f000001", false), ("[evil.example]", false), ("[127.0.0.1]", false),
        ("[::1].evil.example", false), ("::1", false), ("localhost:6060:evil", false),
        ("localhost:evil.example", false), ("localhost:606060", false), ("example.com", false),
        (":6060", false),
        ("backend.evil.example", false), ("[::1", false), (".", false), ("*", false),
    ])
    func onlyNamesThatNobodyElseOwnsAreAnswered(host: String, isAllowed: Bool) {
        let policy = HostPolicy(
            names: ["backend", "mac.local:6060"],
            urls: ["http://sync.example.com:8080/x", "https://u:p@app.example.com", "*", ""])
        #expect(policy.allows(host) == isAllowed)
    }

    @Test func whoSendsNoNameIsNoBrowser() { #expect(HostPolicy().allows(nil)) }

    /// The files of the containers name the backend by themselves.
    @Test func whatContainersCallTheBackendIsAllowed() throws {
        let compose = try Repository.text("docker-compose.yml")
        let settings = try Repository.text(".env").split(separator: "\n")
        let hosts = try #require(settings.first { $0.hasPrefix("DEV_HOSTS=") }).dropFirst(10)
        #expect(compose.contains("DEV_HOSTS: ${DEV_HOSTS}"))
        let policy = HostPolicy(names: hosts.split(separator: ",").map(String.init))
        let urls = compose.split { $0 == " " || $0 == "\n" }.filter {
            $0.hasPrefix("http://") && $0.contains(":6060")
        }
        #expect(!urls.isEmpty)
        for url in urls {
            let host = try #require(url.split(separator: "/").dropFirst().first)
            #expect(policy.allows(String(host)), "\(url)")
        }
    }
}

/// The same over a socket.
@Suite(.enabled(if: TestOptions.hasDatabase), .patient())
struct RebindingTests {
    private static let put = #"{"batch":[{"op":"PUT","table":"lists","id":"a","data":{"name":"one"}}]}"#

    private func status(_ backend: TestBackend, _ line: String, _ host: String?, _ body: String = "")
        async throws
        -> (status: Int, json: JSON)
    {
        let client = try RawClient(backend.backend.port, backend.poller)
        let field = host.map { "Host: \($0)\r\n" } ?? ""
        try await client.send(
            "\(line)\r\n\(field)Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n"
                + "Connection: close\r\n\r\n\(body)")
        let answer = try await client.response()
        return (answer.status, try JSON.parse(answer.body))
    }

    @Test(arguments: [true, false])
    func aPageWhoseNameLeadsHereWritesNothing(hasTokens: Bool) async throws {
        try await TestBackend.with({
            $0.hasDevelopmentTokens = hasTokens
            $0.hasOpenUploads = true
        }) { backend in
            let evil = "evil.example:\(backend.backend.port)"
            let refused = try await status(backend, "POST /api/data HTTP/1.1", evil, Self.put)
            #expect(refused.status == 403)
            #expect(refused.json["type"] == .string("urn:psb:problem:host-not-allowed"))
            #expect(refused.json["detail"]?.stringValue?.contains("DEV_HOSTS") == true)
            #expect(try await status(backend, "GET /api/auth/token?user_id=v HTTP/1.1", evil).status == 403)
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "0")
            // What gives nothing away is answered to balancers and services by whatever name.
            for path in ["/readyz", "/api/auth/keys", "/api/capabilities"] {
                #expect(try await status(backend, "GET \(path) HTTP/1.1", evil).status == 200)
            }
            let port = backend.backend.port
            for host in ["localhost:\(port)", "127.0.0.1:\(port)", "[::1]:\(port)", "sync.example.com"] {
                #expect(try await status(backend, "POST /api/data HTTP/1.1", host, Self.put).status == 200)
            }
            #expect(try await status(backend, "POST /api/data HTTP/1.0", nil, Self.put).status == 200)
            #expect(try await backend.scalar("SELECT count(*) FROM lists") == "1")
        }
    }

    @Test func aBackendThatKnowsItsCallersLooksAtTokensAlone() async throws {
        try await TestBackend.with({ $0.hasDevelopmentTokens = false }) { backend in
            let answer = try await status(backend, "POST /api/data HTTP/1.1", "api.example.com", Self.put)
            #expect(answer.status == 401)
        }
    }
}
