import PowerSyncHTTP
import PowerSyncSystem

/// Writes one body piece by piece; the head leaves with the first piece.
final class ResponseWriter: HTTPBodyWriter {
    private struct State {
        var head: [UInt8]?
        var isWriting = false
        var isFinished = false
        /// The chunk that has begun and lacks bytes.
        var chunk: (count: Int, lacking: Int)?
        /// How many bytes a body lacks whose length was announced.
        var lacking: Int?

        /// Refuses what would break the body.
        func check(endsChunk: Bool) throws(HTTPServerError) {
            if isWriting { throw HTTPServerError(.misuse, "two tasks write to one body at a time") }
            if isFinished { throw HTTPServerError(.misuse, "the body has ended") }
            if endsChunk, chunk != nil { throw HTTPServerError(.misuse, "a chunk lacks bytes") }
        }

        /// Counts bytes of a body whose length was announced; after too many of them nothing can be written any more.
        mutating func count(_ count: Int, isLast: Bool) throws(HTTPServerError) {
            guard let lacking else { return }
            if count > lacking {
                isFinished = true
                throw HTTPServerError(.misuse, "the body gets more bytes than were announced")
            }
            self.lacking = lacking - count
            if isLast, lacking > count { throw HTTPServerError(.misuse, "the body lacks bytes") }
        }

        /// Returns what stands before and after bytes that are a chunk of their own or belong to the one begun.
        mutating func take(
            _ count: Int, isChunked: Bool
        ) throws(HTTPServerError) -> (before: [UInt8], after: [UInt8]) {
            if count == 0 { return ([], []) }
            let current = chunk ?? (count, count)
            guard count <= current.lacking else {
                throw HTTPServerError(.misuse, "a chunk gets more bytes than it was begun with")
            }
            let lacking = current.lacking - count
            chunk = lacking > 0 ? (current.count, lacking) : nil
            guard isChunked else { return ([], []) }
            return (
                current.lacking == current.count ? HTTPResponseEncoder.chunkLine(current.count) : [],
                lacking == 0 ? HTTPResponseEncoder.chunkEnd : []
            )
        }
    }

    private let socket: Socket
    private let isChunked: Bool
    private let state: Lock<State>

    init(_ socket: Socket, head: [UInt8], _ framing: HTTPResponseEncoder.Framing) {
        self.socket = socket
        isChunked = framing == .chunked
        let announced: Int? = if case .length(let length) = framing { length } else { nil }
        state = Lock(State(head: head, lacking: announced))
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

    func beginChunk(of count: Int) throws {
        try state.withLock { state throws(HTTPServerError) in
            try state.check(endsChunk: true)
            if count > 0 { state.chunk = (count, count) }
        }
    }

    private func send(_ bytes: [UInt8], isLast: Bool) async throws {
        let (start, end) = try state.withLock { state throws(HTTPServerError) in
            try state.check(endsChunk: isLast)
            let marks = try state.take(bytes.count, isChunked: isChunked)
            try state.count(bytes.count, isLast: isLast)
            defer { state.head = nil }
            state.isWriting = true
            state.isFinished = isLast
            let last = isChunked && isLast ? HTTPResponseEncoder.lastChunk : []
            return ((state.head ?? []) + marks.before, marks.after + last)
        }
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
