import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

/// Lines that leave together, and one that takes too long (DESIGN.md, 7).
@Suite(.patient())
struct LineOutboxTests {
    private static let start = 1000.0
    /// When the token expires.
    private static let expiry = start + 30

    /// Notes how many lines each call brings.
    private final class CountingSink: LineSink {
        private let calls = Lock<[[UInt8]]>([])

        /// The bytes of each call.
        var sent: [[UInt8]] { calls.withLock { $0 } }

        func send(_ lines: [EncodedLine]) async throws {
            let bytes = lines.flatMap { $0.taken() }
            calls.withLock { $0.append(bytes) }
        }

        func cut() {}
    }

    private let clock = ManualClock(start)
    private let lines = LineBudget(limit: 1 << 20)

    private func outbox(_ sink: any LineSink, _ alarm: Alarm) -> (LineOutbox, noted: Lock<Int>) {
        let noted = Lock(0)
        let outbox = LineOutbox(sink, counting: lines, alarm, expiry: Self.expiry) { line in
            noted.withLock { $0 += line.plainBytes }
        }
        return (outbox, noted)
    }

    private func line(_ seconds: Int) -> EncodedLine {
        LineEncoder(.raw, BlockCompressors()).encode(.tokenExpiresIn(seconds))
    }

    /// A line of so many bytes and a few.
    private func line(of bytes: Int) -> EncodedLine {
        let operation = Operation(
            id: 1, kind: .put, objectType: "t", objectID: "a", checksum: Checksum(1),
            data: String(repeating: "x", count: bytes))
        return LineEncoder(.raw, BlockCompressors()).encode(
            .data(
                DataLine(
                    bucket: "b", after: 0, nextAfter: 1, hasMore: false,
                    operations: OperationList([operation]))))
    }

    @Test func linesLeaveTogetherAndInOrder() async throws {
        let sink = CountingSink()
        let (outbox, noted) = outbox(sink, Alarm(clock.clock))
        try await outbox.flush()
        for seconds in 1...3 { try await outbox.add(line(seconds)) }
        #expect(sink.sent.isEmpty && noted.withLock { $0 } == 0)
        #expect(lines.usedBytes > 0)
        try await outbox.flush()
        let bytes = (1...3).flatMap { line($0).taken() }
        #expect(sink.sent == [bytes] && noted.withLock { $0 } == bytes.count)
        #expect(lines.usedBytes == 0)
        try await outbox.flush()
        #expect(sink.sent.count == 1)
    }

    @Test func manyBytesAreNotHeldBack() async throws {
        let sink = CountingSink()
        let (outbox, _) = outbox(sink, Alarm(clock.clock))
        try await outbox.add(line(of: 200 << 10))
        #expect(sink.sent.isEmpty)
        try await outbox.add(line(of: 60 << 10))
        #expect(sink.sent.count == 1 && lines.usedBytes == 0)
    }

    /// It is ended a minute behind the token, also if somebody has set the clock on the wall back before.
    @Test(arguments: [0.0, -500])
    func aLineThatIsUnderWayIsCutAMinuteBehindTheToken(setBack: Double) async throws {
        let alarm = Alarm(clock.clock)
        let ringing = Task { await alarm.run() }
        defer { ringing.cancel() }
        let sink = HaltingSink(taking: 0)
        clock.setWall(by: setBack)
        let end = Self.expiry - setBack + 60
        let sending = Task { [lines] in
            let encoder = LineEncoder(.raw, BlockCompressors())
            let outbox = LineOutbox(sink, counting: lines, alarm, expiry: Self.expiry) { _ in }
            try await outbox.add(encoder.encode(.tokenExpiresIn(1)))
            try await outbox.flush()
        }
        try await wait(for: "the line to be under way") { sink.isFull }
        try await clock.advance(to: end - 1, whenWaitedFor: end)
        #expect(!sink.isCut)
        try await clock.advance(to: end, whenWaitedFor: end)
        await #expect(throws: LinesWereCut.self) { try await wait(forEndOf: sending) }
        #expect(sink.isCut)
    }

    /// Only what is under way takes too long.
    @Test func whoRestsIsNotCut() async throws {
        let alarm = Alarm(clock.clock)
        let ringing = Task { await alarm.run() }
        defer { ringing.cancel() }
        let sink = HaltingSink()
        let (outbox, _) = outbox(sink, alarm)
        try await outbox.add(line(1))
        try await outbox.flush()
        let later = Lock(false)
        let timer = alarm.timer { later.withLock { $0 = true } }
        let end = Self.expiry + 1000
        timer.set(end)
        try await clock.advance(to: end, whenWaitedFor: end)
        try await wait(for: "the alarm to have rung") { later.withLock { $0 } }
        #expect(!sink.isCut)
        try await outbox.add(line(2))
        try await outbox.flush()
        #expect(sink.taken == [1, 2].flatMap { line($0).taken() })
        withExtendedLifetime(timer) {}
    }
}
