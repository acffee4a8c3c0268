import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncWire

extension BackendRoutes {
    /// The most items of a batch.
    static let batchItems = 100
    /// The most bytes of a batch.
    static let batchBody = 512 << 10

    /// Answers a request about attachments (backend 10.2); a token is always needed.
    ///
    /// - Parameters:
    ///   - route: what is asked for.
    ///   - request: the request.
    ///   - body: its body.
    ///   - requestID: names the request in logs, and in the problems of a batch.
    /// - Returns: the answer.
    /// - Throws: `Problem`, and what the service throws.
    func attachment(
        _ route: AttachmentRoute, _ request: HTTPRequest, _ body: any HTTPRequestBody, _ requestID: String
    ) async throws -> Answer {
        guard let attachments else { throw Problem.noSuchRoute }
        let caller = AttachmentCaller(try mint.verify(authorization: request.fields["authorization"]))
        switch route {
        case .uploadURL:
            let question = try await attachmentJSON(request, body, limit: Self.smallBody)
            return signed(try await upload(question, caller, attachments, until: requestEnd))
        case .batch:
            let question = try await attachmentJSON(request, body, limit: Self.batchBody)
            return try await batch(question, caller, attachments, requestID)
        case .parts(let id):
            let question = try await attachmentJSON(request, body, limit: Self.smallBody)
            let parts = try wire { () throws(WireError) in try AttachmentPartsRequest(json: question) }
            return signed(
                try await attachments.parts(parts, of: id, by: caller, until: requestEnd).json)
        case .complete(let id):
            try await attachments.complete(id, by: caller, until: requestEnd)
            return Answer(HTTPResponse(status: 204))
        case .downloadURL(let id):
            let isInline = try Self.isInline(request.queryValue("disposition"))
            let row = try Self.row(request.queryValue("table"), request.queryValue("rowId"))
            return signed(
                try await attachments.download(id, of: row, inline: isInline, by: caller, until: requestEnd)
                    .json)
        case .delete(let id):
            try await attachments.delete(id, by: caller, until: requestEnd)
            return Answer(HTTPResponse(status: 204))
        }
    }

    /// When a request that begins to work now is over (backend 1.8).
    private var requestEnd: ContinuousClock.Instant { .now + configuration.uploadTimes.request }

    private func upload(
        _ json: JSON, _ caller: AttachmentCaller, _ attachments: AttachmentService,
        until deadline: ContinuousClock.Instant
    ) async throws -> JSON {
        let question = try wire { () throws(WireError) in try AttachmentUploadRequest(json: json) }
        return try await attachments.upload(question, by: caller, until: deadline).json
    }

    /// Answers several questions in their order, each with what it would be answered alone; all have the time of one request.
    private func batch(
        _ json: JSON, _ caller: AttachmentCaller, _ attachments: AttachmentService, _ requestID: String
    ) async throws -> Answer {
        guard json.objectMembers != nil else { throw Problem.invalidRequest("body: expected an object") }
        let (uploads, downloads) = (try Self.list(json, "upload"), try Self.list(json, "download"))
        let count = uploads.count + downloads.count
        guard count > 0 else { throw Problem.invalidRequest("expected upload or download") }
        guard count <= Self.batchItems else {
            throw Problem.tooLarge("a batch has at most \(Self.batchItems) items", limit: Self.batchItems)
        }
        let deadline = requestEnd
        var answers: (uploads: [JSON], downloads: [JSON]) = ([], [])
        for item in uploads {
            answers.uploads.append(
                try await answered(requestID) {
                    try await upload(item, caller, attachments, until: deadline)
                })
        }
        for item in downloads {
            answers.downloads.append(
                try await answered(requestID) {
                    let id = item.stringValue ?? item["id"]?.stringValue ?? ""
                    guard (1...AttachmentRoute.idBytes).contains(id.utf8.count), !id.utf8.contains(0) else {
                        throw Problem.invalidRequest("download: expected the id of an attachment")
                    }
                    let isInline = try Self.isInline(item["disposition"]?.stringValue)
                    let row = try Self.row(item["table"]?.stringValue, item["rowId"]?.stringValue)
                    return try await attachments.download(
                        id, of: row, inline: isInline, by: caller, until: deadline
                    ).json
                })
        }
        var answer = signed(
            .object([
                JSONMember("upload", .array(answers.uploads)),
                JSONMember("download", .array(answers.downloads)),
            ]))
        answer.metadata["attachments.items"] = String(count)
        return answer
    }

    /// An answer of a batch: what `body` returns, or why it does not.
    private func answered(_ requestID: String, _ body: () async throws -> JSON) async throws -> JSON {
        do {
            return try await body()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return problem(for: error, requestID).json(requestID: requestID)
        }
    }

    private static func list(_ json: JSON, _ name: String) throws(Problem) -> [JSON] {
        guard let value = json[name], !value.isNull else { return [] }
        guard let list = value.arrayValue else { throw .invalidRequest("\(name): expected an array") }
        return list
    }

    private static func isInline(_ disposition: String?) throws(Problem) -> Bool {
        switch disposition {
        case nil, "attachment": false
        case "inline": true
        default: throw .invalidRequest("disposition: expected inline or attachment")
        }
    }

    /// The row whose file is meant; nil if none is named.
    private static func row(_ table: String?, _ id: String?) throws(Problem) -> AttachmentAccess.RowName? {
        if table == nil, id == nil { return nil }
        guard let table, let id, !table.utf8.contains(0), !id.utf8.contains(0) else {
            throw .invalidRequest("table, rowId: expected both, without NUL")
        }
        return AttachmentAccess.RowName(table: table, id: id)
    }

    private func attachmentJSON(
        _ request: HTTPRequest, _ body: any HTTPRequestBody, limit: Int
    ) async throws -> JSON {
        try MediaType.requireJSON(request.fields)
        let bytes = try await body.collect(limit: min(configuration.bodyLimit, limit))
        return try wire { () throws(WireError) in try JSON.parse(bytes) }
    }

    /// Reads something of a body; what its reader says against it is a problem.
    private func wire<Value>(_ read: () throws(WireError) -> Value) throws(Problem) -> Value {
        do throws(WireError) {
            return try read()
        } catch {
            throw Problem(error)
        }
    }

    /// What has signed URLs in it is for its reader alone.
    private func signed(_ json: JSON) -> Answer {
        var answer = Answer(json)
        answer.response.fields["cache-control"] = "no-store"
        return answer
    }

    /// What clients may count on of attachments; nil if there are none.
    var attachmentCapabilities: JSON? {
        guard let policy = attachments?.policy else { return nil }
        return .object([
            JSONMember("file_bytes", .integer(policy.fileBytes)),
            JSONMember("user_bytes", .integer(policy.userBytes)),
            JSONMember("user_files", .integer(policy.userFiles)),
            JSONMember("types", .array(policy.types.map { .string($0) })),
            JSONMember("part_bytes", .integer(AttachmentPart.size)),
            JSONMember("parts_per_request", .integer(AttachmentPart.countPerRequest)),
            JSONMember("batch_items", .integer(Self.batchItems)),
        ])
    }
}
