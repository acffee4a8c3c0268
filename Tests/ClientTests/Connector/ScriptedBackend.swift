import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

@testable import PowerSync

/// A backend that does what the test says, behind the seam of the connector, and keeps what it was asked.
final class ScriptedBackend: Sendable {
    typealias Upload = @Sendable (_ number: Int, _ request: UploadRequest) async throws -> HTTPClientResponse
    typealias Token = @Sendable (_ number: Int) async throws -> HTTPClientResponse

    private struct State {
        var uploads: [HTTPClientRequest] = []
        var tokens: [HTTPClientRequest] = []
        var inFlight = 0
        var mostInFlight = 0
    }

    private let state = Lock(State())
    private let upload: Upload
    private let token: Token

    /// - Parameters:
    ///   - upload: the answer to an upload, whose number from 1 it gets; everything is accepted if not given.
    ///   - token: the answer to a request for a token, whose number from 1 it gets; `token-` and that number if not
    ///     given.
    init(
        upload: @escaping Upload = { .accepting($1) }, token: @escaping Token = { .token($0) }
    ) {
        self.token = token
        self.upload = upload
    }

    /// The requests with an upload.
    var uploads: [HTTPClientRequest] { state.withLock { $0.uploads } }
    /// The requests for a token.
    var tokens: [HTTPClientRequest] { state.withLock { $0.tokens } }
    /// How many requests for a token were on their way at once, at most.
    var mostTokensInFlight: Int { state.withLock { $0.mostInFlight } }
    /// What authorised the uploads.
    var authorizations: [String?] { uploads.map { $0.fields["authorization"] } }

    /// The bodies of the uploads.
    func bodies() throws -> [UploadRequest] {
        try uploads.map { try UploadRequest(json: JSON.parse($0.body ?? [])) }
    }

    func send(_ request: HTTPClientRequest) async throws -> HTTPClientResponse {
        try Task.checkCancellation()
        if request.method == "POST" {
            let number = state.withLock { state in
                state.uploads.append(request)
                return state.uploads.count
            }
            return try await upload(number, UploadRequest(json: JSON.parse(request.body ?? [])))
        }
        let number = state.withLock { state in
            state.tokens.append(request)
            state.inFlight += 1
            state.mostInFlight = max(state.mostInFlight, state.inFlight)
            return state.tokens.count
        }
        defer { state.withLock { $0.inFlight -= 1 } }
        return try await token(number)
    }
}

extension HTTPClientResponse {
    /// An answer with a body of JSON.
    static func json(_ text: String, status: Int = 200, _ fields: HTTPFields = [:]) -> HTTPClientResponse {
        HTTPClientResponse(status: status, fields: fields, body: Array(text.utf8))
    }

    /// An answer with that status, and without a body.
    static func status(_ status: Int, _ fields: HTTPFields = [:]) -> HTTPClientResponse {
        HTTPClientResponse(status: status, fields: fields, body: [])
    }

    /// The token with that number; `life` is what else the answer says, as `,"expires_in":600`.
    static func token(_ number: Int, life: String = "") -> HTTPClientResponse {
        json("{\"token\":\"token-\(number)\",\"powersync_url\":\"https://service.test\"\(life)}")
    }

    /// Results, as they are written.
    static func results(_ results: String...) -> HTTPClientResponse {
        json("{\"results\":[\(results.joined(separator: ","))]}")
    }

    /// All transactions are accepted.
    static func accepting(_ request: UploadRequest) -> HTTPClientResponse {
        let results = request.transactions.map { UploadResult(status: .success, txID: $0.id) }
        return json(UploadResponse(requestID: "r", results: results).json.text)
    }
}

/// A database and a connector to a scripted backend.
struct BackendRig {
    let test: TestDatabase
    let backend: ScriptedBackend
    let connector: BackendConnector
    let clock: SteppedClock
    private let told: Lock<[UploadVerdict]>

    /// - Parameters:
    ///   - backend: the backend.
    ///   - access: what authorises the requests.
    ///   - url: the backend's address.
    ///   - endpoint: the service, if not what the backend says.
    ///   - decide: the app's decisions.
    /// - Throws: when there is no place for a folder.
    init(
        _ backend: ScriptedBackend = ScriptedBackend(), access: BackendAccess = .developmentUser("alice"),
        url: String = "https://backend.test", endpoint: String? = nil,
        decide: (@Sendable (UploadVerdict, CrudTransaction) async throws -> UploadDecision)? = nil
    ) throws {
        test = try TestDatabase()
        self.backend = backend
        let clock = SteppedClock()
        self.clock = clock
        let told = Lock<[UploadVerdict]>([])
        self.told = told
        connector = BackendConnector(
            url: url, access: access, endpoint: endpoint,
            onVerdict: { verdict in told.withLock { $0.append(verdict) } }, decide: decide,
            environment: clock.environment, send: { try await backend.send($0) })
    }

    /// The verdicts that the app was told.
    var verdicts: [UploadVerdict] { told.withLock { $0 } }

    /// Uploads once.
    func upload() async throws { try await connector.uploadData(database: test.database) }

    /// Uploads once and returns the error that it ends with.
    func failure() async -> PowerSyncError? {
        do {
            try await upload()
            return nil
        } catch {
            return error as? PowerSyncError
        }
    }

    /// How many changes wait for their upload.
    func queued() async throws -> Int { try await test.count("ps_crud") }

    /// Queues transactions of one change each.
    func queue(_ count: Int) async throws {
        for number in 0..<count { try await test.insertUser("user \(number)") }
    }

    /// Queues changes without writing their rows, `size` of them in a transaction.
    func queueAtOnce(_ count: Int, inTransactionsOf size: Int) async throws {
        try await test.database.execute(
            sql: """
                INSERT INTO ps_crud (tx_id, data)
                WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < ?1)
                SELECT (i + ?2 - 1) / ?2, '{"op":"DELETE","type":"users","id":"' || i || '"}' FROM numbers
                """, parameters: [count, size])
    }
}
