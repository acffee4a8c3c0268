import PowerSyncHTTPClient
import PowerSyncWire

/// Sends requests about attachments to a backend (backend 10.2), as the user of a connector.
struct AttachmentSender: Sendable {
    /// The address of all that is asked about attachments.
    static let path = "/api/v1/attachments"
    /// The limits of an answer: one about a hundred parts or files, or with the numbers of ten thousand stored parts.
    static let limits = JSONLimits(values: 20_000)

    let http: BackendHTTP
    let tokens: BackendTokens

    /// Sends a request, and once more with what the session says then where it is not accepted as the user's.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - path: what follows the address.
    ///   - body: the body; nil for none.
    ///   - pause: keeps the request back, and begins where the answer asks for that.
    /// - Returns: the answer, whatever its status, and what it calls a problem.
    /// - Throws: `PowerSyncError` if there is none, `CancellationError`, what the session throws.
    func send(
        _ method: String, _ path: String, body: JSON?, _ pause: BackendPause
    ) async throws -> (response: HTTPClientResponse, code: String?) {
        try await pause.wait()
        let authorization = try await tokens.authorization()
        var response = try await http.send(
            method, Self.path + path, body: body, authorization: authorization)
        if response.status == 401 {
            response = try await http.send(
                method, Self.path + path, body: body,
                authorization: try await tokens.authorization(insteadOf: authorization))
        }
        if (200..<300).contains(response.status) { return (response, nil) }
        let code = BackendHTTP.code(of: response.body)
        // A quota does not pass with time, and another file may be within it.
        if code != AttachmentProblem.code(of: AttachmentProblem.quota) { pause.heed(response) }
        return (response, code)
    }

    /// Sends several questions at once.
    ///
    /// - Parameters:
    ///   - batch: the questions.
    ///   - pause: as for a request of its own.
    /// - Returns: what came of it.
    /// - Throws: as for a request of its own.
    func send(_ batch: AttachmentBatch, _ pause: BackendPause) async throws -> AttachmentQuestions.Reply {
        let (response, code) = try await send("POST", "/batch", body: batch.json, pause)
        switch AttachmentAnswers.batchMeaning(of: response.status, code) {
        case .done:
            // What is no JSON is an answer of something that knows no batch.
            guard let json = try? JSON.parse(response.body, limits: Self.limits),
                let answers = batch.answers(in: json)
            else { return .unknown }
            for answer in answers {
                if let delay = answer.pause { pause.begin(delay) }
            }
            return .answers(answers)
        case .failure: return .failed(status: response.status, code: code)
        case .tooMany: return .tooMany
        case .unknown: return .unknown
        }
    }
}
