import PowerSyncHTTP
import PowerSyncHTTPClient
import PowerSyncHTTPServer
import PowerSyncSystem

/// A server that records what the service sends to one client, and then sends these bytes to any other from memory.
///
/// With it a first sync is measured that no service holds up. The request is handed on as the client makes it, so that
/// the bytes are those of the format and the compression that it asks for. Behind them a client gets what is pushed.
final class CannedService: Sendable {
    private struct Recording {
        var fields: HTTPFields = [:]
        var bytes: [UInt8] = []
    }

    private struct State {
        var recording = Recording()
        var isReplaying = false
        /// The clients that get what is pushed.
        var listeners: [Int: AsyncStream<[UInt8]>.Continuation] = [:]
        var lastListener = 0
    }

    /// How many bytes are written at a time.
    private static let pieceSize = 64 << 10
    /// The largest request.
    private static let requestLimit = 1 << 20
    /// How many pushes may wait for a client; what comes then it does not get.
    private static let pushLimit = 64

    private let service: String
    private let server: HTTPServer
    private let client: HTTPClient
    private let state = Lock(State())

    /// Listens on a free port, and records at first.
    ///
    /// - Parameters:
    ///   - service: the URL of the service.
    ///   - poller: the poller of the program.
    /// - Throws: `HTTPServerError` or `HTTPClientError`.
    init(of service: String, poller: Poller) throws {
        self.service = service
        client = try HTTPClient()
        server = try HTTPServer(
            configuration: HTTPServerConfiguration(name: "the canned service"), poller: poller)
    }

    /// Where it listens.
    var url: String { "http://127.0.0.1:\(port)" }

    /// The port of that.
    var port: Int { server.port }

    /// How many bytes were recorded.
    var size: Int { state.withLock { $0.recording.bytes.count } }

    /// How many clients get what is pushed.
    var listenerCount: Int { state.withLock { $0.listeners.count } }

    /// Serves until the task is cancelled.
    func run() async {
        await server.run { [self] request, body in await answer(request, body) }
    }

    /// Answers from memory from now on.
    func replay() { state.withLock { $0.isReplaying = true } }

    /// Sends bytes to every client that has been answered from memory and is still there.
    func push(_ bytes: [UInt8]) {
        let listeners = state.withLock { Array($0.listeners.values) }
        for listener in listeners { listener.yield(bytes) }
    }

    private func answer(_ request: HTTPRequest, _ body: any HTTPRequestBody) async -> HTTPResponse {
        guard request.method == "POST", request.path == "/sync/stream" else {
            return HTTPResponse(status: 404)
        }
        if let recording = state.withLock({ $0.isReplaying ? $0.recording : nil }) {
            return replayed(recording)
        }
        do {
            return try await recorded(request, try await body.collect(limit: Self.requestLimit))
        } catch {
            // The client logs the status and tries again.
            return HTTPResponse(status: 502)
        }
    }

    private func recorded(_ request: HTTPRequest, _ body: [UInt8]) async throws -> HTTPResponse {
        var sent = request.fields
        // Those belong to the connection, which is another one.
        for name in ["host", "connection", "content-length", "transfer-encoding"] { sent.remove(name) }
        let stream = try await client.open(
            HTTPClientRequest(
                method: request.method, url: service + request.target, fields: sent, body: body))
        var fields = HTTPFields()
        for name in ["content-type", "content-encoding"] { fields[name] = stream.fields[name] }
        guard stream.status == 200 else { return HTTPResponse(status: stream.status, fields: fields) }
        state.withLock { $0.recording = Recording(fields: fields) }
        return HTTPResponse(
            status: 200, fields: fields,
            body: .stream { [self] writer in
                while let part = try await stream.next() {
                    state.withLock { $0.recording.bytes += part }
                    try await writer.write(part)
                }
            })
    }

    private func replayed(_ recording: Recording) -> HTTPResponse {
        HTTPResponse(
            status: 200, fields: recording.fields,
            body: .stream { [self] writer in
                // From here on nothing that is pushed is missed.
                let pushes = listen()
                let bytes = recording.bytes
                for start in stride(from: 0, to: bytes.count, by: Self.pieceSize) {
                    try await writer.write(Array(bytes[start..<min(start + Self.pieceSize, bytes.count)]))
                }
                // The stream stays open until the client leaves, as that of the service does.
                for await bytes in pushes { try await writer.write(bytes) }
                try Task.checkCancellation()
            })
    }

    /// Returns what is pushed from now on, until its reader is cancelled.
    private func listen() -> AsyncStream<[UInt8]> {
        let (pushes, listener) = AsyncStream.makeStream(
            of: [UInt8].self, bufferingPolicy: .bufferingOldest(Self.pushLimit))
        let number = state.withLock { state in
            state.lastListener += 1
            state.listeners[state.lastListener] = listener
            return state.lastListener
        }
        listener.onTermination = { [state] _ in
            state.withLock { $0.listeners[number] = nil }
        }
        return pushes
    }
}
