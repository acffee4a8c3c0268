import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

/// Sends requests to a backend and judges its answers (backend 1.4 to 1.7, 4.4).
struct BackendHTTP: Sendable {
    /// Carries a request and brings its answer: libcurl, or a script in tests.
    typealias Send = @Sendable (HTTPClientRequest) async throws -> HTTPClientResponse

    /// How long a connection may be silent.
    ///
    /// A backend that has much to do may need longer, 53 seconds at most (backend 1.8): what is sent again then it knows
    /// by its numbers.
    static let idleTimeout = Duration.seconds(45)
    /// How long an answer may take once the request has gone out.
    ///
    /// The backend sends even the longest answers at 64 KiB a second (backend 1.8). A body that is still on its way has
    /// no other limit than silence.
    static let answerTimeout = Duration.seconds(120)

    /// How many values of JSON the results of an upload may have beside those of each operation.
    ///
    /// Each takes up to a hundred bytes, however few it was written with.
    static let resultValues = 100_000
    /// How many values of JSON the state of an operation may have: those of a backend have five (backend 1.6).
    static let stateValues = 8
    /// The most bytes of an answer in which the code of a problem is looked for: those of a backend have a few hundred.
    static let problemLimit = 16 << 10

    /// The base address, without slashes at its end.
    let url: String
    private let carry: Send

    /// Makes a way to a backend.
    ///
    /// - Parameters:
    ///   - url: the base address; slashes at its end count for nothing.
    ///   - send: carries the requests.
    init(url: String, send: @escaping Send) {
        var base = Substring(url)
        while base.last == "/" { base.removeLast() }
        self.url = String(base)
        carry = send
    }

    /// Asks for a token.
    ///
    /// - Parameters:
    ///   - user: the subject that it shall have, for development backends.
    ///   - authorization: the value of the header field.
    /// - Returns: the answer, whatever its status.
    /// - Throws: `PowerSyncError` if there is none, `CancellationError`.
    func askForToken(user: String?, authorization: String?) async throws -> HTTPClientResponse {
        let query = user.map { "?user_id=" + PercentEncoding.encode($0) } ?? ""
        return try await send(request("GET", Path.token + query, authorization))
    }

    /// Sends an upload.
    ///
    /// - Parameters:
    ///   - body: the JSON of dialect S (backend 1.5).
    ///   - authorization: the value of the header field.
    /// - Returns: the answer, whatever its status.
    /// - Throws: `PowerSyncError` if there is none, `CancellationError`.
    func upload(_ body: [UInt8], authorization: String) async throws -> HTTPClientResponse {
        var request = request("POST", Path.upload, authorization)
        request.fields["content-type"] = "application/json"
        request.body = body
        return try await send(request)
    }

    /// Sends a request about something else than the upload queue.
    ///
    /// - Parameters:
    ///   - method: the method.
    ///   - path: what follows the base address.
    ///   - body: the body; nil for none.
    ///   - authorization: the value of the header field.
    /// - Returns: the answer, whatever its status.
    /// - Throws: `PowerSyncError` if there is none, `CancellationError`.
    func send(
        _ method: String, _ path: String, body: JSON?, authorization: String
    ) async throws -> HTTPClientResponse {
        var request = request(method, path, authorization)
        if let body {
            request.fields["content-type"] = "application/json"
            request.body = body.utf8
        }
        return try await send(request)
    }

    // MARK: Answers

    /// Reads the token of an answer with the status 200.
    ///
    /// - Parameter response: the answer.
    /// - Returns: the token, where the service is, and how long the token lasts.
    /// - Throws: `PowerSyncError` with `protocolViolation`.
    func token(from response: HTTPClientResponse) throws(PowerSyncError) -> TokenResponse {
        do {
            return try TokenResponse(json: JSON.parse(response.body, limits: .shortAnswer))
        } catch {
            throw violation("GET", Path.token, error.message)
        }
    }

    /// Reads the results of an answer with the status 200.
    ///
    /// - Parameters:
    ///   - response: the answer.
    ///   - transactions: what was sent.
    /// - Returns: one result for each transaction, in the same order.
    /// - Throws: `PowerSyncError` with `protocolViolation` for an answer that is not exactly that.
    func results(
        from response: HTTPClientResponse, for transactions: ArraySlice<CrudTransaction>
    ) throws(PowerSyncError) -> [UploadResult] {
        let operations = transactions.reduce(0) { $0 + $1.crud.count }
        let limits = JSONLimits(values: Self.resultValues + Self.stateValues * operations)
        let results: [UploadResult]
        do {
            results = try UploadResponse(json: JSON.parse(response.body, limits: limits)).results
        } catch {
            throw violation("POST", Path.upload, error.message)
        }
        guard results.count == transactions.count else {
            throw violation(
                "POST", Path.upload, "\(results.count) results for \(transactions.count) transactions")
        }
        guard zip(transactions, results).allSatisfy({ $1.txID == nil || $1.txID == $0.transactionId }) else {
            throw violation("POST", Path.upload, "the results are not in the order of the transactions")
        }
        return results
    }

    /// Returns the error of an answer to `askForToken` that is no success.
    ///
    /// - Parameters:
    ///   - response: the answer.
    ///   - message: what went wrong, in plain words; nil for what the status means.
    /// - Returns: the error.
    func tokenFailure(_ response: HTTPClientResponse, _ message: String? = nil) -> PowerSyncError {
        failure(response, "GET", Path.token, nil, message)
    }

    /// Returns the error of an answer to `upload` that is no success.
    ///
    /// - Parameters:
    ///   - response: the answer.
    ///   - code: its kind; nil for that of the status.
    ///   - message: what went wrong, in plain words; nil for what the status means.
    /// - Returns: the error.
    func uploadFailure(
        _ response: HTTPClientResponse, code: PowerSyncError.Code? = nil, _ message: String? = nil
    ) -> PowerSyncError {
        failure(response, "POST", Path.upload, code, message)
    }

    private func failure(
        _ response: HTTPClientResponse, _ method: String, _ path: String, _ kind: PowerSyncError.Code?,
        _ message: String?
    ) -> PowerSyncError {
        let code = Self.code(of: response.body).map { " (\($0))" } ?? ""
        return PowerSyncError(
            backendStatus: response.status, code: kind, message,
            detail: "\(method) \(ShownText.address(url + path)) answered \(response.status)\(code)")
    }

    /// Returns the code of a problem (backend 1.7), as far as it may be shown; nil for what is none.
    static func code(of body: [UInt8]) -> String? {
        guard body.count <= problemLimit else { return nil }
        // nil: what is no JSON, such as a proxy's page, has no code.
        return (try? JSON.parse(body, limits: .shortAnswer))?["code"]?.stringValue.flatMap(ShownText.code)
    }

    private func violation(_ method: String, _ path: String, _ detail: String) -> PowerSyncError {
        let code = PowerSyncError.Code.protocolViolation
        return PowerSyncError(
            code, code.meaning(of: .backend), detail: "\(method) \(ShownText.address(url + path)): \(detail)")
    }

    // MARK: Requests

    private enum Path {
        static let token = "/api/auth/token"
        static let upload = "/api/data"
    }

    private func request(_ method: String, _ path: String, _ authorization: String?) -> HTTPClientRequest {
        var request = HTTPClientRequest(
            method: method, url: url + path, idleTimeout: Self.idleTimeout,
            answerTimeout: Self.answerTimeout)
        request.fields = ["accept": "application/json", "user-agent": UserAgent.current()]
        if let authorization { request.fields["authorization"] = authorization }
        return request
    }

    private func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        do {
            return try await carry(request)
        } catch let error as HTTPClientError {
            throw PowerSyncError(backend: error)
        }
    }
}

/// An HTTP client that is made for the first request: nobody can be told that there is none before.
final class FirstUseHTTPClient: Sendable {
    /// The most bytes of an answer: three times the states of the largest transaction (backend 1.6, 1.8).
    private static let answerLimit = 10 << 20

    private let client = Lock<HTTPClient?>(nil)
    private let options: TransportOptions?

    /// Makes a client that is not there yet.
    ///
    /// - Parameter options: proxies and certificates; nil for those of the system.
    init(_ options: TransportOptions?) { self.options = options }

    /// Sends a request and returns the whole answer.
    ///
    /// - Parameter request: the request.
    /// - Returns: the answer, whatever its status.
    /// - Throws: `HTTPClientError`, for options that cannot be used, too; `CancellationError`.
    func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        #if canImport(Darwin)
            guard options != nil else {
                return try await URLSessionClient(session: .shared).send(request, bodyLimit: Self.answerLimit)
            }
        #endif
        return try await made().send(request, bodyLimit: Self.answerLimit)
    }

    /// Sends a request through libcurl, on Apple systems too, and returns as soon as the head of the answer is there.
    ///
    /// - Parameter request: the request; its body may be a file.
    /// - Returns: the answer, whose body is read from it.
    /// - Throws: `HTTPClientError`, for options that cannot be used, too; `CancellationError`.
    func open(_ request: HTTPClientRequest) async throws -> HTTPClientStream {
        try await made().open(request)
    }

    private func made() throws -> HTTPClient {
        try client.withLock { client in
            if let client { return client }
            let new = try HTTPClient(HTTPClientConfiguration(options))
            client = new
            return new
        }
    }
}
