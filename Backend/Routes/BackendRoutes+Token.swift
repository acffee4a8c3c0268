import PowerSyncCommandLine
import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncWire

extension BackendRoutes {
    /// Mints a token for whoever shows who he is (backend 4.4).
    ///
    /// With development tokens anybody is whom he says he is, and has the parameters that he sends.
    ///
    /// - Parameters:
    ///   - caller: who asks.
    ///   - request: the request.
    ///   - body: its body.
    /// - Returns: the answer.
    /// - Throws: `Problem`, `HTTPError`, and what asking the database throws.
    func token(
        of caller: Principal, _ request: HTTPRequest, _ body: any HTTPRequestBody
    ) async throws -> Answer {
        var principal = caller
        var parameters = parameters(of: principal)
        if request.method == "POST" {
            let json = try await posted(request, body)
            if principal.kind == .development, let user = json["user_id"]?.stringValue, !user.isEmpty {
                principal = try authentication.developmentUser(user)
            }
            if let given = json["parameters"] {
                // Sync rules trust them: a user would choose his own rights.
                guard configuration.hasDevelopmentTokens else {
                    throw Problem.invalidRequest("parameters: are claims of the session, and cannot be sent")
                }
                guard given.objectMembers != nil else {
                    throw Problem.invalidRequest("parameters: expected an object")
                }
                parameters = given
            }
        }
        if let seconds = tokens.take(ExactText(principal.subject), environment.now()) {
            throw Problem.rateLimited("too many tokens of this user", retryAfter: seconds)
        }
        // A user who asks for many at once holds no more connections than for anything else.
        let disabled = DisabledUsers(pool: applier.tools.pool, patience: configuration.statementTimeout)
        let subject = principal.subject
        try await turns.run(subject, until: .now + configuration.admissionTimeout) {
            try await disabled.check(subject)
        }
        let response: TokenResponse
        do {
            response = try mint.mint(
                subject: principal.subject, parameters: parameters,
                role: configuration.roles.member(of: principal))
        } catch let problem as Problem where problem == .claimsTooLarge {
            applier.tools.log.error(
                "a token would be too large to be shown",
                ["token.parameter_bytes": String(parameters?.utf8.count ?? 0)])
            throw problem
        }
        var answer = Answer(
            response.json, ["user.digest": DeadLetterQuota.digest(of: principal.subject)])
        answer.response.fields["cache-control"] = "no-store"
        answer.response.fields["pragma"] = "no-cache"
        answer.response.fields["vary"] = "Authorization, Cookie"
        return answer
    }

    private func posted(_ request: HTTPRequest, _ body: any HTTPRequestBody) async throws -> JSON {
        try MediaType.requireJSON(request.fields)
        let bytes = try await body.collect(limit: min(configuration.bodyLimit, BackendRoutes.smallBody))
        do throws(WireError) {
            return try JSON.parse(bytes)
        } catch {
            throw Problem.malformedJSON(error.message)
        }
    }

    /// What sync streams may read of whoever has signed in: those of `AUTH_PARAMETER_CLAIMS` that there are.
    private func parameters(of principal: Principal) -> JSON? {
        var members: [JSONMember] = []
        for name in configuration.authentication.parameterClaims {
            guard !members.contains(where: { ExactText($0.name) == ExactText(name) }),
                let value = principal.claims[name]
            else { continue }
            members.append(JSONMember(name, value))
        }
        return members.isEmpty ? nil : .object(members)
    }

    /// The public keys (backend 4.5).
    func keys(_ request: HTTPRequest) -> Answer {
        let text = Array(mint.keys.set.published.utf8)
        let tag = "\"" + Hexadecimal.encode(Array(Digest.sha256(text).prefix(16))) + "\""
        let fields: HTTPFields = [
            "content-type": "application/json; charset=utf-8", "cache-control": "public, max-age=300",
            "etag": tag,
        ]
        if request.fields["if-none-match"] == tag { return Answer(HTTPResponse(status: 304, fields: fields)) }
        return Answer(HTTPResponse(status: 200, fields: fields, body: .bytes(text)))
    }
}
