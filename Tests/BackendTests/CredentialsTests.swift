import PowerSyncBackend
import PowerSyncHTTP
import PowerSyncWire
import Testing

/// The words of who a request is from, and what it is answered with (Backend/Authentication/SPEC.md).
struct CredentialsTests {
    @Test(arguments: Problem.CredentialsCode.allCases)
    func whatIsNoGoodIsA401WithItsCode(code: Problem.CredentialsCode) {
        let problem = Problem.unauthenticated(code, "the rule")
        let response = problem.response(requestID: "r")
        #expect(response.status == 401 && problem.code == code.rawValue)
        #expect(problem.slug == "unauthenticated" && problem.isRetryable && problem.detail == "the rule")
        #expect(
            response.fields["www-authenticate"]
                == #"Bearer realm="powersync", error="invalid_token", error_description="the rule""#)
        #expect(problem.json(requestID: "r")["code"]?.stringValue == code.rawValue)
    }

    @Test func whatIsForbiddenIsNotAskedForAgain() {
        for (problem, code) in [
            (Problem.accountDisabled, "ACCOUNT_DISABLED"), (.roleNotAllowed, "ROLE_NOT_ALLOWED"),
            (.claimsTooLarge, "CLAIMS_TOO_LARGE"), (.crossSite, "CROSS_SITE"),
        ] {
            #expect(problem.status == 403 && problem.code == code && !problem.isRetryable)
            #expect(problem.challenge == nil)
        }
        #expect(Problem.unknownRejection.status == 404 && Problem.unknownRejection.code == "UNKNOWN")
        let keys = Problem.keysUnavailable(retryAfter: 3)
        #expect(keys.status == 503 && keys.code == "KEYS_UNAVAILABLE" && keys.retryAfter == 3)
        #expect(keys.isRetryable)
    }

    @Test(arguments: [
        ("a", true), (String(repeating: "s", count: 1_024), true), ("", false), ("a\0b", false),
        (String(repeating: "s", count: 1_025), false), (String(repeating: "é", count: 513), false),
    ])
    func aSubjectIsWhatTheLedgerCanHold(subject: String, isOne: Bool) {
        let principal = Principal(subject: subject, claims: .object([]), kind: .session)
        #expect((principal != nil) == isOne)
        #expect(principal == nil || principal?.subject == subject && principal?.role == nil)
    }

    /// With them `SET ROLE` would mean another role than the one that was meant.
    @Test(arguments: [
        ("app", true), ("NONE", true), (String(repeating: "r", count: 63), true), ("none", false),
        ("", false), ("a\0b", false), (String(repeating: "r", count: 64), false),
    ])
    func aRoleIsANameOfPostgres(name: String, isOne: Bool) {
        #expect(DatabaseRole(name)?.name == (isOne ? name : nil))
    }

    @Test func credentialsShowNothingByThemselves() {
        let credentials = Credentials()
        #expect(credentials.peer == nil && credentials.client == nil && credentials.origin == nil)
        #expect(credentials.authorization == .none && credentials.cookie == .none)
        #expect(credentials.userHeader == .none && !credentials.isMarked)
    }
}

/// Where the routes of rejections are (backend 1.4).
struct RejectionRouteTests {
    private func route(_ method: String, _ target: String, isOpen: Bool = true) throws -> Route {
        var options = Route.Options()
        options.hasRejections = isOpen
        return try Route.find(HTTPRequest(method: method, target: target), options)
    }

    private func status(_ method: String, _ target: String, isOpen: Bool = true) -> Int? {
        (thrown { try route(method, target, isOpen: isOpen) } as? Problem)?.status
    }

    @Test func theyAreFound() throws {
        for path in ["/api/v1/rejections", "/api/v1/rejections/", "//api/v1/rejections?after=x&limit=1"] {
            #expect(try route("GET", path) == .rejections && route("HEAD", path) == .rejections)
            #expect(try route("OPTIONS", path) == .preflight)
            #expect(status("POST", path) == 405)
        }
        let seen = try route("POST", "/api/v1/rejections/0b1c8a52-0000-4000-8000-000000000001/ack")
        #expect(seen == .acknowledgement("0b1c8a52-0000-4000-8000-000000000001"))
        #expect(status("GET", "/api/v1/rejections/x/ack") == 405)
        #expect(seen.name == "rejections.ack", "no id in a log")
        #expect(Route.rejections.name == "rejections")
    }

    @Test(arguments: [
        "/api/v1/rejections/x", "/api/v1/rejections/x/y", "/api/v1/rejections/x/ack/z",
        "/api/v1/rejections/a%2Fb/ack", "/api/rejections",
    ])
    func nothingElseIs(path: String) {
        #expect(status("GET", path) == 404 && status("POST", path) == 404)
    }

    @Test func withoutTheOptionThereAreNone() {
        #expect(status("GET", "/api/v1/rejections", isOpen: false) == 404)
        #expect(status("POST", "/api/v1/rejections/x/ack", isOpen: false) == 404)
        #expect(status("OPTIONS", "/api/v1/rejections", isOpen: false) == 404)
    }
}
