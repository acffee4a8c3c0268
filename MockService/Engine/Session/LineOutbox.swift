/// Lines of one stream that were made and are yet to be sent: short ones leave together (DESIGN.md, 7); one owner, not
/// shared.
///
/// A line that is under way is ended a while behind the token, since nothing can be said of that in its midst.
final class LineOutbox {
    /// From how many bytes on lines are sent.
    static let most = 256 << 10
    /// The seconds that a line which is under way may take behind the end of the token: as long the token is accepted
    /// (service 2.2).
    private static let tolerance = 60.0

    private let sink: any LineSink
    private let lines: LineBudget
    private let clock: ServiceClock
    private let expiry: Double
    private let note: (EncodedLine) -> Void
    private let cutter: Alarm.Timer
    private var waiting: [EncodedLine] = []
    private var bytes = 0

    /// Makes an outbox of no lines.
    ///
    /// - Parameters:
    ///   - sink: Takes the lines; suspends while the client does not read.
    ///   - lines: Counts them.
    ///   - alarm: Knows when a line takes too long.
    ///   - expiry: When the token expires, in seconds since 1970.
    ///   - note: Is told of each line that was sent.
    init(
        _ sink: any LineSink, counting lines: LineBudget, _ alarm: Alarm, expiry: Double,
        note: @escaping (EncodedLine) -> Void
    ) {
        self.sink = sink
        self.lines = lines
        clock = alarm.clock
        self.expiry = expiry
        self.note = note
        cutter = alarm.timer { sink.cut() }
    }

    /// Adds a line, behind all that were added before; many bytes are sent at once.
    ///
    /// - Parameter line: The line.
    /// - Throws: What the sink throws.
    func add(_ line: EncodedLine) async throws {
        // What a slow client has taken of it makes room for others.
        line.charge(to: lines.take(0))
        waiting.append(line)
        bytes += line.count
        if bytes >= Self.most { try await flush() }
    }

    /// Sends what there is; returns when it was taken.
    ///
    /// - Throws: What the sink throws: `LinesWereCut` if that took too long.
    func flush() async throws {
        if waiting.isEmpty { return }
        let sent = waiting
        waiting = []
        bytes = 0
        // Nothing can be said of the token in the midst of a line, which a slow client may take hours for (service 3.9).
        let now = clock.moment
        cutter.set(now.monotonic + max(0, expiry - now.wall) + Self.tolerance)
        defer { cutter.set(.infinity) }
        try await sink.send(sent)
        for line in sent { note(line) }
    }
}

@available(*, unavailable)
extension LineOutbox: Sendable {}
