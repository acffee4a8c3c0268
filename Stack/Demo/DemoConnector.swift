import PowerSync
import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

/// The connector of an app that uses our backend: what backend 1.9 asks of a connector, in one page.
package final class DemoConnector: PowerSyncBackendConnectorProtocol {
    /// A verdict of the backend on one transaction that it refused.
    package struct Refusal: Sendable, Hashable {
        /// A stable code such as `CHECK_VIOLATION`.
        package let code: String
        /// The status of the whole answer.
        package let httpStatus: Int
    }

    /// How many transactions and operations go into one request at most.
    private static let transactionsPerRequest = 50
    private static let operationsPerRequest = 1000
    private static let keptRefusals = 100

    private let backend: String
    private let endpoint: String?
    private let user: String
    private let client: HTTPClient
    private let token = Lock<String?>(nil)
    private let seen = Lock<[Refusal]>([])

    /// Makes a connector.
    ///
    /// - Parameters:
    ///   - backend: the backend's URL.
    ///   - endpoint: the service's URL as this device reaches it; nil for the one that the backend names.
    ///   - user: the subject of the tokens, asked for with `?user_id=` as a development backend allows it.
    ///   - client: sends the requests.
    package init(backend: String, endpoint: String?, user: String, client: HTTPClient) {
        self.backend = backend
        self.endpoint = endpoint
        self.user = user
        self.client = client
    }

    /// The last transactions that the backend refused, at most a hundred.
    package var refusals: [Refusal] { seen.withLock { $0 } }

    /// Fetches a new token.
    public func fetchCredentials() async throws -> PowerSyncCredentials? {
        let answer = try await mint()
        return PowerSyncCredentials(endpoint: endpoint ?? answer.powersyncURL, token: answer.token)
    }

    /// Uploads the oldest transactions of the queue, and completes those that the backend has dealt with.
    public func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        var batch: [CrudTransaction] = []
        var operations = 0
        for try await transaction in database.getCrudTransactions() {
            batch.append(transaction)
            operations += transaction.crud.count
            if batch.count >= Self.transactionsPerRequest || operations >= Self.operationsPerRequest { break }
        }
        guard !batch.isEmpty else { return }
        let clientID = try await database.get(sql: "SELECT powersync_client_id()", parameters: []) {
            try $0.getString(index: 0)
        }
        let request = UploadRequest(clientID: clientID, transactions: batch.map(UploadTransaction.init))
        let response = try await send(request.json.utf8)
        guard response.results.count == batch.count else {
            throw StackError(
                .answer, "the backend answered another number of results than it got transactions")
        }
        let dealtWith = zip(batch, response.results).prefix { $1.isDealtWith }
        try await dealtWith.map(\.0).last?.complete()
        guard dealtWith.isEmpty, let first = response.results.first else { return }
        guard first.status == .fatalError else {
            throw StackError(.answer, "the backend asks to try again later")
        }
        throw StackError(
            .answer,
            "the backend leaves it to this app what becomes of its oldest transaction "
                + "(\(first.failure?.errorCode ?? "no code")): it stays in the queue until the app decides")
    }

    private func send(_ body: [UInt8]) async throws -> UploadResponse {
        let current = token.withLock { $0 }
        var answer = try await post(body, token: current == nil ? try await mint().token : current ?? "")
        if answer.status == 401 { answer = try await post(body, token: try await mint().token) }
        guard answer.status == 200 else {
            throw StackError(.answer, "POST /api/data answered \(answer.status)")
        }
        let response = try UploadResponse(json: JSON.parse(answer.body))
        let status = answer.status
        let refused = response.results.compactMap {
            $0.failure.map { Refusal(code: $0.errorCode, httpStatus: status) }
        }
        seen.withLock { $0 = ($0 + refused).suffix(Self.keptRefusals) }
        return response
    }

    private func post(_ body: [UInt8], token: String) async throws -> HTTPClientResponse {
        var request = HTTPClientRequest(url: backend + "/api/data")
        request.method = "POST"
        request.fields = ["content-type": "application/json", "authorization": "Bearer \(token)"]
        request.body = body
        request.totalTimeout = .seconds(60)
        return try await client.send(request)
    }

    private func mint() async throws -> TokenResponse {
        let answer = try await TokenRequest.send(backend: backend, user: user, client: client)
        token.withLock { $0 = answer.token }
        return answer
    }
}

extension UploadResult {
    /// Whether the client's part is done: committed, or refused for good and kept by the backend (backend 1.6).
    fileprivate var isDealtWith: Bool {
        status == .success || (status == .fatalError && !requiresClientHandling)
    }
}

extension UploadTransaction {
    /// Takes a transaction of the queue, its numbers as they are stored.
    init(_ transaction: CrudTransaction) {
        self.init(
            id: transaction.transactionId,
            operations: transaction.crud.map { entry in
                UploadOperation(
                    kind: UploadOperationKind(rawValue: entry.op.rawValue) ?? .put, table: entry.table,
                    id: entry.id,
                    opID: entry.clientId, data: entry.opDataTyped?.json.objectMembers,
                    old: entry.previousValuesTyped?.json.objectMembers, metadata: entry.metadata)
            })
    }
}
