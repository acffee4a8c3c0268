import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncWire

extension BackendRoutes {
    /// Takes an upload in any dialect; what can never be accepted is a rejected result within a 200 (backend
    /// 0).
    ///
    /// - Parameters:
    ///   - route: the route, which may name the operation.
    ///   - principal: who uploads.
    ///   - request: the request.
    ///   - body: its body, read once there is a place for it among those of this user.
    ///   - requestID: names the request in logs; becomes the name that the upload has for itself.
    /// - Returns: the answer.
    /// - Throws: `Problem`, `Budget.Refusal`, `DeadLetterQuota.Exhausted`, and what applying throws.
    func upload(
        _ route: Route, of principal: Principal, _ request: HTTPRequest, _ body: any HTTPRequestBody,
        _ requestID: inout String
    ) async throws -> Answer {
        try MediaType.requireJSON(request.fields)
        // One time for all waits; that in which the body comes is its own (backend 1.8).
        var deadline = ContinuousClock.now + configuration.admissionTimeout
        let admitted = try await admission.enter(
            principal.subject, length: announcedLength(of: request), until: deadline)
        // As long as anything is made of the body.
        defer { withExtendedLifetime(admitted) {} }
        try await quota.check(principal.subject, until: deadline)
        var patience = deadline - .now
        let bytes = try await body.collect(limit: configuration.bodyLimit, patience: &patience)
        deadline = .now + patience
        let measured = try MeasuredBody(bytes, limits: configuration.limits)
        // Only now: a device that is slow in sending holds up no other one of its user.
        try await admitted.takeTurn(until: deadline)
        // Those before it may have been refused in the meantime.
        try await quota.check(principal.subject, until: deadline)
        try await admitted.takeMemory(measured.memory, until: deadline)
        var answer = try await apply(route, measured, of: principal, &requestID)
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
        _ route: Route, _ measured: MeasuredBody, of principal: Principal, _ requestID: inout String
    ) async throws -> Answer {
        let upload: UploadBody
        if case .operation(let method) = route {
            upload = try UploadBody(measured, method: method)
        } else {
            upload = try UploadBody(measured)
        }
        if let id = upload.request.requestID.flatMap(BackendRoutes.acceptable) { requestID = id }
        let results = try await applier.apply(
            upload, context: UploadContext(principal, requestID: requestID))
        if results.contains(where: { $0.status == .fatalError }) { quota.forget(principal.subject) }
        await note(upload.request, results, bytes: measured.count)
        let response = UploadResponse(requestID: requestID, results: results)
        var metadata: [LogKey: String] = [
            "upload.dialect": upload.request.dialect.rawValue,
            "upload.transactions": String(upload.request.transactions.count),
            "upload.operations": String(
                upload.request.transactions.reduce(0) { $0 + $1.operations.count }),
            "upload.rejected": String(results.count { $0.status == .fatalError }),
        ]
        metadata["client.digest"] = upload.request.clientID.map { DeadLetterQuota.digest(of: $0) }
        let message = message(route, upload.request, results)
        return Answer(json: response.utf8(message: message), metadata)
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
