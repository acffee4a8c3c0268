import PowerSyncHTTPClient
import PowerSyncSystem
import PowerSyncWire

/// One round of uploading (backend 1.9).
extension BackendConnector {
    /// A transaction and what the backend says of it.
    private typealias Answered = (transaction: CrudTransaction, result: UploadResult, verdict: UploadVerdict)

    /// Uploads the oldest transactions of the queue, and completes those that the backend has dealt with.
    ///
    /// If the backend has asked for a pause (`Retry-After`), that is waited for first, 60 seconds at most.
    ///
    /// - Parameter database: the database whose queue is uploaded.
    /// - Throws: `PowerSyncError` if the first transaction stays in the queue, or there was no answer; what the session
    ///   and `decide` throw; `CancellationError`.
    public func uploadData(database: any PowerSyncDatabaseProtocol) async throws {
        try await pause.wait()
        let count = batchSize.withLock { $0.transactions(at: environment.uptime()) }
        let batch = try await UploadBatch.oldest(of: database, atMost: count).transactions
        guard !batch.isEmpty else { return }
        let clientID = try await database.get(sql: "SELECT powersync_client_id()", parameters: []) {
            try $0.getString(index: 0)
        }
        try await settle(try await exchange(batch[...], clientID: clientID)[...])
    }

    /// Sends transactions, the first half of them for as long as they are too many, until the backend judges them.
    ///
    /// - Parameters:
    ///   - transactions: the transactions, the oldest first; at least one.
    ///   - clientID: the id of the database.
    /// - Returns: those that were judged, with their results.
    /// - Throws: `PowerSyncError`, `CancellationError`, what the session throws.
    private func exchange(_ transactions: ArraySlice<CrudTransaction>, clientID: String) async throws
        -> [Answered]
    {
        var transactions = transactions
        var body = Self.body(transactions, clientID)
        var authorization = try await tokens.authorization()
        var isRenewed = false
        while true {
            let response = try await http.upload(body, authorization: authorization)
            switch response.status {
            case 200:
                return zip(transactions, try http.results(from: response, for: transactions)).map {
                    ($0, $1, UploadVerdict($1, transactionId: $0.transactionId))
                }
            case 401 where !isRenewed:
                isRenewed = true
                authorization = try await tokens.authorization(insteadOf: authorization)
            case 413 where transactions.count > 1:
                let sent = transactions.count
                transactions = transactions.prefix(
                    batchSize.withLock { $0.refused(sent, at: environment.uptime()) })
                body = Self.body(transactions, clientID)
            default:
                pause.heed(response)
                throw failure(response, of: transactions)
            }
        }
    }

    private static func body(_ transactions: ArraySlice<CrudTransaction>, _ clientID: String) -> [UInt8] {
        UploadRequest(clientID: clientID, transactions: transactions.map(UploadTransaction.init)).json.utf8
    }

    /// Completes what is done, asks the app about what it must decide, and tells it every verdict.
    ///
    /// - Parameter answered: what the backend has judged, the oldest first.
    /// - Throws: `PowerSyncError` for a transaction that is not done, unless others before it were and it was just not
    ///   attempted; what the app's decision throws; `CancellationError`.
    private func settle(_ answered: ArraySlice<Answered>) async throws {
        var rest = answered
        var stays = false
        defer { batchSize.withLock { $0.isFirstAlone = stays } }
        while true {
            let done = rest.prefix { $0.verdict.isSettled }
            try await done.last?.transaction.complete()
            await tell(done)
            rest = rest.dropFirst(done.count)
            guard let next = rest.first else { return }
            // What stopped the backend is done: the next upload begins here.
            let isNext = next.verdict.outcome == .notAttempted && rest.startIndex > answered.startIndex
            stays = !isNext
            await tell(rest.prefix(1))
            if next.verdict.outcome == .needsDecision, try await decision(on: next) == .discard {
                try await next.transaction.complete()
                stays = false
                rest = rest.dropFirst()
                continue
            }
            await tell(rest.dropFirst())
            if isNext { return }
            throw failure(next)
        }
    }

    private func decision(on answered: Answered) async throws -> UploadDecision {
        guard let decide else { return .keep }
        return try await decide(answered.verdict, answered.transaction)
    }

    private func tell(_ answered: ArraySlice<Answered>) async {
        guard let onVerdict else { return }
        for answer in answered { await onVerdict(answer.verdict) }
    }

    // MARK: Errors

    private func failure(
        _ response: HTTPClientResponse, of transactions: ArraySlice<CrudTransaction>
    ) -> PowerSyncError {
        switch (response.status, access) {
        case (401, .session): return http.uploadFailure(response, BackendAccess.refusedSession)
        case (413, _):
            let changes = transactions.first?.crud.count ?? 0
            let transaction = "The oldest transaction of the upload queue (changes: \(changes))"
            return http.uploadFailure(
                response, code: .uploadTooLarge, "\(transaction) alone is larger than the backend takes")
        default: return http.uploadFailure(response)
        }
    }

    /// The error of a transaction that stays in the queue; begins the pause that it may ask for.
    private func failure(_ answered: Answered) -> PowerSyncError {
        let code = answered.verdict.code.flatMap(ShownText.code)
        let suffix = code.map { " (\($0))" } ?? ""
        switch answered.verdict.outcome {
        case .needsDecision:
            return PowerSyncError(
                .uploadUndecided,
                """
                The backend will never take the oldest transaction of the upload queue\(suffix) and leaves it to \
                the app what becomes of it: it stays in the queue until the app decides
                """)
        default:
            if let delay = answered.result.retryAfter { pause.begin(delay) }
            return PowerSyncError(
                .serviceUnavailable,
                "The backend asks for the oldest transaction of the upload queue again later\(suffix)")
        }
    }
}
