import PowerSyncTestSupport
import Testing

@testable import PowerSyncSystem

struct DeadlineQueueTests {
    @Test(.namesSeed) func entriesPassInTheOrderOfTheirDeadlines() async throws {
        try await forEachSeed(20) { random in
            let size = Int64(random.pick([1, 2, 3, 10, 500]))
            var queue = DeadlineQueue<Int64>()
            let deadlines = (0..<size).shuffled(using: &random)
            for (index, deadline) in deadlines.enumerated() {
                let isEarliest = queue.insert(deadline, id: UInt64(index), deadline: deadline)
                #expect(isEarliest == (deadlines[...index].min() == deadline))
            }
            #expect(queue.earliest == 0)
            let middle = size / 2
            #expect(queue.removePassed(middle) == Array(0..<min(middle + 1, size)))
            #expect(queue.removePassed(.max) == Array(min(middle + 1, size)..<size))
            #expect(queue.count == 0)
        }
    }

    @Test func aRemovedEntryDoesNotPass() {
        var queue = DeadlineQueue<String>()
        _ = queue.insert("a", id: 1, deadline: 1)
        _ = queue.insert("b", id: 2, deadline: 2)
        #expect(queue.remove(id: 1) == "a")
        #expect(queue.remove(id: 1) == nil)
        #expect(queue.removePassed(5) == ["b"])
    }

    @Test func removedEntriesDoNotPileUp() {
        var queue = DeadlineQueue<Int>()
        _ = queue.insert(0, id: 0, deadline: 500_000)
        for id in 1...10_000 {
            _ = queue.insert(id, id: UInt64(id), deadline: Int64(id))
            _ = queue.remove(id: UInt64(id))
        }
        #expect(queue.heldPlaces <= 66)
        #expect(queue.removePassed(.max) == [0])
    }
}
