import PowerSyncHTTP
import PowerSyncSystem

/// The body of a request that has none.
struct NoBody: HTTPRequestBody {
    func collect(limit: Int) async throws(HTTPError) -> [UInt8] { [] }
}

/// The body of one request, still in the connection.
final class RequestBody: HTTPRequestBody {
    private enum State {
        case unread
        case reading
        /// The connection stands at the next request.
        case complete
        case failed
    }

    private let connection: Connection
    private let head: HTTPRequestHead
    private let state = Lock(State.unread)
    /// How many of the bytes count among those of all bodies.
    private let held = Lock(0)

    init(_ connection: Connection, _ head: HTTPRequestHead) {
        self.connection = connection
        self.head = head
    }

    deinit { release() }

    /// Says that what was read is no longer needed.
    func release() {
        let count = held.withLock { held in
            defer { held = 0 }
            return held
        }
        if count > 0 { connection.releaseBodyBytes(count) }
    }

    func collect(limit: Int) async throws(HTTPError) -> [UInt8] {
        try claim()
        var bytes: [UInt8] = []
        if case .length(let length) = head.framing { bytes.reserveCapacity(min(length, limit, 1 << 20)) }
        do throws(HTTPError) {
            // A body that is announced as too long is refused before the client is asked for it.
            var isComplete = try take(into: &bytes, limit: limit)
            if !isComplete, head.expectsContinue, bytes.isEmpty { try await connection.sendContinue() }
            let start = ContinuousClock.now
            while !isComplete {
                try await connection.readBody(start: start, received: bytes.count)
                isComplete = try take(into: &bytes, limit: limit)
            }
        } catch {
            state.withLock { $0 = .failed }
            throw error
        }
        state.withLock { $0 = .complete }
        return bytes
    }

    private func take(into bytes: inout [UInt8], limit: Int) throws(HTTPError) -> Bool {
        let isComplete = try connection.takeBody(into: &bytes, limit: limit)
        let count = bytes.count
        try held.withLock { held throws(HTTPError) in
            try connection.holdBodyBytes(count - held, held: held)
            held = count
        }
        return isComplete
    }

    /// Whether the connection can be used again once the body has been drained.
    ///
    /// Not after a failure, not while somebody still reads, not when the client still waits to be asked for it,
    /// and not when it is too long to be read for nothing.
    var canBeDrained: Bool {
        switch state.withLock({ $0 }) {
        case .complete: return true
        case .reading, .failed: return false
        case .unread:
            if head.expectsContinue { return false }
            if case .length(let length) = head.framing { return length <= Connection.drainLimit }
            return true
        }
    }

    /// Reads and drops what nobody has read; false when that does not work out.
    func drain() async -> Bool {
        if case .complete = state.withLock({ $0 }) { return true }
        guard canBeDrained else { return false }
        do throws(HTTPError) {
            _ = try await collect(limit: Connection.drainLimit)
            return true
        } catch {
            // The connection is closed, which is all that can be done about it.
            return false
        }
    }

    private func claim() throws(HTTPError) {
        try state.withLock { state throws(HTTPError) in
            guard case .unread = state else {
                throw HTTPError(.alreadyRead, "the body of the request was asked for before")
            }
            state = .reading
        }
    }
}
