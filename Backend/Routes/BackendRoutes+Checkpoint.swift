import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncWire

extension BackendRoutes {
    /// Counts a custom checkpoint, for backends that write later than they answer (backend 5.2).
    ///
    /// - Parameters:
    ///   - route: who counts.
    ///   - principal: whose checkpoint it is.
    ///   - request: the request.
    ///   - body: its body.
    /// - Returns: the number as a text, because a JavaScript number loses digits beyond 2⁵³.
    /// - Throws: `Problem`, `Budget.Refusal`, `PostgresError`, `CancellationError`.
    func checkpoint(
        _ route: Route, of principal: Principal, _ request: HTTPRequest, _ body: any HTTPRequestBody
    ) async throws -> Answer {
        try MediaType.requireJSON(request.fields)
        let json: JSON
        do {
            json = try JSON.parse(
                try await body.collect(limit: min(configuration.bodyLimit, BackendRoutes.smallBody)))
        } catch let error as WireError {
            throw Problem.malformedJSON(error.message)
        }
        let client = try Self.client(of: json)
        let isOurs = route == .checkpoint
        let statement: PostgresStatement
        if isOurs {
            statement = CheckpointSQL.counting(principal.subject, client)
        } else {
            statement = CheckpointSQL.raising(
                principal.subject, client, to: try Self.requestedNumber(json))
        }
        let pool = applier.tools.pool
        let isDisabled = DisabledUsers.question(principal.subject)
        let results = try await turns.run(principal.subject, until: .now + configuration.admissionTimeout) {
            try await pool.withConnection { connection in
                let counted = try await connection.query(statement.sql, statement.parameters)
                guard counted.scalar == nil else { return [counted] }
                return [counted, try await connection.query(isDisabled.sql, isDisabled.parameters)]
            }
        }
        guard let number = results[0].scalar else {
            throw results[1].scalar == "true" ? Problem.accountDisabled : CheckpointSQL.quota
        }
        if isOurs, number == String(Int64.max) {
            applier.tools.log.error(
                "a custom checkpoint is at the highest number that there is, and stays there",
                ["checkpoint.user": DeadLetterQuota.digest(of: principal.subject)])
        }
        let name = isOurs ? "checkpoint" : "checkpoint_request_id"
        return Answer(
            .object([JSONMember(name, .string(number))]),
            ["client.digest": DeadLetterQuota.digest(of: client)])
    }

    /// The client's database; one that is not named is `1`, as the demo backends have it.
    private static func client(of json: JSON) throws(Problem) -> String {
        guard json.objectMembers != nil else { throw .invalidRequest("body: expected an object") }
        guard let value = json["client_id"], !value.isNull else { return "1" }
        guard let client = value.stringValue, (1...255).contains(client.utf8.count), !client.utf8.contains(0)
        else {
            throw .invalidRequest("client_id: expected a text of 1 to 255 bytes")
        }
        return client
    }

    private static func requestedNumber(_ json: JSON) throws(Problem) -> Int64 {
        let value = json["checkpoint_request_id"]
        guard let number = value?.int64Value ?? value?.stringValue.flatMap({ Int64($0) }), number > 0 else {
            throw .invalidRequest("checkpoint_request_id: expected a positive whole number")
        }
        return number
    }
}

/// The statements about `public.checkpoints` (backend 5.2); neither returns a row for whoever is disabled, or for one more
/// client than a user may have.
enum CheckpointSQL {
    /// The most clients of one user: their counters are kept for ever, since one that begins anew goes back.
    static let limit = 1_000
    /// One more client than that.
    static let quota = Problem.rateLimited(
        "custom checkpoints for \(limit) clients of one user", code: "CHECKPOINT_QUOTA", retryAfter: 3_600)

    private static let allowed = """
        WHERE NOT EXISTS (SELECT FROM psb.disabled_users d WHERE d.user_id = $1::text)
            AND (EXISTS (SELECT FROM public.checkpoints o WHERE o.user_id = $1::text AND o.client_id = $2::text)
                OR (SELECT count(*) FROM (SELECT FROM public.checkpoints o WHERE o.user_id = $1::text
                    LIMIT \(limit)) AS known) < \(limit))
        """

    /// Counts one up; a counter at 2⁶³ − 1 stays.
    static func counting(_ user: String, _ client: String) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO public.checkpoints AS c (user_id, client_id, checkpoint)
            SELECT $1::text, $2::text, 1::bigint \(allowed)
            ON CONFLICT (user_id, client_id) DO UPDATE SET checkpoint = least(c.checkpoint, \(Int64.max - 1)) + 1
            RETURNING c.checkpoint::text
            """, [user, client])
    }

    /// Raises the counter to a number of the client, unless it is higher.
    static func raising(_ user: String, _ client: String, to number: Int64) -> PostgresStatement {
        PostgresStatement(
            """
            INSERT INTO public.checkpoints AS c (user_id, client_id, checkpoint)
            SELECT $1::text, $2::text, $3::bigint \(allowed)
            ON CONFLICT (user_id, client_id) DO UPDATE SET checkpoint = greatest(c.checkpoint, excluded.checkpoint)
            RETURNING c.checkpoint::text
            """, [user, client, String(number)])
    }
}
