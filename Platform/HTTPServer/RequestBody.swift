import PowerSyncHTTP
import PowerSyncSystem

/// The body of a request that has none.
struct NoBody: HTTPRequestBody {
    var length: Int64? { 0 }

    func next(limit: Int) async throws(HTTPError) -> [UInt8]? { nil }

    func collect(limit: Int) async throws(HTTPError) -> [UInt8] { [] }
}

/// The body of one request, still in the connection.
final class RequestBody: HTTPRequestBody {
    /// How far it is.
    enum State {
        case unread
        case reading
        /// A piece of it was handed over, at that moment.
        case between(BodyCourse, handedOver: ContinuousClock.Instant)
        /// The connection stands at the next request.
        case complete
        case failed
    }

    /// The bytes of each body for which there is always room: connections are bounded, and a head may be as long.
    static let freeBytes = 16 << 10
    /// The bytes for which room is taken at a time.
    static let step = 64 << 10
    /// The memory that a body has at once when it grows beyond what is free, so that it does not move as often.
    private static let firstCapacity = 1 << 20
    /// What is read beyond that, of a body in chunks: their marks, also those behind the last byte.
    private static let marks = 4 << 10

    let connection: Connection
    let head: HTTPRequestHead
    let state = Lock(State.unread)
    /// What the body is called where room is given, once it has taken some.
    private let place = Lock<UInt64?>(nil)

    init(_ connection: Connection, _ head: HTTPRequestHead) {
        self.connection = connection
        self.head = head
    }

    deinit { release() }

    var length: Int64? { announced.map { Int64($0) } }

    /// The length that its head announces.
    var announced: Int? { if case .length(let length) = head.framing { length } else { nil } }

    /// Whether room is taken for it.
    var hasRoom: Bool { place.withLock { $0 != nil } }

    /// Says that what was read is no longer needed.
    func release() {
        if let place = place.withLock({ $0.take() }) { connection.server.bodyRoom.remove(place) }
    }

    func collect(limit: Int) async throws(HTTPError) -> [UInt8] {
        var patience = connection.configuration.bodyWait
        return try await collect(limit: limit, patience: &patience)
    }

    func collect(limit: Int, patience: inout Duration) async throws(HTTPError) -> [UInt8] {
        try claim()
        var bytes: [UInt8] = []
        do throws(HTTPError) {
            // A body that is announced as too long is refused before the client is asked for it.
            var isComplete = try connection.takeBody(into: &bytes, limit: limit)
            if !isComplete, head.expectsContinue, bytes.isEmpty { try await connection.sendContinue() }
            var start = ContinuousClock.now
            let pace = BodyPace(connection.configuration, length: announced)
            let most = min(announced ?? limit, limit)
            var allowed = Self.freeBytes
            while !isComplete {
                if bytes.count >= allowed, allowed < most {
                    let step = min(Self.step, most - allowed)
                    let before = ContinuousClock.now
                    try await takeRoom(step, until: before + patience)
                    allowed += step
                    let waited = before.duration(to: .now)
                    patience -= waited
                    // The time for which it was held back is not its own.
                    start += waited
                    if let announced { bytes.reserveCapacity(min(announced, limit, Self.firstCapacity)) }
                }
                let marks = announced == nil ? Self.marks : 0
                try await connection.readBody(
                    min(Self.step, allowed - bytes.count + marks),
                    until: pace.deadline(start: start, received: bytes.count))
                isComplete = try connection.takeBody(into: &bytes, limit: limit)
            }
            giveBack(allowed - max(bytes.count, Self.freeBytes))
        } catch {
            state.withLock { $0 = .failed }
            throw error
        }
        state.withLock { $0 = .complete }
        return bytes
    }

    /// Waits for room for more of it.
    func takeRoom(_ count: Int, until deadline: ContinuousClock.Instant) async throws(HTTPError) {
        let room = connection.server.bodyRoom
        let name = place.withLock({ $0 }) ?? room.add()
        place.withLock { $0 = name }
        try await connection.takeRoom(count, for: name, until: deadline)
    }

    /// Gives back what a body of unknown length did not need.
    private func giveBack(_ count: Int) {
        guard count > 0, let place = place.withLock({ $0 }) else { return }
        connection.server.bodyRoom.giveBack(count, of: place)
    }

    /// Whether the connection can be used again once the body has been drained.
    ///
    /// Not after a failure, not while somebody still reads, not when the client still waits to be asked for it,
    /// and not when it is too long to be read for nothing.
    var canBeDrained: Bool {
        switch state.withLock({ $0 }) {
        case .complete: true
        case .reading, .failed: false
        case .between(let course, _): course.isComplete || course.left ?? 0 <= Connection.drainLimit
        case .unread: !head.expectsContinue && announced ?? 0 <= Connection.drainLimit
        }
    }

    /// Reads and drops what nobody has read; false when that does not work out.
    ///
    /// What is dropped takes no room and waits for none.
    func drain() async -> Bool {
        if case .complete = state.withLock({ $0 }) { return true }
        guard canBeDrained else { return false }
        do throws(HTTPError) {
            let before = try claimRest()?.course.received ?? 0
            let pace = BodyPace(connection.configuration, length: announced.map { $0 - before })
            let start = ContinuousClock.now
            var received = 0
            var dropped: [UInt8] = []
            while try !connection.takeBody(into: &dropped, limit: before + Connection.drainLimit) {
                received += dropped.count
                // A chunk that has begun may be of any length.
                guard received <= Connection.drainLimit else { return false }
                dropped.removeAll(keepingCapacity: true)
                try await connection.readBody(
                    Self.freeBytes, until: pace.deadline(start: start, received: received))
            }
        } catch {
            // The connection is closed, which is all that can be done about it.
            return false
        }
        return true
    }

    private func claim() throws(HTTPError) {
        try state.withLock { state throws(HTTPError) in
            guard case .unread = state else {
                throw HTTPError(.alreadyRead, "the body of the request was asked for before")
            }
            state = .reading
        }
    }

    /// Takes what was not handed over yet.
    ///
    /// - Returns: How far it is, and since when nobody has asked; nil if nobody has asked at all.
    /// - Throws: `alreadyRead`.
    func claimRest() throws(HTTPError) -> (course: BodyCourse, handedOver: ContinuousClock.Instant)? {
        let former = state.withLock { state in
            let former = state
            switch former {
            case .unread, .between: state = .reading
            case .reading, .complete, .failed: break
            }
            return former
        }
        switch former {
        case .unread: return nil
        case .between(let course, let handedOver): return (course, handedOver)
        case .reading, .complete, .failed:
            throw HTTPError(.alreadyRead, "the body of the request was asked for before")
        }
    }
}
