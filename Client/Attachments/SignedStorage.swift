import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

/// Sends requests that a backend has signed to the storage that they are for.
///
/// Nothing goes with them but what is signed, above all not what authorises requests to the backend, and they go to no
/// other place than they name.
struct SignedStorage: Sendable {
    /// Sends a request and returns as soon as the head of the answer is there.
    typealias Open = @Sendable (HTTPClientRequest) async throws -> HTTPClientStream

    /// How long the connection may neither accept nor bring a byte; a transfer has no other limit.
    static let idleTimeout = Duration.seconds(45)
    /// The most bytes of an answer in which it is looked what a storage calls a problem.
    private static let problemLimit = 16 << 10
    /// Fields that belong to the connection, or that follow from the body.
    private static let ownFields: Set = [
        "host", "content-length", "transfer-encoding", "connection", "expect",
    ]

    /// An answer to an upload.
    struct Answer: Sendable {
        /// What it means.
        let meaning: AttachmentAnswers.StorageMeaning
        /// What the app is told where it is no success.
        let error: AttachmentStorageError
    }

    private let open: Open
    private let needsSecurity: Bool
    private let uploads: BackendPause
    private let downloads: BackendPause

    /// Makes a way to whatever storage a backend names.
    ///
    /// - Parameters:
    ///   - connector: the connector to the backend: where that is asked by https, the storage is, too.
    ///   - open: sends the requests.
    init(_ connector: BackendConnector, through open: @escaping Open) {
        self.open = open
        needsSecurity = Self.scheme(of: connector.http.url) == "https"
        uploads = BackendPause(environment: connector.environment)
        downloads = BackendPause(environment: connector.environment)
    }

    /// Sends bytes of a file.
    ///
    /// - Parameters:
    ///   - signed: the request.
    ///   - body: which bytes.
    ///   - transfer: whether that is the whole file or a part of it.
    ///   - onSent: is told how many of the bytes have gone.
    /// - Returns: the answer.
    /// - Throws: `AttachmentStorageError` for a request that must not be sent; `HTTPClientError`, `CancellationError`.
    func send(
        _ signed: SignedRequest, _ body: HTTPFileBody, as transfer: AttachmentAnswers.Transfer,
        onSent: @escaping @Sendable (Int64) -> Void
    ) async throws -> Answer {
        try await uploads.wait()
        let place = "\(signed.method) \(ShownText.place(signed.url))"
        guard ["PUT", "POST"].contains(signed.method) else {
            throw AttachmentStorageError(.storage, "The backend signed an upload that is none: \(place)")
        }
        var request = try request(signed.method, signed.url)
        for header in signed.headers where !Self.ownFields.contains(header.name.lowercased()) {
            request.fields.append(header.name, header.value)
        }
        let length = signed.headers.last { $0.name.lowercased() == "content-length" }?.value
        guard length == nil || length == String(body.length) else {
            throw AttachmentStorageError(
                .storage, "The backend signed another length than the file has: \(place)")
        }
        if body.length > 0 {
            request.file = body
            request.onSent = onSent
        } else {
            request.body = []
        }
        let stream = try await open(request)
        let problem = try await Self.start(of: stream)
        return answer(stream, to: transfer, place, problem, uploads)
    }

    /// Asks for bytes.
    ///
    /// - Parameters:
    ///   - url: the signed address.
    ///   - start: where the bytes begin; from 0 on a range is not asked for.
    /// - Returns: the answer and, if that is a success, its body, which is still arriving.
    /// - Throws: as `send`.
    func fetch(_ url: String, from start: Int64) async throws -> (answer: Answer, stream: HTTPClientStream) {
        try await downloads.wait()
        var request = try request("GET", url)
        if start > 0 { request.fields["range"] = "bytes=\(start)-" }
        let stream = try await open(request)
        let isDone = AttachmentAnswers.meaning(of: stream.status, to: .download) == .done
        let problem = isDone ? [] : try await Self.start(of: stream)
        return (answer(stream, to: .download, "GET \(ShownText.place(url))", problem, downloads), stream)
    }

    // MARK: Requests

    /// Makes a request to an address that may be followed.
    private func request(
        _ method: String, _ url: String
    ) throws(AttachmentStorageError) -> HTTPClientRequest {
        switch Self.scheme(of: url) {
        case "https": break
        case "http" where !needsSecurity: break
        case "http":
            throw AttachmentStorageError(
                .refused,
                "The backend is asked by https, and names a storage without: \(ShownText.place(url))")
        default:
            throw AttachmentStorageError(
                .refused, "The backend names a storage that is none of http or https")
        }
        return HTTPClientRequest(method: method, url: url, idleTimeout: Self.idleTimeout)
    }

    /// The scheme of an address in lower case; nil where there is none.
    private static func scheme(of url: String) -> String? {
        url.firstRange(of: "://").map { url[..<$0.lowerBound].lowercased() }
    }

    // MARK: Answers

    /// Reads the body of an answer for what is said of a problem; whatever is wrong with it must not hide the status.
    private static func start(of stream: HTTPClientStream) async throws -> [UInt8] {
        var body: [UInt8] = []
        do {
            while body.count < problemLimit, let piece = try await stream.next() { body += piece }
        } catch let error where !(error is CancellationError) {
            // As said: the status is there.
        }
        stream.cancel()
        return body
    }

    private func answer(
        _ stream: HTTPClientStream, to transfer: AttachmentAnswers.Transfer, _ place: String,
        _ problem: [UInt8], _ pause: BackendPause
    ) -> Answer {
        let meaning = AttachmentAnswers.meaning(of: stream.status, to: transfer)
        let kind: AttachmentStorageError.Code =
            switch meaning {
            case .refusedURL: .expired
            case .failure(let kind): kind
            case .done, .stored, .badRange: .storage
            }
        pause.heed(HTTPClientResponse(status: stream.status, fields: stream.fields, body: []))
        let error = AttachmentStorageError(
            kind, place: place, status: stream.status, Self.code(of: problem))
        return Answer(meaning: meaning, error: error)
    }

    /// Returns what a storage calls a problem: the code of a problem of ours, or that of an error of S3.
    static func code(of body: [UInt8]) -> String? {
        if let code = BackendHTTP.code(of: body) { return code }
        let text = String(decoding: body.prefix(problemLimit), as: UTF8.self)
        guard let start = text.firstRange(of: "<Code>"),
            let end = text[start.upperBound...].firstRange(of: "</Code>")
        else { return nil }
        return ShownText.code(String(text[start.upperBound..<end.lowerBound]))
    }
}
