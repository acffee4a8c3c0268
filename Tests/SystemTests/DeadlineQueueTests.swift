import Testing

@testable import PowerSyncSystem

struct DeadlineQueueTests {
    @Test func entriesPassInTheOrderOfTheirDeadlines() {
        var generator = SystemRandomNumberGenerator()
        for size in [1, 2, 3, 10, 500] {
            var queue = DeadlineQueue<Int64>()
            let deadlines = (0..<Int64(size)).shuffled(using: &generator)
            for (index, deadline) in deadlines.enumerated() {
                let isEarliest = queue.insert(deadline, id: UInt64(index), deadline: deadline)
                #expect(isEarliest == (deadlines[...index].min() == deadline))
            }
            #expect(queue.earliest == 0)
            #expect(queue.removePassed(Int64(size) / 2) == Array(0...(Int64(size) / 2)).filter { $0 < size })
            #expect(
                queue.removePassed(.max)
                    == Array((Int64(size) / 2 + 1)..<max(Int64(size), Int64(size) / 2 + 1)))
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
        for id in 1...100_000 {
            _ = queue.insert(id, id: UInt64(id), deadline: Int64(id))
            _ = queue.remove(id: UInt64(id))
        }
        #expect(queue.heldPlaces <= 66)
        #expect(queue.removePassed(.max) == [0])
    }
}
