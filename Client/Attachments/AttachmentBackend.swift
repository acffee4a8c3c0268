import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

/// Asks a backend about attachments (backend 10.2), as the user of a connector.
///
/// What is not accepted as the user's (status 401) is asked once more with what the session says then. A pause that the
/// backend asks for is kept, by uploads, downloads and deletes each for itself. Questions about small files that come
/// while others are on their way go together, those of uploads and those of downloads each for themselves, so that one way
/// does not wait for the other (SPEC.md, "Questions").
struct AttachmentBackend: Sendable {
    private let sender: AttachmentSender
    private let uploads: BackendPause
    private let downloads: BackendPause
    private let deletes: BackendPause
    let uploadQuestions: AttachmentQuestions
    let downloadQuestions: AttachmentQuestions

    /// Asks the backend of a connector.
    init(_ connector: BackendConnector) {
        let sender = AttachmentSender(http: connector.http, tokens: connector.tokens)
        let environment = connector.environment
        let uploads = BackendPause(environment: environment)
        let downloads = BackendPause(environment: environment)
        self.sender = sender
        self.uploads = uploads
        self.downloads = downloads
        deletes = BackendPause(environment: environment)
        uploadQuestions = AttachmentQuestions(environment: environment) {
            try await sender.send($0, uploads)
        }
        downloadQuestions = AttachmentQuestions(environment: environment) {
            try await sender.send($0, downloads)
        }
    }

    /// The way to the backend.
    var http: BackendHTTP { sender.http }

    // MARK: Questions

    /// Asks where a file goes.
    ///
    /// - Parameter question: what is told of it.
    /// - Returns: the answer.
    /// - Throws: `AttachmentStorageError`, `PowerSyncError`, `CancellationError`, what the session throws.
    func uploadTicket(_ question: AttachmentUploadRequest) async throws -> AttachmentUploadTicket {
        let request = Request(.uploadURL, "POST", "/upload-url", body: question.json)
        // An upload in parts is begun in the store: a small file does not wait for that.
        let isSmall = question.size < AttachmentPart.size
        let answer = try await ask(request, uploads, isSmall ? .upload(question) : nil, uploadQuestions)
        let ticket = try read(answer, request) { (json) throws(WireError) in
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
        let ticket = try read(try await ask(request, uploads), request) { (json) throws(WireError) in
            try AttachmentPartsTicket(json: json)
        }
        guard ticket.parts.map(\.number) == parts.map(\.number) else {
            throw violation(request, "other parts than were asked for")
        }
        return ticket.parts.map(\.request)
    }

    /// Says that all bytes of a file are stored.
    ///
    /// - Parameters:
    ///   - id: the id of the attachment.
    ///   - inParts: whether they came in parts, which the store has to join: a small file does not wait for that.
    /// - Throws: as `uploadTicket`.
    func complete(_ id: String, inParts: Bool = false) async throws {
        let request = Request(.complete, "POST", try Self.path(of: id, "/complete"), body: .object([]))
        _ = try await ask(request, uploads, inParts ? nil : .complete(id), uploadQuestions)
    }

    /// Asks where a file is.
    ///
    /// - Parameter id: the id of the attachment.
    /// - Returns: the answer.
    /// - Throws: as `uploadTicket`.
    func downloadTicket(_ id: String) async throws -> AttachmentDownloadTicket {
        let request = Request(.downloadURL, "GET", try Self.path(of: id, "/download-url"))
        let answer = try await ask(request, downloads, .download(id), downloadQuestions)
        return try read(answer, request) { (json) throws(WireError) in
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
        /// What follows the address of all that is asked about attachments.
        let path: String
        let body: JSON?

        init(
            _ question: AttachmentAnswers.Question, _ method: String, _ path: String, body: JSON? = nil
        ) {
            self.question = question
            self.method = method
            self.path = path
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

    /// What a request was answered with that is a success.
    private enum Answer {
        case bytes([UInt8])
        case json(JSON)
    }

    /// Asks with a request of its own.
    private func ask(_ request: Request, _ pause: BackendPause) async throws -> Answer {
        let (response, code) = try await sender.send(
            request.method, request.path, body: request.body, pause)
        try check(response.status, code, request)
        return .bytes(response.body)
    }

    /// Asks together with others where there is a question that may go with them.
    private func ask(
        _ request: Request, _ pause: BackendPause, _ question: BatchQuestion?,
        _ questions: AttachmentQuestions
    ) async throws -> Answer {
        guard let question else { return try await ask(request, pause) }
        return try await questions.ask(question) {
            try await ask(request, pause)
        } take: { answer in
            switch answer {
            case .body(let json): return .json(json)
            case .problem(let status, let code, _):
                try check(status, code, request)
                // What says so in a batch is no problem.
                return .json(.null)
            }
        }
    }

    private func read<Ticket>(
        _ answer: Answer, _ request: Request, _ ticket: (JSON) throws(WireError) -> Ticket
    ) throws(AttachmentStorageError) -> Ticket {
        do throws(WireError) {
            switch answer {
            case .bytes(let bytes): return try ticket(JSON.parse(bytes, limits: AttachmentSender.limits))
            case .json(let json): return try ticket(json)
            }
        } catch {
            throw violation(request, error.message)
        }
    }

    // MARK: Errors

    /// Throws what an answer means that is no success.
    private func check(
        _ status: Int, _ code: String?, _ request: Request
    ) throws(AttachmentStorageError) {
        switch AttachmentAnswers.meaning(of: status, code, to: request.question) {
        case .done: return
        case .unauthorized: throw failure(.refused, request, status, code)
        case .failure(let kind): throw failure(kind, request, status, code)
        }
    }

    private func failure(
        _ kind: AttachmentStorageError.Code, _ request: Request, _ status: Int, _ code: String?
    ) -> AttachmentStorageError {
        AttachmentStorageError(kind, place: place(request), status: status, code)
    }

    private func violation(_ request: Request, _ detail: String) -> AttachmentStorageError {
        AttachmentStorageError(
            .storage, "\(place(request)) was answered with what cannot be used: \(detail)")
    }

    private func place(_ request: Request) -> String {
        "\(request.method) \(ShownText.place(http.url + AttachmentSender.path + request.path))"
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
