import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncWire

extension BackendRoutes {
    /// Tells the caller what was refused for good (backend 1.4).
    ///
    /// - Parameters:
    ///   - principal: the caller.
    ///   - request: the request; `after` is the place of the former answer, `limit` how many are wanted.
    /// - Returns: the answer; its `next` is null behind the last one.
    /// - Throws: `Problem`, `Budget.Refusal`, `PostgresError`, `CancellationError`.
    func rejections(of principal: Principal, _ request: HTTPRequest) async throws -> Answer {
        let limit = try Self.limit(request.queryValue("limit"))
        let cursor = try Self.cursor(request.queryValue("after"))
        let page = try await ask(
            Rejections.page(of: principal.subject, after: cursor, limit: limit + 1), of: principal.subject)
        var answer = Answer(Rejections.json(page, limit: limit))
        answer.response.fields["cache-control"] = "no-store"
        return answer
    }

    /// Notes that the caller has seen one of them; again is the same.
    ///
    /// - Parameters:
    ///   - id: which one, as it stands in the path.
    ///   - principal: the caller.
    /// - Returns: the answer.
    /// - Throws: `Problem`, one and the same for what is nobody's and what is somebody else's; `Budget.Refusal`,
    ///   `PostgresError`, `CancellationError`.
    func acknowledge(_ id: String, by principal: Principal) async throws -> Answer {
        guard Rejections.isID(id) else { throw Problem.unknownRejection }
        let seen = try await ask(
            Rejections.acknowledgement(of: id, by: principal.subject), of: principal.subject)
        guard seen.rowCount == 1 else { throw Problem.unknownRejection }
        return Answer(HTTPResponse(status: 204))
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
}
