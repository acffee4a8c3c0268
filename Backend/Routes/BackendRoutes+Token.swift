import PowerSyncCrypto
import PowerSyncHTTP
import PowerSyncWire

extension BackendRoutes {
    /// Mints a token (backend 4.4).
    ///
    /// Only development tokens know who asks without asking: anybody is whom he says he is.
    func token(_ request: HTTPRequest, _ body: any HTTPRequestBody) async throws -> Answer {
        guard configuration.hasDevelopmentTokens else {
            throw Problem.unauthenticated("this backend has no sessions to mint tokens for", hasToken: false)
        }
        var user = request.queryValue("user_id")
        var parameters: JSON?
        if request.method == "POST" {
            try MediaType.requireJSON(request.fields)
            let json: JSON
            do {
                json = try JSON.parse(
                    try await body.collect(limit: min(configuration.bodyLimit, BackendRoutes.smallBody)))
            } catch let error as WireError {
                throw Problem.malformedJSON(error.message)
            }
            user = json["user_id"]?.stringValue ?? user
            parameters = json["parameters"]
        }
        guard parameters?.objectMembers != nil || parameters == nil else {
            throw Problem.invalidRequest("parameters: expected an object")
        }
        let subject = user.flatMap { $0.isEmpty ? nil : $0 } ?? configuration.developmentUser
        guard subject.utf8.count <= 255, !subject.utf8.contains(0) else {
            throw Problem.invalidRequest("user_id: expected a text of at most 255 bytes")
        }
        var answer = Answer(try mint.mint(subject: subject, parameters: parameters).json)
        answer.response.fields["cache-control"] = "no-store"
        answer.response.fields["pragma"] = "no-cache"
        answer.response.fields["vary"] = "Authorization, Cookie"
        return answer
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
