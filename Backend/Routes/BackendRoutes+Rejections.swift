import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncWire

extension BackendRoutes {
    /// Tells the caller what was refused for good (backend 1.4).
    ///
    /// - Parameter request: the request; `after` is the place of the former answer, `limit` how many are wanted.
    /// - Returns: the answer; its `next` is null behind the last one.
    /// - Throws: `Problem`, `Budget.Refusal`, `PostgresError`, `CancellationError`.
    func rejections(_ request: HTTPRequest) async throws -> Answer {
        let claims = try caller(of: request)
        let limit = try Self.limit(request.queryValue("limit"))
        let cursor = try Self.cursor(request.queryValue("after"))
        let page = try await ask(
            Rejections.page(of: claims.subject, after: cursor, limit: limit + 1), of: claims.subject)
        var answer = Answer(Rejections.json(page, limit: limit), logged(claims))
        answer.response.fields["cache-control"] = "no-store"
        return answer
    }

    /// Notes that the caller has seen one of them; again is the same.
    ///
    /// - Parameters:
    ///   - id: which one, as it stands in the path.
    ///   - request: the request.
    /// - Returns: the answer.
    /// - Throws: `Problem`, one and the same for what is nobody's and what is somebody else's; `Budget.Refusal`,
    ///   `PostgresError`, `CancellationError`.
    func acknowledge(_ id: String, _ request: HTTPRequest) async throws -> Answer {
        let claims = try caller(of: request)
        guard Rejections.isID(id) else { throw Problem.unknownRejection }
        let seen = try await ask(
            Rejections.acknowledgement(of: id, by: claims.subject), of: claims.subject)
        guard seen.rowCount == 1 else { throw Problem.unknownRejection }
        return Answer(HTTPResponse(status: 204), logged(claims))
    }

    /// Asks the database when it is the user's turn, unless the user is disabled, in one round trip.
    private func ask(_ statement: PostgresStatement, of user: String) async throws -> PostgresResult {
        let statements = [DisabledUsers.question(user), statement]
        let (pool, time) = (applier.tools.pool, configuration.statementTimeout)
        let outcomes = try await turns.run(user, until: .now + configuration.admissionTimeout) {
            try await pool.withConnection { try await $0.pipeline(statements, until: .now + time) }
        }
        if let error = outcomes.compactMap(\.error).first { throw error }
        let results = outcomes.compactMap(\.result)
        guard results.count == statements.count else { throw Problem.internal }
        if results[0].scalar == "true" { throw Problem.accountDisabled }
        return results[1]
    }

    private static func limit(_ text: String?) throws(Problem) -> Int {
        guard let text else { return Rejections.standard }
        guard let limit = Int(text), (1...Rejections.most).contains(limit) else {
            throw .invalidRequest("limit: expected a number from 1 to \(Rejections.most)")
        }
        return limit
    }

    private static func cursor(_ text: String?) throws(Problem) -> Rejections.Cursor? {
        guard let text else { return nil }
        guard let cursor = Rejections.Cursor(text) else {
            throw .invalidRequest("after: expected what an answer gave as next")
        }
        return cursor
    }

    /// What the line of a request says of whom it is from: no name, but what finds the same user and device again.
    ///
    /// - Parameters:
    ///   - claims: the claims.
    ///   - client: the client's database, where the request names one.
    /// - Returns: digests, and the id of the token, where it has one.
    func logged(_ claims: TokenClaims, client: String? = nil) -> [LogKey: String] {
        var values: [LogKey: String] = ["user.digest": DeadLetterQuota.digest(of: claims.subject)]
        if let id = claims.json["jti"]?.stringValue, id.utf8.count <= 255 { values["token.id"] = id }
        if let client { values["client.digest"] = DeadLetterQuota.digest(of: client) }
        return values
    }
}
