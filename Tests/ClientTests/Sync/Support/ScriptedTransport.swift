import PowerSync
import PowerSyncSystem
import PowerSyncWire

/// A service that does what the test says, and remembers what it was asked.
final class ScriptedTransport: SyncTransport {
    private struct State {
        var requests: [SyncHTTPRequest] = []
        var streams: [ScriptedStream] = []
        var statuses: [Int] = []
        var answers: [SyncHTTPResponse] = []
        var types: [String] = []
        var contentType = "application/x-ndjson; charset=utf-8"
    }

    private let state = Lock(State())
    private let whileSending: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - statuses: what connections are answered, in turn; 200 when used up.
    ///   - types: what the bodies of connections are called, in turn; NDJSON when used up.
    ///   - answers: what other requests are answered, in turn; the last one repeats. Without any a checkpoint request is
    ///     answered with its own id, as a service does that knows no later one.
    ///   - whileSending: runs while such a request is on its way.
    init(
        statuses: [Int] = [], types: [String] = [], answers: [SyncHTTPResponse] = [],
        whileSending: @escaping @Sendable () async throws -> Void = {}
    ) {
        self.whileSending = whileSending
        state.withLock { state in
            state.statuses = statuses
            state.types = types
            state.answers = answers
        }
    }

    var requests: [SyncHTTPRequest] { state.withLock { $0.requests } }
    var streams: [ScriptedStream] { state.withLock { $0.streams } }

    func setContentType(_ type: String) { state.withLock { $0.contentType = type } }

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        state.withLock { state in
            state.requests.append(request)
            let status = state.statuses.isEmpty ? 200 : state.statuses.removeFirst()
            let type = state.types.isEmpty ? state.contentType : state.types.removeFirst()
            let stream = ScriptedStream(
                status: status,
                headers: [SyncHTTPHeader("Content-Type", status == 200 ? type : "application/json")])
            state.streams.append(stream)
            return stream
        }
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        try await whileSending()
        return try state.withLock { state in
            state.requests.append(request)
            guard let answer = state.answers.first else {
                guard let id = try request.checkpointRequestID else {
                    throw ScriptError("no answer is scripted")
                }
                return .checkpointRequest(max(1, id))
            }
            if state.answers.count > 1 { state.answers.removeFirst() }
            return answer
        }
    }

    /// The body of the request of a connection.
    func body(_ index: Int) throws -> JSON {
        let streams = requests.filter { $0.url.hasSuffix("/sync/stream") }
        return try JSON.parse(streams[index].body ?? [])
    }
}

extension SyncHTTPResponse {
    /// The answer with a write checkpoint.
    static func writeCheckpoint(_ id: Int) -> SyncHTTPResponse {
        SyncHTTPResponse(status: 200, body: Array("{\"data\":{\"write_checkpoint\":\"\(id)\"}}".utf8))
    }

    /// The answer to a checkpoint request.
    static func checkpointRequest(_ id: Int) -> SyncHTTPResponse {
        SyncHTTPResponse(status: 200, body: Array("{\"data\":{\"checkpoint_request_id\":\"\(id)\"}}".utf8))
    }

    /// An answer with that status and no body.
    static func status(_ status: Int) -> SyncHTTPResponse { SyncHTTPResponse(status: status, body: []) }
}

/// One response, written by the test.
final class ScriptedStream: SyncResponseStream {
    private struct State {
        var pieces: [Result<[UInt8]?, any Error>] = []
        var asked = 0
        var given = 0
        var isCancelled = false
    }

    let status: Int
    let headers: [SyncHTTPHeader]
    private let state = Lock(State())
    private let arrived = AsyncFlag()

    init(status: Int, headers: [SyncHTTPHeader]) {
        self.status = status
        self.headers = headers
    }

    /// How often the client has asked for bytes.
    var asked: Int { state.withLock { $0.asked } }
    /// Pieces that the client has not taken.
    var left: Int { state.withLock { $0.pieces.count } }
    /// Whether all was taken and the client asks for more.
    var isIdle: Bool { state.withLock { $0.pieces.isEmpty && $0.asked > $0.given } }
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func send(_ lines: String...) { push(.success(Array((lines.joined(separator: "\n") + "\n").utf8))) }
    func sendRaw(_ text: String) { push(.success(Array(text.utf8))) }
    func sendRaw(bytes: [UInt8]) { push(.success(bytes)) }
    func end() { push(.success(nil)) }
    func cut() { push(.failure(ScriptError("connection reset"))) }
    /// What the transport does with a connection that is silent for too long.
    func fallSilent() { push(.failure(SyncError(.silentConnection, "nothing came"))) }

    private func push(_ piece: Result<[UInt8]?, any Error>) {
        state.withLock { $0.pieces.append(piece) }
        arrived.raise()
    }

    func next() async throws -> [UInt8]? {
        state.withLock { $0.asked += 1 }
        while true {
            let piece = state.withLock { state in
                guard !state.pieces.isEmpty else { return Result<[UInt8]?, any Error>?.none }
                state.given += 1
                return state.pieces.removeFirst()
            }
            if let piece { return try piece.get() }
            try await arrived.wait()
        }
    }

    func cancel() { state.withLock { $0.isCancelled = true } }
}

struct ScriptError: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension SyncHTTPRequest {
    /// The id of a checkpoint request; nil for anything else.
    fileprivate var checkpointRequestID: Int? {
        get throws {
            guard url.hasSuffix("/sync/checkpoint-request") else { return nil }
            return try JSON.parse(body ?? [])["checkpoint_request_id"]?.stringValue.flatMap { Int($0) }
        }
    }
}
