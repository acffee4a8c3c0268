import PowerSyncTestSupport
import Testing

@testable import PowerSync

/// How long requests are kept back (backend 1.9).
@Suite(.patient()) struct BackendPauseTests {
    @Test func aLongerPauseStays() async throws {
        let clock = SteppedClock()
        let pause = BackendPause(environment: clock.environment)
        pause.begin(.seconds(50))
        pause.begin(.seconds(1))
        let waiting = Task { try await pause.wait() }
        try await wait(for: "the longer one", read: { clock.waiting }, until: { $0 == [.seconds(50)] })
        pause.begin(.seconds(55))
        clock.advance(by: .seconds(50))
        try await wait(for: "the rest", read: { clock.waiting }, until: { $0 == [.seconds(5)] })
        clock.advance(by: .seconds(5))
        try await wait(forEndOf: waiting)
        #expect(clock.waiting.isEmpty)
    }
}
