/// How far a body is that is handed over piece by piece, and until when it must have gone on; a value.
struct BodyCourse {
    /// A long body is judged in stretches of so many bytes, each by itself: else one that has been fast might rest for hours.
    static let stretch = 1 << 20

    /// What has come and was not handed over yet.
    var pending: [UInt8] = []
    /// Whether all of it has come.
    private(set) var isComplete = false
    /// How many bytes of it have come.
    private(set) var received = 0
    private let configuration: HTTPServerConfiguration
    private let length: Int?
    private var pace: BodyPace
    /// When the stretch began; later by the time that was not the body's own.
    private var start: ContinuousClock.Instant
    /// How many bytes of the stretch have come.
    private var inStretch = 0

    /// Begins with nothing.
    ///
    /// - Parameters:
    ///   - configuration: The times of all.
    ///   - length: The length that it announces, if it does.
    ///   - now: The time.
    init(_ configuration: HTTPServerConfiguration, length: Int?, now: ContinuousClock.Instant) {
        self.configuration = configuration
        self.length = length
        start = now
        pace = BodyPace(configuration, length: length.map { min($0, Self.stretch) })
    }

    /// How many bytes are still to come; nil where nobody knows.
    var left: Int? { length.map { $0 - received } }

    /// When the next byte is too late.
    var deadline: ContinuousClock.Instant { pace.deadline(start: start, received: inStretch) }

    /// Leaves time out that was somebody else's: for which it was held back, or nobody asked for more.
    mutating func leaveOut(_ time: Duration) { start += time }

    /// Notes what has come.
    ///
    /// - Parameters:
    ///   - bytes: The bytes; nothing of what came before is pending.
    ///   - isLast: Whether these are the last.
    ///   - now: The time.
    mutating func receive(_ bytes: [UInt8], isLast: Bool, now: ContinuousClock.Instant) {
        pending = bytes
        isComplete = isLast
        received += bytes.count
        inStretch += bytes.count
        guard inStretch >= Self.stretch else { return }
        (start, inStretch) = (now, 0)
        pace = BodyPace(configuration, length: left.map { min($0, Self.stretch) })
    }

    /// Hands over what has come.
    ///
    /// - Parameter limit: The most bytes.
    /// - Returns: The bytes; nil if none are there.
    mutating func handOver(_ limit: Int) -> [UInt8]? {
        if pending.isEmpty { return nil }
        var piece: [UInt8] = []
        if pending.count <= limit {
            swap(&piece, &pending)
        } else {
            piece = Array(pending.prefix(limit))
            pending.removeFirst(limit)
        }
        return piece
    }
}
