import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncTestSupport
import PowerSyncWire

/// An HTTP client for tests that talk JSON with a server of ours.
package final class JSONClient: Sendable {
    /// An answer.
    package struct Answer: Sendable {
        /// The status.
        package let status: Int
        /// The fields of the head.
        package let fields: HTTPFields
        /// The body as it came.
        package let body: [UInt8]

        /// The body as JSON; null if there is none.
        package var json: JSON {
            get throws { body.isEmpty ? .null : try JSON.parse(body) }
        }
    }

    private let base: String
    private let client: HTTPClient

    /// Makes a client.
    ///
    /// - Parameter base: What the URLs begin with, `http://127.0.0.1:8080`.
    /// - Throws: `HTTPClientError`.
    package init(_ base: String) throws {
        self.base = base
        client = try HTTPClient()
    }

    deinit { client.close() }

    /// Sends a request and waits for the whole answer.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - path: What follows the base.
    ///   - body: A body, which is sent as JSON unless a field says otherwise.
    ///   - fields: Fields of the head.
    ///   - token: A token to send as bearer.
    /// - Returns: The answer, whatever its status.
    /// - Throws: `HTTPClientError`.
    package func send(
        _ method: String, _ path: String, _ body: String? = nil, fields: HTTPFields = [:],
        token: String? = nil
    ) async throws -> Answer {
        var request = HTTPClientRequest(
            method: method, url: base + path, fields: fields, body: body.map { Array($0.utf8) })
        if body != nil, fields["content-type"] == nil { request.fields["content-type"] = "application/json" }
        if let token { request.fields["authorization"] = "Bearer \(token)" }
        // What a server gives up at the deadline of tests is answered before.
        request.connectTimeout = TestOptions.deadline
        request.idleTimeout = TestOptions.deadline * 2
        request.totalTimeout = TestOptions.deadline * 2
        let answer = try await client.send(request)
        return Answer(status: answer.status, fields: answer.fields, body: answer.body)
    }
}
