import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPTestSupport
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What a user's device would get, without a device.
enum SyncedRows {
    /// Mints a token at the backend, opens a stream of the service and reads it to the first complete checkpoint.
    ///
    /// - Parameters:
    ///   - backend: the backend's URL.
    ///   - service: the service's URL.
    ///   - user: whose rows.
    /// - Returns: the ids of the rows, sorted.
    /// - Throws: errors of the network; an issue stands where the answer is no success.
    static func ids(backend: String, service: String, user: String = "somebody") async throws -> [String] {
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
                case .checkpointComplete: return ids.sorted()
                default: break
                }
            }
        }
        return ids.sorted()
    }
}
