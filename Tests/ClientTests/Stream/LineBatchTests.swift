import Testing

@testable import PowerSync
@testable import PowerSyncWire

/// How long lines wait for others.
@Suite struct LineBatchTests {
    private let event = SyncEvent.line(.tokenExpiresIn(1), size: 10)

    @Test func aQuietStreamEndsTheWaiting() {
        var batch = LineBatch()
        batch.append(event, size: 10, now: .seconds(1))
        let isDue1 = batch.isDue(now: .seconds(1), cost: .zero)
        #expect(!isDue1)
        batch.append(event, size: 10, now: .seconds(1))
        let isDue2 = batch.isDue(now: .seconds(1), cost: .zero)
        #expect(!isDue2)
        let isDue3 = batch.isDue(now: .seconds(1), cost: .zero)
        #expect(isDue3)
    }

    @Test func aBusyStreamEndsItByTime() {
        var batch = LineBatch()
        batch.append(event, size: 10, now: .seconds(1))
        let isDue4 = batch.isDue(now: .milliseconds(1249), cost: .zero)
        #expect(!isDue4)
        batch.append(event, size: 10, now: .milliseconds(1249))
        let isDue5 = batch.isDue(now: .milliseconds(1250), cost: .zero)
        #expect(isDue5)
    }

    @Test func waitingCostsNoMoreThanStoringUpToALimit() {
        var batch = LineBatch()
        batch.append(event, size: 10, now: .zero)
        let isDue6 = batch.isDue(now: .milliseconds(999), cost: .seconds(1))
        #expect(!isDue6)
        batch.append(event, size: 10, now: .milliseconds(999))
        let isDue7 = batch.isDue(now: .seconds(1), cost: .seconds(1))
        #expect(isDue7)
        batch.append(event, size: 10, now: .seconds(1))
        let isDue8 = batch.isDue(now: .seconds(2), cost: .seconds(60))
        #expect(isDue8)
    }

    @Test func bytesAndLinesHaveALimit() {
        var batch = LineBatch()
        for _ in 1..<LineBatch.mostLines { batch.append(event, size: 1, now: .zero) }
        #expect(!batch.isFull(limit: LineBatch.mostLines))
        #expect(batch.isFull(limit: LineBatch.mostLines - 1))
        batch.append(event, size: 1, now: .zero)
        #expect(batch.isFull(limit: .max))
    }

    @Test func takingLeavesNothing() {
        var batch = LineBatch()
        batch.append(event, size: 10, now: .zero)
        let taken = batch.take()
        #expect(taken.count == 1)
        #expect(batch.isEmpty)
        #expect(batch.bytes == 0)
    }
}
