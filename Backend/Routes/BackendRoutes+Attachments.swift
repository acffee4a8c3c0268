import PowerSyncCommandLine
import PowerSyncHTTP
import PowerSyncWire

extension BackendRoutes {
    /// The most items of a batch.
    static let batchItems = 100
    /// The most bytes of a batch.
    static let batchBody = 512 << 10

    /// Answers a request about attachments (backend 10.2).
    ///
    /// - Parameters:
    ///   - route: what is asked for.
    ///   - principal: who asks.
    ///   - request: the request.
    ///   - body: its body.
    ///   - requestID: names the request in logs, and in the problems of a batch.
    /// - Returns: the answer.
    /// - Throws: `Problem`, and what the service throws.
    func attachment(
        _ route: AttachmentRoute, of principal: Principal, _ request: HTTPRequest,
        _ body: any HTTPRequestBody,
        _ requestID: String
    ) async throws -> Answer {
        guard let attachments else { throw Problem.noSuchRoute }
        let caller = AttachmentCaller(principal)
        switch route {
        case .uploadURL:
            let question = try await attachmentJSON(request, body, limit: Self.smallBody)
            let upload = try wire { () throws(WireError) in try AttachmentUploadRequest(json: question) }
            return signed(try await attachments.upload(upload, by: caller, until: requestEnd).json)
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
            let download = AttachmentService.DownloadQuestion(
                asked: AttachmentAccess.Asked(id: id, row: row), isInline: isInline)
            return signed(
                try await attachments.downloads([download], by: caller, until: requestEnd)[0].get().json)
        case .delete(let id):
            try await attachments.delete(id, by: caller, until: requestEnd)
            return Answer(HTTPResponse(status: 204))
        }
    }

    /// When a request that begins to work now is over (backend 1.8).
    private var requestEnd: ContinuousClock.Instant { .now + configuration.uploadTimes.request }

    /// Answers several questions in their order, each with what it would be answered alone; all have the time of one request.
    ///
    /// Those of one kind are one transaction. Uploads come first, and what is completed here may be downloaded here.
    private func batch(
        _ json: JSON, _ caller: AttachmentCaller, _ attachments: AttachmentService, _ requestID: String
    ) async throws -> Answer {
        guard json.objectMembers != nil else { throw Problem.invalidRequest("body: expected an object") }
        let (uploads, downloads) = (try Self.list(json, "upload"), try Self.list(json, "download"))
        let completions = try Self.list(json, "complete")
        let count = uploads.count + downloads.count + completions.count
        guard count > 0 else { throw Problem.invalidRequest("expected upload, complete or download") }
        guard count <= Self.batchItems else {
            throw Problem.tooLarge("a batch has at most \(Self.batchItems) items", limit: Self.batchItems)
        }
        let deadline = requestEnd
        let uploaded = try await answers(to: uploads, requestID) { item -> AttachmentUploadRequest in
            try wire { () throws(WireError) in try AttachmentUploadRequest(json: item) }
        } ask: { questions in
            try await attachments.uploads(questions, by: caller, until: deadline)
        } json: { ticket in
            ticket.json
        }
        let completed = try await answers(to: completions, requestID) { item -> String in
            try Self.id(item, "complete")
        } ask: { ids in
            try await attachments.completions(ids, by: caller, until: deadline)
        } json: { _ in
            .object([])
        }
        let downloaded = try await answers(to: downloads, requestID) { item in
            try Self.download(item)
        } ask: { questions in
            try await attachments.downloads(questions, by: caller, until: deadline)
        } json: { ticket in
            ticket.json
        }
        var answer = signed(
            .object([
                JSONMember("upload", .array(uploaded)), JSONMember("complete", .array(completed)),
                JSONMember("download", .array(downloaded)),
            ]))
        answer.metadata["attachments.items"] = String(count)
        return answer
    }

    /// Answers the items of one kind.
    ///
    /// - Parameters:
    ///   - items: the items as they were sent.
    ///   - requestID: names the request in problems.
    ///   - read: reads an item.
    ///   - ask: answers those that could be read, in their order.
    ///   - json: an answer as JSON.
    /// - Returns: for each item its answer, or why there is none.
    /// - Throws: `Problem` for a user who is disabled, who is told so once and not for each item; `CancellationError`.
    private func answers<Question: Sendable, Value: Sendable>(
        to items: [JSON], _ requestID: String, read: (JSON) throws -> Question,
        ask: ([Question]) async throws -> [Result<Value, any Error>], json: (Value) -> JSON
    ) async throws -> [JSON] {
        var answers = [JSON?](repeating: nil, count: items.count)
        var questions: [(place: Int, question: Question)] = []
        for (place, item) in items.enumerated() {
            do {
                questions.append((place, try read(item)))
            } catch {
                answers[place] = problem(for: error, requestID).item(requestID: requestID)
            }
        }
        for (question, answer) in zip(questions, try await ask(questions.map { $0.question })) {
            switch answer {
            case .success(let value): answers[question.place] = json(value)
            case .failure(let error):
                let problem = problem(for: error, requestID)
                if problem == .accountDisabled { throw problem }
                answers[question.place] = problem.item(requestID: requestID)
            }
        }
        return answers.compactMap { $0 }
    }

    /// The id that an item of a batch names.
    private static func id(_ item: JSON, _ list: String) throws(Problem) -> String {
        let id = item.stringValue ?? item["id"]?.stringValue ?? ""
        guard (1...AttachmentRoute.idBytes).contains(id.utf8.count), !id.utf8.contains(0) else {
            throw .invalidRequest("\(list): expected the id of an attachment")
        }
        return id
    }

    /// The question for a download that an item of a batch is.
    private static func download(_ item: JSON) throws(Problem) -> AttachmentService.DownloadQuestion {
        let id = try Self.id(item, "download")
        let isInline = try Self.isInline(item["disposition"]?.stringValue)
        let row = try Self.row(item["table"]?.stringValue, item["rowId"]?.stringValue)
        return AttachmentService.DownloadQuestion(
            asked: AttachmentAccess.Asked(id: id, row: row), isInline: isInline)
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
