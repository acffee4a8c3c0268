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

        /// Returns what is sent for bytes that are a chunk of their own or belong to the one begun.
        mutating func framed(_ parts: [[UInt8]], isChunked: Bool) throws(HTTPServerError) -> [[UInt8]] {
            let count = parts.reduce(0) { $0 + $1.count }
            if count == 0 { return [] }
            let current = chunk ?? (count, count)
            guard count <= current.lacking else {
                throw HTTPServerError(.misuse, "a chunk gets more bytes than it was begun with")
            }
            let lacking = current.lacking - count
            chunk = lacking > 0 ? (current.count, lacking) : nil
            try self.count(count, isLast: false)
            guard isChunked else { return parts }
            var framed: [[UInt8]] = []
            framed.reserveCapacity(parts.count + 2)
            if current.lacking == current.count {
                framed.append(HTTPResponseEncoder.chunkLine(current.count))
            }
            framed += parts
            if lacking == 0 { framed.append(HTTPResponseEncoder.chunkEnd) }
            return framed
        }

        /// Returns what is sent for chunks, or for the end of the body behind them.
        mutating func take(
            _ chunks: [[[UInt8]]], isLast: Bool, isChunked: Bool
        ) throws(HTTPServerError) -> [[UInt8]] {
            try check(endsChunk: isLast)
            var parts: [[UInt8]] = []
            if let head { parts.append(head) }
            for chunk in chunks { parts += try framed(chunk, isChunked: isChunked) }
            if isLast {
                try count(0, isLast: true)
                if isChunked { parts.append(HTTPResponseEncoder.lastChunk) }
            }
            head = nil
            isWriting = true
            isFinished = isLast
            return parts
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

    func write(_ bytes: [UInt8]) async throws { try await write(chunks: [[bytes]]) }

    func write(chunks: [[[UInt8]]]) async throws {
        try Task.checkCancellation()
        try await send(chunks, isLast: false)
    }

    func beginChunk(of count: Int) throws {
        try state.withLock { state throws(HTTPServerError) in
            try state.check(endsChunk: true)
            if count > 0 { state.chunk = (count, count) }
        }
    }

    /// Ends the body.
    func finish() async throws { try await send([], isLast: true) }

    func cut() {
        state.withLock { $0.isFinished = true }
        // The task that writes is cancelled, as it is when the client has left.
        socket.channel.giveUp()
    }

    /// Refuses whatever a task that has outlived the body still writes; says whether anything was sent.
    func abandon() -> Bool {
        state.withLock { state in
            state.isFinished = true
            return state.head == nil
        }
    }

    private func send(_ chunks: [[[UInt8]]], isLast: Bool) async throws {
        let parts = try state.withLock { state throws(HTTPServerError) -> [[UInt8]] in
            var next = state
            do throws(HTTPServerError) {
                let parts = try next.take(chunks, isLast: isLast, isChunked: isChunked)
                state = next
                return parts
            } catch {
                // None of them has been sent. But a body that got too many bytes has ended.
                state.isFinished = next.isFinished
                throw error
            }
        }
        do {
            try await socket.send(parts)
        } catch {
            // Part of a chunk may have left: nothing may follow it.
            state.withLock { ($0.isWriting, $0.isFinished) = (false, true) }
            throw error
        }
        state.withLock { $0.isWriting = false }
    }
}
