import PowerSyncWire
import Testing

@testable import PowerSync

/// How long lines wait for others, and how many are taken at once.
@Suite struct LineBatchTests {
    private func line(_ size: Int = 10) throws -> StorableLine {
        try StorableLine(DataLine(bucket: "b", operations: []), size: size)
    }

    @Test func aQuietStreamEndsTheWaiting() throws {
        var batch = LineBatch()
        batch.append(try line(), now: .seconds(1))
        let isDue1 = batch.isDue(now: .seconds(1), cost: .zero)
        #expect(!isDue1)
        batch.append(try line(), now: .seconds(1))
        let isDue2 = batch.isDue(now: .seconds(1), cost: .zero)
        #expect(!isDue2)
        let isDue3 = batch.isDue(now: .seconds(1), cost: .zero)
        #expect(isDue3)
    }

    @Test func aBusyStreamEndsItByTime() throws {
        var batch = LineBatch()
        batch.append(try line(), now: .seconds(1))
        let isDue4 = batch.isDue(now: .milliseconds(1249), cost: .zero)
        #expect(!isDue4)
        batch.append(try line(), now: .milliseconds(1249))
        let isDue5 = batch.isDue(now: .milliseconds(1250), cost: .zero)
        #expect(isDue5)
    }

    @Test func waitingCostsNoMoreThanStoringUpToALimit() throws {
        var batch = LineBatch()
        batch.append(try line(), now: .zero)
        let isDue6 = batch.isDue(now: .milliseconds(999), cost: .seconds(1))
        #expect(!isDue6)
        batch.append(try line(), now: .milliseconds(999))
        let isDue7 = batch.isDue(now: .seconds(1), cost: .seconds(1))
        #expect(isDue7)
        batch.append(try line(), now: .seconds(1))
        let isDue8 = batch.isDue(now: .seconds(2), cost: .seconds(60))
        #expect(isDue8)
    }

    @Test func bytesAndLinesHaveALimit() throws {
        var batch = LineBatch()
        for _ in 1..<LineBatch.mostLines { batch.append(try line(1), now: .zero) }
        #expect(!batch.isFull(limit: LineBatch.mostLines))
        #expect(batch.isFull(limit: LineBatch.mostLines - 1))
        batch.append(try line(1), now: .zero)
        #expect(batch.isFull(limit: .max))
        let taken = batch.take(limit: .max)
        #expect(taken.lines.count == LineBatch.mostLines)
    }

    @Test func takingAllLeavesNothing() throws {
        var batch = LineBatch()
        batch.append(try line(), now: .zero)
        let taken = batch.take(limit: 1000)
        #expect(taken.lines.count == 1)
        #expect(taken.bytes == 10)
        #expect(batch.isEmpty)
        #expect(batch.bytes == 0)
    }

    @Test(arguments: [(0, [1, 1, 1, 1]), (10, [1, 1, 1, 1]), (11, [2, 2]), (30, [3, 1]), (41, [4])])
    func aFullBatchIsTakenAtATimeInTheOrderOfTheStream(_ limit: Int, _ counts: [Int]) throws {
        var batch = LineBatch()
        for name in 0..<4 {
            let line = DataLine(bucket: "\(name)", operations: [])
            batch.append(try StorableLine(line, size: 10), now: .zero)
        }
        var found: [Int] = []
        var names: [String] = []
        while !batch.isEmpty {
            let (lines, bytes) = batch.take(limit: limit)
            found.append(lines.count)
            names += lines.map(\.line.bucket)
            #expect(bytes == 10 * lines.count)
        }
        #expect(found == counts)
        #expect(names == ["0", "1", "2", "3"])
        #expect(batch.bytes == 0)
    }
}
