import PowerSyncMockService
import Testing

/// Service 3.9.
struct KeepaliveScheduleTests {
    /// The seconds at which something is sent, and what.
    private func events(tokenFor seconds: Double, random: Double, until end: Double) -> [String] {
        var schedule = KeepaliveSchedule(expiry: 1000 + seconds, now: 1000, random: random)
        var events: [String] = []
        var now = 1000.0
        while now < 1000 + end, !schedule.isExpired(at: now) {
            now = max(now, schedule.next)
            if let left = schedule.due(at: now, random: random) { events.append("\(now - 1000): \(left)") }
        }
        return events
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
                var schedule = KeepaliveSchedule(expiry: seconds, now: 0, random: random)
                var now = 0.0
                while !schedule.isExpired(at: now) {
                    #expect(schedule.next - now < 28, "token of \(seconds) s, random \(random)")
                    now = schedule.next
                    #expect(schedule.due(at: now, random: random) != nil)
                }
            }
        }
    }

    @Test func aTokenWithoutAnEndInSightIsNamedTheLargestNumber() {
        for expiry in [9.3e18, 1e300] {
            var schedule = KeepaliveSchedule(expiry: expiry, now: 0, random: 0.5)
            #expect(schedule.due(at: 20, random: 0.5) == .max)
        }
    }

    @Test func rightlySaysNothingTooEarlyAndZeroAtTheEnd() {
        var schedule = KeepaliveSchedule(expiry: 100, now: 0, random: 0.5)
        #expect(schedule.due(at: 19.9, random: 0.5) == nil)
        #expect(schedule.due(at: 105, random: 0.5) == 0)
        #expect(!schedule.isExpired(at: 99.99) && schedule.isExpired(at: 100))
    }
}
