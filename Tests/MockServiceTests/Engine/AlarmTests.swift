import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct AlarmTests {
    private let clock = ManualClock(100)

    /// Runs a test with an alarm that rings, and what has rung.
    private func withAlarm(
        _ body: (Alarm, _ rung: @escaping @Sendable () -> [String], (String) -> Alarm.Timer) async throws
            -> Void
    ) async throws {
        let alarm = Alarm(clock.clock)
        let rung = Lock<[String]>([])
        let running = Task { await alarm.run() }
        defer { running.cancel() }
        try await body(alarm, { rung.withLock { $0 } }) { name in
            alarm.timer { rung.withLock { $0.append(name) } }
        }
    }

    @Test func oneSleeperWakesAllWhoseTimeHasCome() async throws {
        try await withAlarm { _, rung, timer in
            let timers = (0..<100).map { number in timer("\(number)") }
            defer { withExtendedLifetime(timers) {} }
            for (number, timer) in timers.enumerated() { timer.set(110 + Double(number)) }
            try await clock.waitForSleeper(until: 110)
            #expect(clock.sleeperCount == 1)
            clock.set(109)
            clock.set(112)
            try await wait(for: "three to ring") { rung().count == 3 }
            #expect(Set(rung()) == ["0", "1", "2"])
            try await clock.waitForSleeper(until: 113)
            #expect(clock.sleeperCount == 1)
            clock.set(300)
            try await wait(for: "all to ring") { rung().count == 100 }
            #expect(Set(rung()).count == 100)
        }
    }

    @Test func anEarlierTimeIsNotMissedForALaterOne() async throws {
        try await withAlarm { _, rung, timer in
            let (late, early) = (timer("late"), timer("early"))
            defer { withExtendedLifetime((late, early)) {} }
            late.set(200)
            try await clock.waitForSleeper(until: 200)
            early.set(120)
            try await clock.advance(to: 120, whenWaitedFor: 120)
            try await wait(for: "the early one") { rung() == ["early"] }
            try await clock.advance(to: 200, whenWaitedFor: 200)
            try await wait(for: "the late one") { rung() == ["early", "late"] }
        }
    }

    @Test func aTimerRingsAtTheTimeThatWasSetLast() async throws {
        try await withAlarm { _, rung, timer in
            let (moved, other) = (timer("moved"), timer("other"))
            defer { withExtendedLifetime((moved, other)) {} }
            moved.set(120)
            moved.set(150)
            moved.set(150)
            other.set(130)
            try await clock.advance(to: 130, whenWaitedFor: 130)
            try await wait(for: "the other one") { rung() == ["other"] }
            try await clock.advance(to: 150, whenWaitedFor: 150)
            try await wait(for: "the one that was moved") { rung() == ["other", "moved"] }
            // Once.
            other.set(160)
            try await clock.advance(to: 160, whenWaitedFor: 160)
            try await wait(for: "the other one again") { rung() == ["other", "moved", "other"] }
            moved.set(170)
            moved.set(.infinity)
            other.set(180)
            try await clock.advance(to: 180, whenWaitedFor: 180)
            try await wait(for: "the other one once more") { rung().count == 4 }
            #expect(rung().last == "other")
        }
    }

    @Test func aTimerThatIsGoneDoesNotRing() async throws {
        try await withAlarm { _, rung, timer in
            let other = timer("other")
            defer { withExtendedLifetime(other) {} }
            do {
                let gone = timer("gone")
                gone.set(110)
            }
            other.set(120)
            try await clock.advance(to: 120, whenWaitedFor: 120)
            try await wait(for: "the other one") { rung() == ["other"] }
        }
    }

    @Test func whoSleepsByItIsWokenInTimeOrCancelled() async throws {
        try await withAlarm { alarm, _, _ in
            let time = alarm.clock
            try await time.sleep(100)
            let sleeping = Task { try await time.sleep(120) }
            let cancelled = Task { try await time.sleep(110) }
            try await clock.waitForSleeper(until: 110)
            cancelled.cancel()
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: cancelled) }
            try await clock.advance(to: 120, whenWaitedFor: 120)
            try await wait(forEndOf: sleeping)
            #expect(time.moment.monotonic == 120)
        }
    }

    /// Each line of a stream has a time by which it must be taken, hours ahead.
    @Test func timesThatAreOverDoNotGrow() async throws {
        try await withAlarm { alarm, _, timer in
            let resting = timer("resting")
            for number in 1...10_000 {
                resting.set(1_000_000 + Double(number))
                timer("over").set(2_000_000)
            }
            #expect(alarm.entryCount < 100)
        }
    }

    @Test(.namesSeed) func randomTimersRingAsIfAllWereLookedAt() async throws {
        try await forEachSeed(10) { random in
            let clock = ManualClock(0)
            let alarm = Alarm(clock.clock)
            let rung = Lock<[Int: [Double]]>([:])
            let running = Task { await alarm.run() }
            defer { running.cancel() }
            let time = clock.clock.monotonic
            let timers = (0..<20).map { number in
                alarm.timer { rung.withLock { $0[number, default: []].append(time()) } }
            }
            var times: [Int: Double] = [:]
            var expected: [Int: [Double]] = [:]
            for step in 1...40 {
                let now = Double(step)
                for _ in 0..<random.below(6) {
                    let number = random.below(timers.count)
                    times[number] = now + Double(random.below(8))
                    timers[number].set(times[number] ?? 0)
                }
                clock.set(now)
                for (number, due) in times where due <= now {
                    expected[number, default: []].append(now)
                    times[number] = nil
                }
                try await wait(for: "those that are due") {
                    rung.withLock { $0 }
                } until: {
                    $0 == expected
                }
            }
        }
    }
}
