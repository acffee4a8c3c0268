import Testing

@testable import PowerSync

/// How much is stored at once while the app writes, and while it does not (SPEC.md, "Batches").
@Suite struct BatchPaceTests {
    private static let tuning: StorageTuning = {
        var tuning = StorageTuning.standard
        tuning.hold = .milliseconds(100)
        return tuning
    }()

    /// Stores as much as may be, at so many bytes a millisecond, and returns how much that was.
    private func store(_ pace: inout BatchPace, at now: Duration = .zero, speed: Int) -> Int {
        let bytes = pace.limit(at: now)
        let hold = Duration.milliseconds(1) * (Double(bytes) / Double(speed))
        pace.stored(bytes, in: hold, limitedAt: now)
        return bytes
    }

    @Test func batchesAreLongWhileTheAppDoesNotWrite() {
        let pace = BatchPace(Self.tuning)
        #expect(pace.limit(at: .zero) == 32 << 20)
        #expect(pace.limit(at: .seconds(1000)) == 32 << 20)
    }

    @Test func theyAreShortFromAWriteOnAndLongAgainAfterTwoSecondsWithout() {
        var pace = BatchPace(Self.tuning)
        pace.appWrites(at: .seconds(10))
        #expect(pace.limit(at: .seconds(10)) == 1 << 20)
        #expect(pace.limit(at: .milliseconds(11_999)) == 1 << 20)
        #expect(pace.limit(at: .seconds(12)) == 32 << 20)
        pace.appWrites(at: .seconds(13))
        #expect(pace.limit(at: .milliseconds(14_999)) == 1 << 20)
        pace.appWrites(at: .seconds(14))
        #expect(pace.limit(at: .milliseconds(15_999)) == 1 << 20)
        #expect(pace.limit(at: .seconds(16)) == 32 << 20)
    }

    @Test func aShortBatchFillsItsBudgetAndNoMore() {
        var pace = BatchPace(Self.tuning)
        pace.appWrites(at: .zero)
        let speed = 1 << 15
        var stored: [Int] = []
        for _ in 0..<5 { stored.append(store(&pace, speed: speed)) }
        // It grows by steps: a larger batch may be slower. 100 ms are enough.
        #expect(stored == [1 << 20, 2 << 20, 100 * speed, 100 * speed, 100 * speed])
    }

    @Test func aDiskThatGetsSlowerMakesTheNextBatchShorter() {
        var pace = BatchPace(Self.tuning)
        pace.appWrites(at: .zero)
        _ = store(&pace, speed: 1024)
        #expect(pace.limit(at: .zero) == 100 * 1024)
        _ = store(&pace, speed: 100)
        // Less is not worth a transaction.
        #expect(pace.limit(at: .zero) == BatchPace.fewestBytes)
        for _ in 0..<20 { _ = store(&pace, speed: 1 << 20) }
        #expect(pace.limit(at: .zero) == 32 << 20)
    }

    @Test func theFirstShortBatchAfterLongOnesIsCareful() {
        var pace = BatchPace(Self.tuning)
        for second in 0..<10 { _ = store(&pace, at: .seconds(second), speed: 1 << 20) }
        pace.appWrites(at: .seconds(10))
        #expect(pace.limit(at: .seconds(10)) == 1 << 20)
    }

    @Test func longBatchesTakeASecondAtMost() {
        var pace = BatchPace(Self.tuning)
        var stored: [Int] = []
        for _ in 0..<3 { stored.append(store(&pace, speed: 8192)) }
        #expect(stored == [32 << 20, 1000 * 8192, 1000 * 8192])
        for _ in 0..<3 { _ = store(&pace, speed: 1 << 17) }
        #expect(pace.limit(at: .zero) == 32 << 20)
    }

    @Test func theEndOfAStreamTeachesNothing() {
        var pace = BatchPace(Self.tuning)
        pace.appWrites(at: .zero)
        // A few bytes that took no longer than a commit does.
        pace.stored(200, in: .milliseconds(5), limitedAt: .zero)
        #expect(pace.limit(at: .zero) == 1 << 20)
        // Unless they took too long.
        pace.stored(200_000, in: .milliseconds(200), limitedAt: .zero)
        #expect(pace.limit(at: .zero) == 100_000)
    }

    @Test func aTuningOfSingleLinesStays() {
        var tuning = StorageTuning.standard
        tuning.batchBytes = 1
        var pace = BatchPace(tuning)
        for now in [Duration.zero, .seconds(3)] {
            #expect(pace.limit(at: now) == 1)
            pace.stored(500, in: .milliseconds(1), limitedAt: now)
            pace.appWrites(at: now)
            #expect(pace.limit(at: now) == 1)
            pace.stored(500, in: .zero, limitedAt: now)
        }
    }
}
