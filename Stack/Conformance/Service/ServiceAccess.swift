import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends the requests of a scenario to one service.
package struct ServiceAccess: Sendable {
    /// Sends them.
    let client: HTTPClient
    /// Where the service answers.
    let port: Int
    /// Where its metrics are.
    let metricsPort: Int

    /// Makes the access to a service on this machine.
    ///
    /// - Parameters:
    ///   - client: sends the requests.
    ///   - port: where the service answers.
    ///   - metricsPort: where its metrics are.
    package init(client: HTTPClient, port: Int, metricsPort: Int) {
        self.client = client
        self.port = port
        self.metricsPort = metricsPort
    }

    /// Opens a stream.
    ///
    /// - Parameters:
    ///   - user: the user.
    ///   - claims: claims of the token.
    ///   - fields: header fields beside `Authorization`.
    ///   - body: the request.
    /// - Returns: the stream, which may not have an answer yet.
    /// - Throws: `CryptoError` when no token can be made.
    func open(
        user: String, claims: JSON, fields: [(name: String, value: String)], body: JSON
    ) throws -> ReceivedStream {
        let token = try token(user: user, claims: claims)
        return ReceivedStream(
            client,
            request(
                "POST", "/sync/stream", fields + [("Content-Type", "application/json")], body.utf8,
                token: token))
    }

    /// Sends a request of a recording.
    ///
    /// - Parameter request: the request.
    /// - Returns: the answer; its body is JSON, or the text of what is none, or `(stream)` for lines, which have no end.
    /// - Throws: `HTTPClientError`, `CryptoError`, `CancellationError`.
    func send(_ request: RecordedRequest) async throws -> RecordedAnswer {
        let token =
            if let given = request.token { given.isEmpty ? nil : given } else {
                try token(user: request.user, claims: request.claims)
            } as String?
        var sent = self.request(request.method, request.path, request.headers, request.body, token: token)
        sent.totalTimeout = ScenarioRun.patience
        let stream = try await client.open(sent)
        defer { stream.cancel() }
        var answer = RecordedAnswer(status: stream.status, headers: [:])
        for (name, value) in stream.fields { answer.headers[name.lowercased()] = value }
        let type = stream.fields["content-type"] ?? ""
        if type.hasPrefix("application/x-ndjson") || type.hasPrefix("application/vnd.powersync.bson-stream") {
            answer.body = .string("(stream)")
            return answer
        }
        var body: [UInt8] = []
        while let part = try await stream.next() { body += part }
        do {
            answer.body = try RecordedJSON.parse(body)
        } catch {
            // Not JSON: compared as the text that it is.
            answer.body = .string(String(decoding: body, as: UTF8.self))
        }
        return answer
    }

    /// Takes a write checkpoint.
    ///
    /// - Parameters:
    ///   - user: whose.
    ///   - client: of which device.
    /// - Returns: its id; nil if the service answers otherwise, or not at all.
    /// - Throws: `CryptoError`, `CancellationError`.
    func writeCheckpoint(user: String, client: String) async throws -> Int64? {
        let request = RecordedRequest(
            method: "GET", path: "/write-checkpoint2.json?client_id=\(client)", user: user,
            claims: .object([]),
            headers: [])
        do {
            let answer = try await send(request)
            return answer.body?["data"]?["write_checkpoint"]?.stringValue.flatMap { Int64($0) }
        } catch is HTTPClientError {
            // A service that is starting refuses connections.
            return nil
        }
    }

    /// Reads the gauge that tells how many streams have not got the newest checkpoint yet.
    ///
    /// - Returns: its value; nil if the service has no such gauge.
    /// - Throws: `CancellationError`.
    func sessionsBehind() async throws -> Double? {
        do {
            let answer = try await client.send(
                HTTPClientRequest(
                    url: "http://127.0.0.1:\(metricsPort)/metrics", connectTimeout: ScenarioRun.patience,
                    totalTimeout: ScenarioRun.patience))
            return SessionsGauge.value(in: String(decoding: answer.body, as: UTF8.self))
        } catch is HTTPClientError {
            // Nobody listens there, which says the same as a page without the gauge.
            return nil
        }
    }

    private func token(user: String, claims: JSON) throws -> String {
        try ScenarioToken.make(user: user, claims: claims, now: Int64(Date().timeIntervalSince1970))
    }

    private func request(
        _ method: String, _ path: String, _ headers: [(name: String, value: String)], _ body: [UInt8]?,
        token: String?
    ) -> HTTPClientRequest {
        var fields = HTTPFields()
        if let token { fields.append("Authorization", "Token \(token)") }
        for (name, value) in headers { fields.append(name, value) }
        return HTTPClientRequest(
            method: method, url: "http://127.0.0.1:\(port)\(path)", fields: fields, body: body,
            connectTimeout: ScenarioRun.patience, idleTimeout: .seconds(120))
    }
}
