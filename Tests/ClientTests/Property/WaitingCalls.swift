import PowerSync
import PowerSyncSystem

/// Calls into what is not there, each of which waits until the session answers it.
final class WaitingCalls<Answer: Sendable>: Sendable {
    /// A call; `request` is nil where it says nothing.
    struct Call: Sendable {
        let id: Int
        let request: SyncHTTPRequest?
    }

    private struct State {
        var lastID = 0
        var waiting: [(call: Call, continuation: Resumption<Answer, any Error>)] = []
    }

    private let state = Lock(State())

    /// The calls that wait, in the order in which they came.
    var all: [Call] { state.withLock { $0.waiting.map(\.call) } }

    /// How many there ever were.
    var count: Int { state.withLock { $0.lastID } }

    /// Waits for the answer of the session.
    func answer(to request: SyncHTTPRequest? = nil) async throws -> Answer {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        return try await withTaskCancellationHandler {
            try await withThrowingResumption {
                (continuation: Resumption<Answer, any Error>) in
                let isCancelled = state.withLock { state in
                    if Task.isCancelled { return true }
                    state.waiting.append((Call(id: id, request: request), continuation))
                    return false
                }
                if isCancelled { continuation.resume(throwing: CancellationError()) }
            }
        } onCancel: {
            take(id)?.resume(throwing: CancellationError())
        }
    }

    /// Answers a call.
    func answer(_ call: Call, _ result: Result<Answer, any Error>) { take(call.id)?.resume(with: result) }

    private func take(_ id: Int) -> Resumption<Answer, any Error>? {
        state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.call.id == id }) else { return nil }
            return state.waiting.remove(at: index).continuation
        }
    }
}

/// A service every request to which waits for the session.
final class WaitingTransport: SyncTransport {
    /// Streams that are to be opened.
    let opens = WaitingCalls<ScriptedStream>()
    /// Other requests.
    let sends = WaitingCalls<SyncHTTPResponse>()

    func open(_ request: SyncHTTPRequest) async throws -> any SyncResponseStream {
        try await opens.answer(to: request)
    }

    func send(_ request: SyncHTTPRequest) async throws -> SyncHTTPResponse {
        try await sends.answer(to: request)
    }
}
