import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncPostgres
import PowerSyncWire

extension BackendRoutes {
    /// Takes an upload in any dialect; what can never be accepted is a rejected result within a 200 (backend
    /// 0).
    func upload(
        _ route: Route, _ request: HTTPRequest, _ body: any HTTPRequestBody, _ requestID: String
    ) async throws -> Answer {
        let claims = try mint.verify(authorization: request.fields["authorization"])
        try MediaType.requireJSON(request.fields)
        let bytes = try await body.collect(limit: configuration.bodyLimit)
        let upload: UploadBody
        if case .operation(let method) = route {
            upload = try UploadBody(bytes, method: method, limits: configuration.limits)
        } else {
            upload = try UploadBody(bytes, limits: configuration.limits)
        }
        let context = UploadContext(
            subject: claims.subject, claims: claims.json.text, letterClaims: claims.forLetter,
            requestID: requestID)
        let results = try await applier.apply(upload, context: context)
        let response = UploadResponse(requestID: upload.request.requestID ?? requestID, results: results)
        return Answer(
            message(route, upload.request, results).map {
                response.json.replacing("message", with: .string($0))
            }
                ?? response.json,
            [
                "upload.dialect": upload.request.dialect.rawValue,
                "upload.transactions": String(upload.request.transactions.count),
                "upload.operations": String(
                    upload.request.transactions.reduce(0) { $0 + $1.operations.count }),
                "upload.rejected": String(results.count { $0.status == .fatalError }),
            ])
    }

    /// What the demo backends say; nil is the ordinary text.
    private func message(_ route: Route, _ request: UploadRequest, _ results: [UploadResult]) -> String? {
        if results.contains(where: { $0.status == .fatalError }) { return "Batch completed with rejections" }
        guard case .operation(let method) = route,
            let operation = request.transactions.first?.operations.first
        else {
            return nil
        }
        return "\(method) completed for \(operation.table)" + (method == "PATCH" ? "" : " \(operation.id)")
    }

    /// Custom checkpoints, for backends that write later than they answer (backend 5.2).
    func checkpoint(_ route: Route, _ request: HTTPRequest, _ body: any HTTPRequestBody) async throws
        -> Answer
    {
        let claims = try mint.verify(authorization: request.fields["authorization"])
        try MediaType.requireJSON(request.fields)
        let json: JSON
        do {
            json = try JSON.parse(try await body.collect(limit: min(configuration.bodyLimit, 64 << 10)))
        } catch let error as WireError {
            throw Problem.malformedJSON(error.message)
        }
        let client = json["client_id"]?.stringValue ?? "1"
        guard json.objectMembers != nil, (1...255).contains(client.utf8.count), !client.utf8.contains(0)
        else {
            throw Problem.invalidRequest("client_id: expected a text of 1 to 255 bytes")
        }
        let sql: String
        var parameters: [String?] = [claims.subject, client]
        let name: String
        if route == .checkpoint {
            name = "checkpoint"
            sql = """
                INSERT INTO public.checkpoints AS c (user_id, client_id, checkpoint) VALUES ($1::text, $2::text, 1)
                ON CONFLICT (user_id, client_id) DO UPDATE SET checkpoint = c.checkpoint + 1
                RETURNING checkpoint::text
                """
        } else {
            name = "checkpoint_request_id"
            guard let number = json[name]?.int64Value ?? json[name]?.stringValue.flatMap({ Int64($0) }),
                number > 0
            else {
                throw Problem.invalidRequest("checkpoint_request_id: expected a positive whole number")
            }
            parameters.append(String(number))
            sql = """
                INSERT INTO public.checkpoints AS c (user_id, client_id, checkpoint)
                VALUES ($1::text, $2::text, $3::bigint)
                ON CONFLICT (user_id, client_id) DO UPDATE SET checkpoint = greatest(c.checkpoint, excluded.checkpoint)
                RETURNING checkpoint::text
                """
        }
        let (text, values) = (sql, parameters)
        let result = try await applier.tools.pool.withConnection { try await $0.query(text, values) }
        // A text, because a JavaScript number loses digits beyond 2^53.
        return Answer(.object([JSONMember(name, .string(result.scalar ?? ""))]))
    }
}

extension JSON {
    /// Returns the object with another value for a member that it has.
    fileprivate func replacing(_ name: String, with value: JSON) -> JSON {
        .object((objectMembers ?? []).map { $0.name == name ? JSONMember(name, value) : $0 })
    }
}
