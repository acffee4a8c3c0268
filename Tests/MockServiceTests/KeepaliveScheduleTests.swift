import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Service 3.9.
struct KeepaliveScheduleTests {
    /// A moment at which nobody has set the clock on the wall, or by so many seconds.
    private func moment(_ seconds: Double, wallAhead: Double = 0) -> ServiceClock.Moment {
        ServiceClock.Moment(wall: 1000 + seconds + wallAhead, monotonic: seconds)
    }

    /// The seconds at which something is sent, and what; the clock on the wall is set once.
    private func events(
        tokenFor seconds: Double, random: Double, until end: Double, setBy ahead: Double = 0,
        at change: Double = 0
    ) -> [String] {
        var schedule = KeepaliveSchedule(expiry: 1000 + seconds, at: moment(0), random: random)
        var events: [String] = []
        var now = moment(0)
        while now.monotonic < end, !schedule.isExpired(at: now) {
            let next = max(now.monotonic, schedule.next(at: now))
            now = moment(next, wallAhead: next > change ? ahead : 0)
            if let left = schedule.due(at: now, random: random) { events.append("\(next): \(left)") }
        }
        return events
    }

    /// Whatever a stream waits for, it is neither silent nor goes on behind the end of its token.
    @Test func whatIsWaitedForHoldsUpNeitherKeepalivesNorTheEnd() async throws {
        let clock = ManualClock(1000)
        let gates = [Gate(), Gate()]
        let said = Lock<[Int]>([])
        let waiting = Task {
            var schedule = KeepaliveSchedule(expiry: 1090, at: clock.clock.moment, random: 0.5)
            var values: [Int?] = []
            for (number, gate) in gates.enumerated() {
                let value = try await schedule.wait(clock.clock) {
                    await gate.pass()
                    return number
                } saying: { seconds in
                    said.withLock { $0.append(seconds) }
                }
                values.append(value)
            }
            return values
        }
        try await clock.advance(to: 1020, whenWaitedFor: 1020)
        try await wait(for: "a keepalive") { said.withLock { $0 } == [70] }
        try await clock.advance(to: 1040, whenWaitedFor: 1040)
        try await wait(for: "another") { said.withLock { $0 } == [70, 50] }
        gates[0].open()
        try await wait(for: "the next wait") { gates[1].arrivals == 1 }
        try await clock.advance(to: 1070, whenWaitedFor: 1070)
        try await wait(for: "the warning") { said.withLock { $0 }.last == 20 }
        try await clock.advance(to: 1090, whenWaitedFor: 1090)
        try await wait(for: "the end") { said.withLock { $0 }.last == 0 }
        gates[1].open()
        #expect(try await waiting.value == [0, nil])
    }

    @Test func saysEveryTwentySecondsHowLongTheTokenIsValid() {
        #expect(events(tokenFor: 3600, random: 0.5, until: 60) == ["20.0: 3580", "40.0: 3560", "60.0: 3540"])
        #expect(events(tokenFor: 3600, random: 0, until: 36) == ["18.0: 3582", "36.0: 3564"])
        #expect(events(tokenFor: 3600, random: 1, until: 22) == ["22.0: 3578"])
    }

    @Test func warnsTwentySecondsBeforeTheEndAndThenEnds() {
        #expect(events(tokenFor: 42, random: 0.5, until: 100) == ["22.0: 20", "42.0: 0"])
        #expect(events(tokenFor: 25, random: 0.5, until: 100) == ["5.0: 20", "25.0: 0"])
    }

    @Test func doesNotWarnAStreamOpenedLater() {
        #expect(events(tokenFor: 19.5, random: 0.5, until: 100) == ["19.5: 0"])
    }

    @Test func isNeverSilentForThirtySeconds() {
        for seconds in stride(from: 1.0, through: 300, by: 0.5) {
            for random in [0, 0.3, 0.7, 1.0] {
                var schedule = KeepaliveSchedule(expiry: 1000 + seconds, at: moment(0), random: random)
                var now = moment(0)
                while !schedule.isExpired(at: now) {
                    let next = schedule.next(at: now)
                    #expect(next - now.monotonic < 28, "token of \(seconds) s, random \(random)")
                    now = moment(next)
                    #expect(schedule.due(at: now, random: random) != nil)
                }
            }
        }
    }

    @Test func aTokenWithoutAnEndInSightIsNamedTheLargestNumber() {
        for expiry in [9.3e18, 1e300] {
            var schedule = KeepaliveSchedule(expiry: expiry, at: moment(0), random: 0.5)
            #expect(schedule.due(at: moment(20), random: 0.5) == .max)
        }
    }

    @Test func rightlySaysNothingTooEarlyAndZeroAtTheEnd() {
        var schedule = KeepaliveSchedule(expiry: 1100, at: moment(0), random: 0.5)
        #expect(schedule.due(at: moment(19.9), random: 0.5) == nil)
        #expect(schedule.due(at: moment(105), random: 0.5) == 0)
        #expect(!schedule.isExpired(at: moment(99.9)) && schedule.isExpired(at: moment(100)))
    }

    @Test func aClockThatIsSetNeitherSilencesNorFloods() {
        func changed(by seconds: Double) -> [String] {
            events(tokenFor: 3600, random: 0.5, until: 60, setBy: seconds, at: 30)
        }
        #expect(changed(by: -600) == ["20.0: 3580", "40.0: 4160", "60.0: 4140"])
        #expect(changed(by: 600) == ["20.0: 3580", "40.0: 2960", "60.0: 2940"])
        #expect(changed(by: 4000) == ["20.0: 3580", "40.0: 0"], "the end of a token is a time of the wall")
    }

    @Test func aClockThatIsSetBackBehindTheWarningBringsItAgain() {
        #expect(
            events(tokenFor: 42, random: 0.5, until: 100, setBy: -40, at: 30) == [
                "22.0: 20", "42.0: 40", "62.0: 20", "82.0: 0",
            ])
    }
}
