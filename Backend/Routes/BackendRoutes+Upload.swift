import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncWire

extension BackendRoutes {
    /// Takes an upload in any dialect; what can never be accepted is a rejected result within a 200 (backend
    /// 0).
    ///
    /// - Parameters:
    ///   - route: the route, which may name the operation.
    ///   - request: the request.
    ///   - body: its body, read once there is a place for it among those of this user.
    ///   - requestID: names the request in logs; becomes the name that the upload has for itself.
    /// - Returns: the answer.
    /// - Throws: `Problem`, `Budget.Refusal`, `DeadLetterQuota.Exhausted`, and what applying throws.
    func upload(
        _ route: Route, _ request: HTTPRequest, _ body: any HTTPRequestBody, _ requestID: inout String
    ) async throws -> Answer {
        let claims = try caller(of: request)
        try MediaType.requireJSON(request.fields)
        // One time for all waits; that in which the body comes is its own (backend 1.8).
        var deadline = ContinuousClock.now + configuration.admissionTimeout
        let admitted = try await admission.enter(
            claims.subject, length: announcedLength(of: request), until: deadline)
        // As long as anything is made of the body.
        defer { withExtendedLifetime(admitted) {} }
        try await quota.check(claims.subject, until: deadline)
        var patience = deadline - .now
        let bytes = try await body.collect(limit: configuration.bodyLimit, patience: &patience)
        deadline = .now + patience
        let measured = try MeasuredBody(bytes, limits: configuration.limits)
        // Only now: a device that is slow in sending holds up no other one of its user.
        try await admitted.takeTurn(until: deadline)
        // Those before it may have been refused in the meantime.
        try await quota.check(claims.subject, until: deadline)
        try await admitted.takeMemory(measured.memory, until: deadline)
        var answer = try await apply(route, measured, claims, &requestID)
        if case .bytes(let bytes) = answer.response.body { admitted.endWork(keeping: bytes.count) }
        answer.response.lease = admitted
        return answer
    }

    /// The length of a body by its head; nil if that says that it comes in chunks.
    private func announcedLength(of request: HTTPRequest) -> Int? {
        if request.fields["transfer-encoding"] != nil { return nil }
        return request.fields["content-length"].flatMap { Int($0) } ?? 0
    }

    private func apply(
        _ route: Route, _ measured: MeasuredBody, _ claims: TokenClaims, _ requestID: inout String
    ) async throws -> Answer {
        let upload: UploadBody
        if case .operation(let method) = route {
            upload = try UploadBody(measured, method: method)
        } else {
            upload = try UploadBody(measured)
        }
        if let id = upload.request.requestID.flatMap(BackendRoutes.acceptable) { requestID = id }
        let context = UploadContext(
            subject: claims.subject, claims: claims.json.text, letterClaims: claims.forLetter,
            requestID: requestID, role: try configuration.roles.role(for: claims.json))
        let results = try await applier.apply(upload, context: context)
        if results.contains(where: { $0.status == .fatalError }) { quota.forget(claims.subject) }
        await note(upload.request, results, bytes: measured.count)
        let response = UploadResponse(requestID: requestID, results: results)
        let metadata: [LogKey: String] = [
            "upload.dialect": upload.request.dialect.rawValue,
            "upload.transactions": String(upload.request.transactions.count),
            "upload.operations": String(
                upload.request.transactions.reduce(0) { $0 + $1.operations.count }),
            "upload.rejected": String(results.count { $0.status == .fatalError }),
        ]
        return Answer(
            message(route, upload.request, results).map {
                response.json.replacing("message", with: .string($0))
            }
                ?? response.json, metadata.merging(logged(claims, client: upload.request.clientID)) { $1 })
    }

    /// Whose request it is: the token's subject.
    ///
    /// Where uploads are open (`DEV_OPEN_UPLOADS`) a request without any token is the development user's, because the
    /// connectors of the official demo apps send none (backend 1.1); a token that is no good is refused as ever.
    func caller(of request: HTTPRequest) throws -> TokenClaims {
        let authorization = request.fields["authorization"]
        guard configuration.hasOpenUploads, authorization == nil else {
            return try mint.verify(authorization: authorization)
        }
        let now = JSON.integer(Int64(environment.now()))
        let payload = JSON.object([
            JSONMember("sub", .string(configuration.developmentUser)), JSONMember("aud", .array([])),
            JSONMember("iat", now), JSONMember("exp", now),
        ])
        guard let claims = TokenClaims(payload: payload.utf8) else { throw Problem.internal }
        return claims
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
}

extension JSON {
    /// Returns the object with another value for a member that it has.
    fileprivate func replacing(_ name: String, with value: JSON) -> JSON {
        .object((objectMembers ?? []).map { $0.name == name ? JSONMember(name, value) : $0 })
    }
}
