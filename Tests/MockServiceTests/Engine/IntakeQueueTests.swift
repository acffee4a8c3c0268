import PowerSyncPostgresValues
import Testing

@testable import PowerSyncServiceEngine

/// Order, bytes and what is ready (DESIGN.md, 3).
struct IntakeQueueTests {
    private static func limits(_ change: (inout StoreLimits) -> Void = { _ in }) -> StoreLimits {
        var limits = StoreLimits()
        change(&limits)
        return limits
    }

    /// A batch with a number in it.
    private static func batch(_ number: Int, bytes: Int = 100, isAhead: Bool = false) -> ChangeBatch {
        var batch = ChangeBatch(bytes: [UInt8(number)] + [UInt8](repeating: 0, count: bytes - 1))
        batch.append(.told(TransactionProgress(changes: number)))
        batch.isAhead = isAhead
        return batch
    }

    private static func evaluated(_ batch: ChangeBatch) -> EvaluatedBatch {
        RowEvaluation.evaluateAtOnce(batch, SlotConverter())
    }

    private static func position(_ mark: ChangeBatch.Mark) -> EvaluatedBatch { evaluated(ChangeBatch(mark)) }

    private static func lsn(_ value: UInt64) -> LSN { LSN(rawValue: value) }

    /// The numbers of the batches that a job writes; nil if it is none of that kind.
    private static func written(_ job: IntakeQueue.Job?) -> [Int]? {
        guard case .write(let batches) = job else { return nil }
        return batches.map { batch in
            batch.marks.reduce(0) { if case .told(let told) = $1.mark { told.changes } else { $0 } }
        }
    }

    private static func told(_ job: IntakeQueue.Job?) -> LSN? {
        guard case .tell(let position) = job else { return nil }
        return position
    }

    @Test func batchesAreWrittenInTheirOrderHoweverTheyAreEvaluated() throws {
        var queue = IntakeQueue()
        for number in 1...4 { queue.add(Self.batch(number)) }
        var taken: [(number: UInt64, batch: ChangeBatch)] = []
        while let next = queue.takeSubmitted() { taken.append(next) }
        #expect(taken.map { $0.batch.bytes[0] } == [1, 2, 3, 4])
        func finish(_ index: Int) { queue.finish(taken[index].number, Self.evaluated(taken[index].batch)) }
        finish(2)
        finish(1)
        #expect(queue.takeJob() == nil)
        finish(0)
        #expect(Self.written(queue.takeJob()) == [1, 2, 3])
        #expect(queue.stored == 0 && queue.submitted == 4)
        queue.finishJob()
        #expect(queue.stored == 3 && !queue.isAtRest)
        // One that came evaluated waits for those before it.
        queue.add(Self.evaluated(Self.batch(5)), bytes: 100)
        #expect(queue.takeJob() == nil)
        finish(3)
        #expect(Self.written(queue.takeJob()) == [4, 5])
        queue.finishJob()
        #expect(queue.isAtRest)
        #expect(queue.takeJob() == nil)
        #expect(queue.takeSubmitted() == nil)
    }

    @Test func whatIsUnderWayIsBoundedInBytes() {
        let size = Self.batch(1).byteCount
        var queue = IntakeQueue(limits: Self.limits { $0.pipelineBytes = 3 * 2 * size + 1 })
        #expect(queue.hasRoom(for: 100 * size), "one alone may be larger than all room")
        queue.add(Self.batch(1))
        #expect(queue.hasRoom(for: size) && !queue.hasRoom(for: size + 1))
        #expect(queue.hasRoom(for: size + 1, isOfPositions: true))
        queue.add(Self.batch(2))
        #expect(!queue.hasRoom(for: size))
        while let next = queue.takeSubmitted() { queue.finish(next.number, Self.evaluated(next.batch)) }
        _ = queue.takeJob()
        #expect(!queue.hasRoom(for: size), "it is in memory until it is on the disk")
        queue.finishJob()
        #expect(queue.hasRoom(for: 100 * size))
    }

    /// A few bytes of an array may come to very many of operations.
    @Test func whatIsEvaluatedIsWrittenBeforeMoreIsOnceItIsMuch() {
        #expect(StoreLimits().evaluatedBytes == 64 << 20)
        let limits = Self.limits { $0.evaluatedBytes = 1000 }
        func large(_ number: Int, _ count: Int) -> EvaluatedBatch {
            var batch = Self.evaluated(Self.batch(number))
            batch.bytes = [UInt8](repeating: 0, count: count)
            return batch
        }
        var queue = IntakeQueue(limits: limits)
        for number in 1...4 { queue.add(Self.batch(number)) }
        for number: UInt64 in 0...1 { #expect(queue.takeSubmitted()?.number == number) }
        queue.finish(1, large(2, 1000))
        #expect(queue.hasRoom(for: 1))
        queue.finish(0, large(1, 1))
        // Who has begun ends; nobody begins, and nothing comes but positions.
        #expect(queue.takeSubmitted() == nil)
        #expect(!queue.hasRoom(for: 1) && queue.hasRoom(for: 1, isOfPositions: true))
        #expect(Self.written(queue.takeJob()) == [1, 2])
        // It is in memory until it is on the disk, and one more beside it.
        #expect(queue.takeSubmitted()?.number == 2)
        #expect(queue.takeSubmitted() == nil)
        #expect(!queue.hasRoom(for: 1))
        queue.finishJob()
        #expect(queue.hasRoom(for: 1))
        queue.finish(2, large(3, 5000))
        #expect(queue.takeSubmitted() == nil)
        #expect(Self.written(queue.takeJob()) == [3])
        queue.finishJob()
        #expect(queue.takeSubmitted()?.number == 3)
        queue.finish(3, large(4, 1))
        #expect(Self.written(queue.takeJob()) == [4])
        queue.finishJob()
        #expect(queue.isAtRest && queue.hasRoom(for: 1))
        // One that came evaluated counts as well; it waits for those before it, which are not left for it.
        queue.add(Self.batch(5))
        queue.add(large(6, 2000), bytes: 1)
        queue.add(Self.batch(7))
        #expect(!queue.hasRoom(for: 1))
        #expect(queue.takeJob() == nil)
        #expect(queue.takeSubmitted()?.number == 4)
        #expect(queue.takeSubmitted() == nil)
        queue.finish(4, large(5, 1))
        #expect(Self.written(queue.takeJob()) == [5, 6])
    }

    @Test func aGroupIsBoundedInBytesAndOneOfASnapshotIsLarger() {
        let size = Self.batch(1).byteCount
        let limits = Self.limits {
            $0.groupBytes = 2 * size
            $0.snapshotGroupBytes = 3 * size
        }
        for (isAhead, expected) in [(false, [[1, 2], [3, 4], [5]]), (true, [[1, 2, 3], [4, 5]])] {
            var queue = IntakeQueue(limits: limits)
            for number in 1...5 {
                let batch = Self.batch(number, isAhead: isAhead)
                queue.add(Self.evaluated(batch), bytes: batch.byteCount)
            }
            var groups: [[Int]] = []
            while let group = Self.written(queue.takeJob()) {
                groups.append(group)
                queue.finishJob()
            }
            #expect(groups == expected)
        }
    }

    @Test func aLargeBatchIsAGroupOfItsOwn() {
        var queue = IntakeQueue(limits: Self.limits { $0.groupBytes = 10 })
        for number in 1...2 { queue.add(Self.evaluated(Self.batch(number)), bytes: 1000) }
        #expect(Self.written(queue.takeJob()) == [1])
        queue.finishJob()
        #expect(Self.written(queue.takeJob()) == [2])
    }

    // MARK: Positions

    @Test func aPositionIsToldAndWaitsToBeStored() {
        var queue = IntakeQueue()
        queue.add(Self.position(.committed(Self.lsn(10))), bytes: 0)
        #expect(queue.hasWaitingPosition)
        #expect(Self.told(queue.takeJob()) == Self.lsn(10))
        #expect(queue.takeJob() == nil, "it is told once")
        queue.add(Self.position(.passed(Self.lsn(12))), bytes: 0)
        #expect(queue.takeJob() == nil, "that is nothing for clients")
        queue.add(Self.position(.committed(Self.lsn(20))), bytes: 0)
        #expect(Self.told(queue.takeJob()) == Self.lsn(20))
        // It goes with the next batch.
        queue.add(Self.evaluated(Self.batch(7)), bytes: 100)
        guard case .write(let batches)? = queue.takeJob() else {
            Issue.record("nothing is written")
            return
        }
        #expect(batches.count == 2)
        #expect(batches[0].marks.map { $0.mark } == [.committed(Self.lsn(20)), .passed(Self.lsn(12))])
        queue.finishJob()
        #expect(queue.isAtRest && queue.submitted == 4)
    }

    @Test func aPositionThatIsDueIsStoredAlone() {
        var queue = IntakeQueue()
        queue.add(Self.position(.committed(Self.lsn(10))), bytes: 0)
        queue.demandAll()
        #expect(!queue.hasWaitingPosition)
        #expect(Self.written(queue.takeJob()) == [0])
        // What comes while that is written has its own time.
        queue.add(Self.position(.committed(Self.lsn(20))), bytes: 0)
        #expect(queue.hasWaitingPosition)
        queue.finishJob()
        #expect(Self.told(queue.takeJob()) == Self.lsn(20))
        queue.add(Self.position(.passed(Self.lsn(22))), bytes: 0)
        queue.demandAll()
        #expect(Self.written(queue.takeJob()) == [0])
        queue.finishJob()
        #expect(queue.isAtRest && queue.stored == 3)
    }

    @Test func aPositionInFrontHoldsUpNoBatch() throws {
        var queue = IntakeQueue()
        queue.add(Self.position(.committed(Self.lsn(10))), bytes: 0)
        queue.add(Self.batch(1))
        #expect(Self.told(queue.takeJob()) == Self.lsn(10))
        let submitted = queue.takeSubmitted()
        let next = try #require(submitted)
        #expect(queue.takeJob() == nil)
        queue.finish(next.number, Self.evaluated(next.batch))
        #expect(Self.written(queue.takeJob()) == [0, 1])
    }
}
