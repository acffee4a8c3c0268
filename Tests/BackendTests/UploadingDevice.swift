import PowerSyncHTTP
import PowerSyncHTTPTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// A client that sends what is in its queue again until it gets a final answer, over sockets to one backend or several.
struct UploadingDevice: Sendable {
    /// What became of a transaction.
    struct Outcome: Sendable {
        /// Its result: `success` or `fatal_error`.
        let result: JSON
        /// How often it was sent.
        let sent: Int

        var isRejected: Bool { result["status"] == .string("fatal_error") }
        var isReplayed: Bool { result["replayed"] == .bool(true) }
        var rejectionID: String? { result["rejection_id"]?.stringValue }
        var errorCode: String? { result["failed_operation"]?["error_code"]?.stringValue }
        var states: [String] {
            (result["ops"]?.arrayValue ?? []).compactMap { $0["status"]?.stringValue }
        }
    }

    /// The user and the client's database.
    let name: String
    private let backends: [(client: JSONClient, token: String)]

    /// Gets a token of each backend; behind them is one database.
    init(_ name: String, ports: [Int]) async throws {
        self.name = name
        var backends: [(client: JSONClient, token: String)] = []
        for port in ports {
            let client = try JSONClient("http://127.0.0.1:\(port)")
            let answer = try await client.send("GET", "/api/auth/token?user_id=\(name)")
            backends.append((client, try #require(try answer.json["token"]?.stringValue)))
        }
        self.backends = backends
    }

    /// Uploads transactions in their order; what has no final result is sent again, to the next backend.
    ///
    /// - Parameters:
    ///   - transactions: Each a list of operations, as JSON.
    ///   - hasIDs: Whether operations have ids; without, there is one transaction, a batch.
    ///   - first: The number of the backend that is asked first.
    ///   - willSend: What is done before each time.
    ///   - didAnswer: What is done after each time.
    /// - Returns: What became of each.
    /// - Throws: `StateDidNotCome`, and what asking throws.
    func upload(
        _ transactions: [String], hasIDs: Bool = true, first: Int = 0, willSend: () -> Void = {},
        didAnswer: () -> Void = {}
    ) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        var sent = 0
        // A name that vanished is waited for until the migration comes that brings it back.
        try await wait(
            for: "final results for \(name)", within: TestOptions.deadline * 5,
            read: {
                let backend = backends[(first + sent) % backends.count]
                sent += 1
                let rest = Array(transactions[outcomes.count...])
                willSend()
                let answer = try await backend.client.send(
                    "POST", "/api/data", body(rest, hasIDs: hasIDs), token: backend.token)
                didAnswer()
                outcomes += try finalResults(answer, of: rest.count).map { Outcome(result: $0, sent: sent) }
                return outcomes.count
            }, until: { $0 == transactions.count })
        return outcomes
    }

    private func body(_ transactions: [String], hasIDs: Bool) -> String {
        guard hasIDs else { return #"{"batch":\#(transactions.joined())}"# }
        let list = transactions.map { #"{"crud":\#($0)}"# }.joined(separator: ",")
        return #"{"v":1,"client_id":"\#(name)","transactions":[\#(list)]}"#
    }

    /// The final results, which come first; whatever else is said must ask the client to come again.
    private func finalResults(_ answer: JSONClient.Answer, of count: Int) throws -> [JSON] {
        guard answer.status == 200 else {
            #expect(answer.status == 503)
            #expect(answer.fields["retry-after"] != nil)
            #expect(try answer.json["retryable"] == .bool(true))
            return []
        }
        let results = try #require(try answer.json["results"]?.arrayValue)
        try #require(results.count == count)
        let statuses = results.compactMap { $0["status"]?.stringValue }
        let final = statuses.prefix { ["success", "fatal_error"].contains($0) }
        #expect(
            statuses.dropFirst(final.count).allSatisfy { ["retryable_error", "not_attempted"].contains($0) })
        return Array(results.prefix(final.count))
    }
}
