import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a user's device would get, without a device.
enum SyncedRows {
    /// Waits until a user gets exactly these rows; what the service has replicated last may come with a later checkpoint.
    ///
    /// - Parameters:
    ///   - ids: the ids of the rows, sorted.
    ///   - backend: the backend's URL.
    ///   - service: the service's URL.
    /// - Throws: `StateDidNotCome`; errors of the network.
    static func wait(for ids: [String], backend: String, service: String) async throws {
        try await PowerSyncTestSupport.wait(
            for: "the rows \(ids)", read: { try await self.ids(backend: backend, service: service) },
            until: { $0 == ids })
    }

    /// Mints a token at the backend, opens a stream of the service and reads it to the first complete checkpoint.
    ///
    /// - Parameters:
    ///   - backend: the backend's URL.
    ///   - service: the service's URL.
    ///   - user: whose rows.
    /// - Returns: the ids of the rows, sorted, each once.
    /// - Throws: errors of the network; an issue stands where the answer is no success.
    private static func ids(backend: String, service: String, user: String = "somebody") async throws
        -> [String]
    {
        let answer = try await JSONClient(backend).send("GET", "/api/auth/token?user_id=\(user)")
        let token = try #require(try answer.json["token"]?.stringValue)
        let client = try HTTPClient()
        defer { client.close() }
        var request = HTTPClientRequest(url: service + "/sync/stream")
        request.method = "POST"
        request.fields = ["content-type": "application/json", "authorization": "Bearer \(token)"]
        request.body = Array("{\"raw_data\":true}".utf8)
        request.idleTimeout = TestOptions.deadline
        let stream = try await client.open(request)
        defer { stream.cancel() }
        try #require(stream.status == 200)
        var splitter = LineSplitter(limit: 1 << 20)
        var ids: [String] = []
        while let chunk = try await stream.next() {
            splitter.append(chunk)
            while let line = try splitter.next() {
                switch try SyncLine(parsing: line) {
                case .data(let data): ids += data.operations.compactMap(\.objectID)
                case .checkpointComplete: return Set(ids).sorted()
                default: break
                }
            }
        }
        return Set(ids).sorted()
    }
}
