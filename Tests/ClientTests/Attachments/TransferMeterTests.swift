import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// How far a transfer is: at first, at most ten times a second, and at the end.
@Suite(.patient()) struct TransferMeterTests {
    private let clock = SteppedClock()
    private let told = Lock<[Int64]>([])

    private func meter(_ total: Int64 = 100) -> TransferMeter {
        TransferMeter(total: total, uptime: clock.environment.uptime) { [told] bytes in
            #expect(bytes.total == total)
            told.withLock { $0.append(bytes.done) }
        }
    }

    private var reports: [Int64] { told.withLock { $0 } }

    @Test func tellsTenTimesASecondAtMost() {
        let meter = meter()
        meter.advance(to: 0)
        for done in 1...25 {
            clock.advance(by: .milliseconds(20))
            meter.advance(to: Int64(done))
        }
        #expect(reports == [0, 5, 10, 15, 20, 25])
        meter.finish()
        #expect(reports.last == 100)
    }

    @Test func tellsTheEndOnceAndNothingAfterIt() {
        let meter = meter()
        meter.advance(to: 100)
        meter.finish()
        meter.advance(to: 30)
        clock.advance(by: .seconds(1))
        meter.advance(to: 40)
        meter.finish()
        #expect(reports == [100])
    }

    @Test func tellsOfATransferThatBeginsAnew() {
        let meter = meter()
        meter.advance(to: 50)
        clock.advance(by: .milliseconds(100))
        meter.advance(to: 0)
        meter.finish()
        #expect(reports == [50, 0, 100])
    }

    @Test func anEmptyFileHasAnEnd() {
        let meter = meter(0)
        meter.finish()
        #expect(reports == [0])
    }

    /// The end is told by another thread than what came before, which has not been heard to its end.
    @Test func theLastWordIsTheEnd() async throws {
        let gate = BlockingGate()
        let told = told
        let meter = TransferMeter(total: 100, uptime: clock.environment.uptime) { bytes in
            if bytes.done == 1 { gate.wait() }
            told.withLock { $0.append(bytes.done) }
        }
        try DetachedThread.start { meter.advance(to: 1) }
        try await wait(for: "the first report") { gate.arrivals == 1 }
        meter.finish()
        #expect(reports == [], "the other thread tells it")
        gate.open()
        try await wait(for: "the last report", read: { reports }, until: { $0 == [1, 100] })
    }
}
