import PowerSyncBackend
import PowerSyncHTTP
import Testing

struct RouteTests {
    @Test(arguments: ["/api/data", "/api/data/", "//api/data", "/api//data//"])
    func aSlashTooManyDoesNotMatter(path: String) throws {
        #expect(try Route.find(method: "POST", path: path, hasCheckpoints: false) == .upload)
    }

    @Test func theVerbsOfOneOperationAreRoutes() throws {
        for method in ["PUT", "PATCH", "DELETE"] {
            #expect(
                try Route.find(method: method, path: "/api/data", hasCheckpoints: false) == .operation(method)
            )
        }
    }

    @Test func otherMethodsAreToldWhichThereAre() {
        let other =
            thrown { try Route.find(method: "GET", path: "/api/data", hasCheckpoints: false) } as? Problem
        #expect(other?.status == 405)
        #expect(other?.allow == "DELETE, OPTIONS, PATCH, POST, PUT")
        let none =
            thrown { try Route.find(method: "GET", path: "/api/nosuch", hasCheckpoints: false) } as? Problem
        #expect(none?.status == 404)
    }

    @Test func theProbesHaveTheServicesNamesToo() throws {
        for (path, route) in [
            ("/healthz", Route.liveness), ("/probes/liveness", .liveness), ("/readyz", .readiness),
            ("/probes/readiness", .readiness), ("/startupz", .startup), ("/probes/startup", .startup),
        ] {
            #expect(try Route.find(method: "GET", path: path, hasCheckpoints: false) == route)
            #expect(try Route.find(method: "HEAD", path: path, hasCheckpoints: false) == route)
        }
    }

    @Test func checkpointsAreThereOnlyOnDemand() throws {
        #expect(
            try Route.find(method: "PUT", path: "/api/data/checkpoint", hasCheckpoints: true) == .checkpoint)
        #expect(throws: Problem.self) {
            try Route.find(method: "PUT", path: "/api/data/checkpoint", hasCheckpoints: false)
        }
    }

    @Test(arguments: [
        ("application/json", true), ("Application/JSON; charset=UTF-8", true),
        ("application/vnd.x+json", true),
        ("text/plain", false), ("application/json; charset=latin1", false), ("", false),
    ])
    func bodiesAreJSONByTheirHeader(type: String, isAccepted: Bool) {
        let accepted = (try? MediaType.requireJSON(["content-type": type])) != nil
        #expect(accepted == isAccepted)
    }

    @Test func compressedBodiesAreNotGuessedAt() {
        #expect(throws: Problem.self) {
            try MediaType.requireJSON(["content-type": "application/json", "content-encoding": "gzip"])
        }
    }

    @Test func onlyNamedOriginsGetHeaders() {
        let policy = CORSPolicy(origins: ["https://app.example.com"])
        func headers(_ origin: String) -> HTTPFields {
            var response = HTTPResponse(status: 200)
            let request = HTTPRequest(method: "OPTIONS", target: "/api/data", fields: ["origin": origin])
            policy.apply(to: &response, for: request)
            return response.fields
        }
        let allowed = headers("https://app.example.com")
        #expect(allowed["access-control-allow-origin"] == "https://app.example.com")
        #expect(allowed["access-control-allow-headers"]?.contains("authorization") == true)
        #expect(allowed["vary"] == "Origin")
        let refused = headers("https://evil.example.com")
        #expect(refused["access-control-allow-origin"] == nil)
        #expect(refused["vary"] == "Origin")
    }

    /// Only pages that are listed may send the cookie of a session.
    @Test func cookiesAreForListedOrigins() {
        func credentials(_ policy: CORSPolicy, _ origin: String) -> String? {
            var response = HTTPResponse(status: 200)
            policy.apply(
                to: &response, for: HTTPRequest(method: "GET", target: "/", fields: ["origin": origin]))
            return response.fields["access-control-allow-credentials"]
        }
        let (app, local) = ("https://app.example.com", "http://localhost:5173")
        let policy = CORSPolicy(origins: [app], allowsLoopback: true, allowsCredentials: true)
        #expect(credentials(policy, app) == "true")
        #expect(credentials(policy, local) == nil && credentials(policy, "https://evil.example.com") == nil)
        #expect(credentials(CORSPolicy(origins: [app]), app) == nil)
        #expect(credentials(CORSPolicy(origins: ["*", app], allowsCredentials: true), app) == nil)
        #expect(credentials(CORSPolicy(origins: ["*"], allowsCredentials: true), app) == nil)
    }

    @Test(arguments: [
        ("http://localhost", true), ("http://localhost:5173", true), ("http://127.0.0.1:8080", true),
        ("http://localhost:", false), ("http://localhost.evil.example.com", false),
        ("http://localhost:80.evil.example.com", false), ("http://localhost@evil.example.com", false),
        ("http://127.0.0.1.evil.example.com", false), ("http://127.0.0.10", false),
        ("https://localhost", false), ("http://evil.example.com", false), ("null", false),
    ])
    func pagesOfThisMachineMayCallWhereThatIsAllowed(origin: String, isAllowed: Bool) {
        func allowed(_ policy: CORSPolicy) -> String? {
            var response = HTTPResponse(status: 200)
            let request = HTTPRequest(method: "GET", target: "/", fields: ["origin": origin])
            policy.apply(to: &response, for: request)
            return response.fields["access-control-allow-origin"]
        }
        #expect(allowed(CORSPolicy(origins: [], allowsLoopback: true)) == (isAllowed ? origin : nil))
        #expect(allowed(CORSPolicy(origins: [])) == nil)
    }

    @Test func problemsNeverSayMoreThanTheirText() {
        let problem = ErrorResponse.problem(
            for: UploadFailure(code: "CONTENTION"), bodyLimit: 1, retryAfter: 3)
        #expect(problem.status == 503)
        #expect(problem.retryAfter == 3)
        #expect(problem.isRetryable)
        struct Surprise: Error { let secret = "canary" }
        let unknown = ErrorResponse.problem(for: Surprise(), bodyLimit: 1, retryAfter: 3)
        #expect(unknown.status == 500)
        #expect(!"\(unknown)".contains("canary"))
    }
}
