import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// What is read of a request (Backend/Authentication/SPEC.md and Backend/Start/SPEC.md).
struct CredentialsReadingTests {
    private func read(_ fields: HTTPFields, from peer: String? = "192.0.2.7") throws -> Credentials {
        var settings = AuthenticationSettings()
        settings.session = try SignIn.sessionSettings(cookie: "s")
        settings.userHeader = "X-User"
        settings.trustedProxies = try ["10.0.0.0/8", "fd00::/8"].map { try #require(IPRange($0)) }
        let request = HTTPRequest(
            method: "GET", target: "/", fields: fields, peer: try peer.map { try #require(IPAddress($0)) })
        return Credentials(request, settings)
    }

    private func lines(_ name: String, _ values: [String]) -> HTTPFields {
        var fields = HTTPFields()
        for value in values { fields.append(name, value) }
        return fields
    }

    @Test func nothingIsShownByNothing() throws {
        let credentials = try read([:])
        #expect(!credentials.showsSomething && !credentials.areSeveral && !credentials.isMarked)
        #expect(credentials.origin == nil && credentials.host == nil)
        #expect(try read([:], from: nil).client == nil)
        // A cookie and a field count only where a setting names them.
        let request = HTTPRequest(
            method: "GET", target: "/", fields: ["cookie": "s=x", "x-user": "u"])
        #expect(!Credentials(request, AuthenticationSettings()).showsSomething)
    }

    @Test func eachPlaceTakesOneThing() throws {
        #expect(try read(["authorization": ""]).authorization == .one(""))
        #expect(try read(lines("Authorization", ["Bearer a", "Bearer a"])).areSeveral)
        #expect(try read(["x-user": "alice"]).userHeader == .one("alice"))
        #expect(try read(["x-user": "alice,bob"]).areSeveral)
        #expect(try read(["x-user": "alice,\u{301}bob"]).areSeveral, "a comma with an accent is one")
        #expect(try read(lines("X-USER", ["alice", "alice"])).areSeveral)
    }

    @Test(
        arguments: [
            ("s=abc", Credentials.Shown.one("abc")), ("a=1; s=abc; b=2", .one("abc")),
            ("s =abc", .one("abc")),
            (" s= abc ", .one("abc")), ("s=a=b", .one("a=b")), ("s=", .one("")), ("S=abc", .none),
            ("s", .none),
            ("xs=abc; sx=abc", .none), ("s=a; s=b", .several), ("s=a;s=a", .several), ("", .none),
        ] as [(String, Credentials.Shown)])
    func theCookieOfTheNameIsRead(line: String, expected: Credentials.Shown) throws {
        #expect(try read(["cookie": line]).cookie == expected)
    }

    @Test func cookiesOfSeveralLinesAreRead() throws {
        #expect(try read(lines("cookie", ["a=1", "s=x"])).cookie == .one("x"))
        #expect(try read(lines("cookie", ["s=x", "s=x"])).cookie == .several)
    }

    @Test(
        arguments: [
            ("Bearer a.b.c", "a.b.c"), ("bearer x", "x"), ("BEARER x", "x"), ("Bearer", nil),
            ("Bearer ", nil),
            ("Bearer  x", nil), ("Bearer x ", nil), ("Bearer x y", nil), ("Bearer\tx", nil),
            ("Bearer x\ty", nil),
            ("Basic dTpw", nil), ("Token x", nil), ("", nil), (" Bearer x", nil), ("Bearerx", nil),
        ] as [(String, String?)])
    func aTokenIsWhatStandsBehindBearerAndOneSpace(text: String, expected: String?) throws {
        let credentials = try read(["authorization": text])
        let token = Result { () throws(Problem) -> String in try credentials.token() }
        switch token {
        case .success(let token): #expect(token == expected)
        case .failure(let problem): #expect(expected == nil && problem.code == "CREDENTIALS_MALFORMED")
        }
    }

    @Test func aTokenIsThatOfTheHeaderBeforeThatOfTheCookie() throws {
        #expect(try read(["authorization": "Bearer a", "cookie": "s=b"]).token() == "a")
        #expect(try read(["cookie": "s=b"]).token() == "b")
        #expect(thrown { try read([:]).token() } is Problem)
    }

    /// Backend 7, number 21.
    @Test(
        arguments: [
            ("192.0.2.7", [], "192.0.2.7"), ("192.0.2.7", ["203.0.113.9"], "192.0.2.7"),
            ("10.0.0.1", [], "10.0.0.1"), ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", ["1.1.1.1, 203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", ["203.0.113.9, 10.0.0.2"], "203.0.113.9"),
            ("10.0.0.1", ["1.1.1.1", "203.0.113.9", "10.0.0.2"], "203.0.113.9"),
            ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
            ("10.0.0.1", ["203.0.113.9, nobody"], "10.0.0.1"),
            ("10.0.0.1", ["203.0.113.9, unknown, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", ["203.0.113.9:80"], "203.0.113.9"),
            ("::ffff:10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
            ("10.0.0.1", ["203.0.113.9:4711, 10.0.0.2:80"], "203.0.113.9"),
            ("10.0.0.1", ["203.0.113.9:x"], "10.0.0.1"), ("10.0.0.1", ["203.0.113.9:123456"], "10.0.0.1"),
            ("10.0.0.1", ["[2001:db8::9]"], "2001:db8::9"),
            ("10.0.0.1", ["[2001:db8::9]:4711"], "2001:db8::9"),
            ("10.0.0.1", ["[203.0.113.9]"], "10.0.0.1"),
            ("10.0.0.1", ["2001:db8::9:4711"], "2001:db8::9:4711"),
            ("fd00::1", ["2001:db8::9"], "2001:db8::9"), ("::ffff:192.0.2.7", [], "192.0.2.7"),
            // An address of version 6 in which one of the proxies stands is none of them.
            ("::10.0.0.1", ["203.0.113.9"], "::10.0.0.1"),
        ] as [(String, [String], String)])
    func theClientStandsBehindTheProxies(peer: String, forwarded: [String], client: String) throws {
        let credentials = try read(lines("x-forwarded-for", forwarded), from: peer)
        #expect(credentials.client == IPAddress(client))
        #expect(credentials.peer == IPAddress(peer))
    }

    @Test func severalOriginsAreNone() throws {
        #expect(try read(["origin": "https://a"]).origin == "https://a")
        #expect(try read(lines("origin", ["https://a", "https://a"])).origin == "https://a, https://a")
        #expect(try read(["x-requested-with": ""]).isMarked)
    }
}

/// What pages of other sites may not do with a cookie (backend 7, number 19).
struct CrossSitePolicyTests {
    private func code(_ origin: String?, host: String?, isMarked: Bool = true) -> String? {
        var credentials = Credentials()
        credentials.origin = origin
        credentials.host = host
        credentials.isMarked = isMarked
        let policy = CrossSitePolicy(origins: ["https://app.example.com"])
        return (thrown { try policy.check(credentials) } as? Problem)?.code
    }

    @Test(
        arguments: [
            (nil, "api.example.com", true), ("https://app.example.com", "api.example.com", true),
            ("https://api.example.com", "api.example.com", true),
            ("https://API.example.com", "api.example.com", true),
            ("https://api.example.com", "api.example.com:443", true),
            ("http://localhost:80", "localhost", true),
            ("http://localhost:6060", "localhost:6060", true), ("http://[::1]:6060", "[::1]:6060", true),
            ("https://evil.example.com", "api.example.com", false), ("null", "api.example.com", false),
            ("https://app.example.com.evil.com", "api.example.com", false),
            ("https://api.example.com", nil, false),
            ("https://api.example.com:8443", "api.example.com", false), ("https://", "", false),
            ("http://localhost:6060", "localhost:6061", false),
            ("ftp://api.example.com", "api.example.com", false),
            ("https://app.example.com, https://app.example.com", "api.example.com", false),
            ("http://app.example.com", "api.example.com", false),
            ("https://\u{301}api.example.com", "api.example.com", false),
        ] as [(String?, String?, Bool)])
    func pagesAreThoseOfTheListAndOfTheHost(origin: String?, host: String?, isAllowed: Bool) {
        #expect(code(origin, host: host) == (isAllowed ? nil : "CROSS_SITE"))
        #expect(code(origin, host: host, isMarked: false) == "CROSS_SITE")
    }
}
