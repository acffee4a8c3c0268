import PowerSyncHTTP
import PowerSyncHTTPServer
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Runs a server for the time of a test.
struct ServerFixture {
    let server: HTTPServer
    let poller: Poller

    func connect(receiveBuffer: Int32? = nil) throws -> RawClient {
        try RawClient(server.port, poller, receiveBuffer: receiveBuffer)
    }

    static func with(
        _ handler: @escaping HTTPHandler, _ body: @Sendable (ServerFixture) async throws -> Void
    ) async throws {
        try await with(HTTPServerConfiguration(), handler, body)
    }

    static func with(
        _ configuration: HTTPServerConfiguration, _ handler: @escaping HTTPHandler,
        _ body: @Sendable (ServerFixture) async throws -> Void
    ) async throws {
        let poller = try Poller()
        let server = try HTTPServer(configuration: configuration, poller: poller)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run(handler) }
            do {
                try await body(ServerFixture(server: server, poller: poller))
            } catch {
                server.stop(grace: .zero)
                throw error
            }
            server.stop(grace: .zero)
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 0)
    }

    /// Waits until something holds.
    func eventually(
        _ what: Comment, _ location: SourceLocation = #_sourceLocation, _ isSo: () -> Bool
    ) async throws {
        try await wait(for: "\(what)", sourceLocation: location, isSo)
    }
}

extension HTTPResponse {
    static func text(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["content-type": "text/plain"], body: .bytes(Array(text.utf8)))
    }
}

/// Answers with what was asked.
let echo: HTTPHandler = { request, body in
    do throws(HTTPError) {
        let bytes = try await body.collect(limit: 1 << 20)
        return .text("\(request.method) \(request.path) \(String(decoding: bytes, as: UTF8.self))")
    } catch {
        return .text(error.code.rawValue, status: error.status)
    }
}
