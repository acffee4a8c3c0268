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

    /// Has clients wait for answers that do not come before the gate is opened.
    func hold(_ count: Int, at gate: Gate) async throws -> [RawClient] {
        let clients = try (0..<count).map { _ in try connect() }
        let before = gate.arrivals
        for client in clients { try await client.send("GET /held HTTP/1.1\r\nHost: h\r\n\r\n") }
        try await wait(for: "the requests to be in work", read: { gate.arrivals }) { $0 == before + count }
        return clients
    }

    static func with(
        _ handler: @escaping HTTPHandler, _ body: @Sendable (ServerFixture) async throws -> Void
    ) async throws {
        try await with(.patient(), handler, body)
    }

    static func with(
        _ configuration: HTTPServerConfiguration, _ handler: @escaping HTTPHandler,
        _ body: @Sendable (ServerFixture) async throws -> Void
    ) async throws {
        try await with(configuration, handler, sent: []) { fixture, _ in try await body(fixture) }
    }

    /// Lets clients connect and send their first bytes before the server runs: no time-out is faster than they.
    static func with(
        _ configuration: HTTPServerConfiguration, _ handler: @escaping HTTPHandler, sent texts: [String],
        _ body: @Sendable (ServerFixture, [RawClient]) async throws -> Void
    ) async throws {
        let poller = try Poller()
        let server = try HTTPServer(configuration: configuration, poller: poller)
        let fixture = ServerFixture(server: server, poller: poller)
        let clients = try texts.map { _ in try fixture.connect() }
        for (client, text) in zip(clients, texts) { try await client.send(text) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await server.run(handler) }
            do {
                try await body(fixture, clients)
            } catch {
                server.stop(grace: .zero)
                throw error
            }
            server.stop(grace: .zero)
            try await group.waitForAll()
        }
        #expect(server.connectionCount == 0)
    }
}

extension HTTPServerConfiguration {
    /// A configuration for clients that may stand still for as long as anything that tests wait for, as busy machines do.
    ///
    /// Tests that are about one of these times set it.
    static func patient(
        _ change: (inout HTTPServerConfiguration) -> Void = { _ in }
    ) -> HTTPServerConfiguration {
        let time = TestOptions.deadline * 2
        var configuration = HTTPServerConfiguration(
            headerTimeout: time, bodyTimeout: time, idleTimeout: time, writeTimeout: time)
        change(&configuration)
        return configuration
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

/// Answers with what was asked; what is asked of /held when the gate is opened.
func echo(heldAt gate: Gate) -> HTTPHandler {
    { request, body in
        let answer = await echo(request, body)
        if request.path == "/held" { await gate.pass() }
        return answer
    }
}
