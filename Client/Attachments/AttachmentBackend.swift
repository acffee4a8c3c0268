import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

/// Asks a backend about attachments (backend 10.2), as the user of a connector.
///
/// What is not accepted as the user's (status 401) is asked once more with what the session says then. A pause that the
/// backend asks for is kept, by uploads, downloads and deletes each for itself.
struct AttachmentBackend: Sendable {
    private static let path = "/api/v1/attachments"
    /// The limits of an answer: one about a hundred parts, or with the numbers of ten thousand that are stored.
    private static let limits = JSONLimits(values: 20_000)

    let http: BackendHTTP
    private let tokens: BackendTokens
    private let uploads: BackendPause
    private let downloads: BackendPause
    private let deletes: BackendPause

    /// Asks the backend of a connector.
    init(_ connector: BackendConnector) {
        http = connector.http
        tokens = connector.tokens
        uploads = BackendPause(environment: connector.environment)
        downloads = BackendPause(environment: connector.environment)
        deletes = BackendPause(environment: connector.environment)
    }

    // MARK: Questions

    /// Asks where a file goes.
    ///
    /// - Parameter question: what is told of it.
    /// - Returns: the answer.
    /// - Throws: `AttachmentStorageError`, `PowerSyncError`, `CancellationError`, what the session throws.
    func uploadTicket(_ question: AttachmentUploadRequest) async throws -> AttachmentUploadTicket {
        let request = Request(.uploadURL, "POST", "/upload-url", body: question.json)
        let response = try await ask(request, uploads)
        let ticket = try read(response, request) { (json) throws(WireError) in
            try AttachmentUploadTicket(json: json)
        }
        guard ticket.id == question.id else { throw violation(request, "another id than was asked for") }
        return ticket
    }

    /// Asks where parts of a file go.
    ///
    /// - Parameters:
    ///   - parts: the parts, a hundred at most.
    ///   - id: the id of the attachment.
    /// - Returns: the requests that bring them, in their order.
    /// - Throws: as `uploadTicket`.
    func partRequests(_ parts: [AttachmentPart], of id: String) async throws -> [SignedRequest] {
        let request = Request(
            .parts, "POST", try Self.path(of: id, "/parts"), body: AttachmentPartsRequest(parts: parts).json)
        let response = try await ask(request, uploads)
        let ticket = try read(response, request) { (json) throws(WireError) in
            try AttachmentPartsTicket(json: json)
        }
        guard ticket.parts.map(\.number) == parts.map(\.number) else {
            throw violation(request, "other parts than were asked for")
        }
        return ticket.parts.map(\.request)
    }

    /// Says that all bytes of a file are stored.
    ///
    /// - Parameter id: the id of the attachment.
    /// - Throws: as `uploadTicket`.
    func complete(_ id: String) async throws {
        _ = try await ask(
            Request(.complete, "POST", try Self.path(of: id, "/complete"), body: .object([])), uploads)
    }

    /// Asks where a file is.
    ///
    /// - Parameter id: the id of the attachment.
    /// - Returns: the answer.
    /// - Throws: as `uploadTicket`.
    func downloadTicket(_ id: String) async throws -> AttachmentDownloadTicket {
        let request = Request(.downloadURL, "GET", try Self.path(of: id, "/download-url"))
        return try read(try await ask(request, downloads), request) { (json) throws(WireError) in
            try AttachmentDownloadTicket(json: json)
        }
    }

    /// Returns when the backend answers, whatever it says.
    ///
    /// - Parameter id: the id of an attachment that is to be uploaded.
    /// - Throws: as `uploadTicket`, but not for what the backend says.
    func reach(_ id: String) async throws {
        do {
            _ = try await ask(Request(.downloadURL, "GET", try Self.path(of: id, "/download-url")), uploads)
        } catch is AttachmentStorageError {
            // An answer.
        }
    }

    /// Has a file deleted; one that was is deleted.
    ///
    /// - Parameter id: the id of the attachment.
    /// - Throws: as `uploadTicket`.
    func delete(_ id: String) async throws {
        _ = try await ask(Request(.delete, "DELETE", try Self.path(of: id)), deletes)
    }

    // MARK: Requests

    private struct Request {
        let question: AttachmentAnswers.Question
        let method: String
        let path: String
        let body: JSON?

        init(
            _ question: AttachmentAnswers.Question, _ method: String, _ path: String, body: JSON? = nil
        ) {
            self.question = question
            self.method = method
            self.path = AttachmentBackend.path + path
            self.body = body
        }
    }

    private static func path(
        of id: String, _ call: String = ""
    ) throws(AttachmentStorageError) -> String {
        // These would lead to another address, however they are written.
        guard !["", ".", ".."].contains(id) else {
            throw AttachmentStorageError(.refused, "An attachment cannot have this id")
        }
        return "/\(PercentEncoding.encode(id))\(call)"
    }

    private func ask(_ request: Request, _ pause: BackendPause) async throws -> HTTPClientResponse {
        try await pause.wait()
        var authorization = try await tokens.authorization()
        var isRenewed = false
        while true {
            let response = try await http.send(
                request.method, request.path, body: request.body, authorization: authorization)
            let code = BackendHTTP.code(of: response.body)
            switch AttachmentAnswers.meaning(of: response.status, code, to: request.question) {
            case .done: return response
            case .unauthorized where !isRenewed:
                isRenewed = true
                authorization = try await tokens.authorization(insteadOf: authorization)
            case .unauthorized: throw failure(.refused, request, response.status, code)
            case .failure(let kind):
                // A quota does not pass with time, and another file may be within it.
                if kind != .quotaExceeded { pause.heed(response) }
                throw failure(kind, request, response.status, code)
            }
        }
    }

    private func read<Ticket>(
        _ response: HTTPClientResponse, _ request: Request,
        _ ticket: (JSON) throws(WireError) -> Ticket
    ) throws(AttachmentStorageError) -> Ticket {
        do throws(WireError) {
            return try ticket(JSON.parse(response.body, limits: Self.limits))
        } catch {
            throw violation(request, error.message)
        }
    }

    // MARK: Errors

    private func failure(
        _ kind: AttachmentStorageError.Code, _ request: Request, _ status: Int, _ code: String?
    ) -> AttachmentStorageError {
        AttachmentStorageError(
            kind, place: "\(request.method) \(ShownText.place(http.url + request.path))", status: status,
            code)
    }

    private func violation(_ request: Request, _ detail: String) -> AttachmentStorageError {
        let place = "\(request.method) \(ShownText.place(http.url + request.path))"
        return AttachmentStorageError(.storage, "\(place) was answered with what cannot be used: \(detail)")
    }
}

extension AttachmentStorageError {
    /// Makes the error of an answer that is no success.
    ///
    /// - Parameters:
    ///   - kind: its kind.
    ///   - place: the method and the address, without a query.
    ///   - status: the status of the answer.
    ///   - code: what the answer calls the problem, as far as it may be shown.
    init(_ kind: Code, place: String, status: Int, _ code: String?) {
        self.init(
            kind, "\(place) failed with status \(status)" + (code.map { " (\($0))" } ?? ""), status: status)
    }
}
