import PowerSyncHTTP
import PowerSyncSystem

/// Writes one streamed body; the head leaves with the first piece.
final class ResponseWriter: HTTPBodyWriter {
    private struct State {
        var head: [UInt8]?
        var isWriting = false
        var isFinished = false
    }

    private let socket: Socket
    private let isChunked: Bool
    private let state: Lock<State>

    init(_ socket: Socket, head: [UInt8], isChunked: Bool) {
        self.socket = socket
        self.isChunked = isChunked
        state = Lock(State(head: head))
    }

    func write(_ bytes: [UInt8]) async throws {
        try Task.checkCancellation()
        try await send(bytes, isLast: false)
    }

    /// Ends the body.
    func finish() async throws { try await send([], isLast: true) }

    /// Refuses whatever a task that has outlived the body still writes; says whether anything was sent.
    func abandon() -> Bool {
        state.withLock { state in
            state.isFinished = true
            return state.head == nil
        }
    }

    private func send(_ bytes: [UInt8], isLast: Bool) async throws {
        var start = try state.withLock { state throws(HTTPServerError) in
            if state.isWriting { throw HTTPServerError(.misuse, "two tasks write to one body at a time") }
            if state.isFinished { throw HTTPServerError(.misuse, "the body has ended") }
            defer { state.head = nil }
            state.isWriting = true
            state.isFinished = isLast
            return state.head ?? []
        }
        var end: [UInt8] = []
        if isChunked, !bytes.isEmpty {
            start += HTTPResponseEncoder.chunkLine(bytes.count)
            end = HTTPResponseEncoder.chunkEnd
        }
        if isChunked, isLast { end += HTTPResponseEncoder.lastChunk }
        do {
            try await socket.send(start, bytes, end)
        } catch {
            // Part of a chunk may have left: nothing may follow it.
            state.withLock { ($0.isWriting, $0.isFinished) = (false, true) }
            throw error
        }
        state.withLock { $0.isWriting = false }
    }
}
