import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct BudgetTests {
    private let poller: Poller
    private let late = ContinuousClock.now + TestOptions.deadline

    init() throws { poller = try Poller() }

    @Test func whoComesFirstIsServedFirst() async throws {
        let budget = Budget(16, poller: poller)
        let order = Lock<[Int]>([])
        try await budget.take(12, until: late)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, amount) in [(1, 6), (2, 3), (3, 8)] {
                group.addTask {
                    try await budget.take(amount, until: late)
                    order.withLock { $0.append(number) }
                }
                // The second is not small either, and would fit sooner than the first.
                try await wait(for: "the next to wait") { budget.waiting == number }
            }
            budget.giveBack(12, butFor: 8)
            try await wait(for: "the first") { order.withLock { $0.count } == 1 }
            #expect(order.withLock { $0 } == [1] && budget.waiting == 2 && budget.taken == 14)
            budget.giveBack(8)
            try await wait(for: "the second") { order.withLock { $0.count } == 2 }
            #expect(order.withLock { $0 } == [1, 2] && budget.waiting == 1 && budget.taken == 9)
            budget.giveBack(6)
            try await group.waitForAll()
        }
        #expect(budget.taken == 11)
    }

    @Test func whatIsLargerThanAllOfItCountsAsAllThatLargeOnesHave() async throws {
        let budget = Budget(100, poller: poller)
        try await budget.take(250, until: .now)
        #expect(budget.taken == 88)
        await #expect(throws: WaitingRefusal.tooLate) { try await budget.take(13, until: .now) }
        budget.giveBack(250)
        try await budget.take(13, until: .now)
        await #expect(throws: WaitingRefusal.tooLate) { try await budget.take(250, until: .now) }
    }

    /// Neither one that is in work nor one that waits.
    @Test func largeOnesHoldUpNoSmallOnes() async throws {
        let budget = Budget(100, poller: poller)
        try await budget.take(50, until: .now)
        let large = Task { try await budget.take(150, until: late) }
        try await wait(for: "the large one to wait") { budget.waiting == 1 }
        for _ in 0..<100 {
            try await budget.take(12, until: .now)
            budget.giveBack(12)
        }
        budget.giveBack(50)
        try await large.value
        try await budget.take(12, until: .now)
        #expect(budget.taken == 100)
    }

    /// Although there is always a small one in work, and the next one waiting.
    @Test func smallOnesCannotStarveALargeOne() async throws {
        let budget = Budget(100, poller: poller)
        for _ in 0..<10 { try await budget.take(10, until: .now) }
        let large = Task { try await budget.take(88, until: late) }
        try await wait(for: "the large one to wait") { budget.waiting == 1 }
        let small = Task { try await budget.take(10, until: late) }
        try await wait(for: "a small one to wait") { budget.waiting == 2 }
        for left in (2...9).reversed() {
            budget.giveBack(10)
            #expect(budget.taken == left * 10, "what was given back is not for the small one")
        }
        budget.giveBack(10)
        try await large.value
        #expect(budget.taken == 98 && budget.waiting == 1)
        budget.giveBack(10)
        try await small.value
        #expect(budget.taken == 98)
    }

    @Test func aPartCanBeKept() async throws {
        let budget = Budget(100, poller: poller)
        try await budget.take(150, until: .now)
        budget.giveBack(150, butFor: 20)
        #expect(budget.taken == 20)
        try await budget.take(68, until: .now)
        budget.giveBack(20)
        budget.giveBack(68)
        #expect(budget.taken == 0)
    }

    @Test func aDeadlineEndsAWaitAndLetsTheNextOneThrough() async throws {
        let budget = Budget(16, poller: poller)
        try await budget.take(6, until: late)
        let isOver = Lock(false)
        let large = Task {
            defer { isOver.withLock { $0 = true } }
            try await budget.take(14, until: .now + .milliseconds(50))
        }
        try await wait(for: "the large one to wait") { budget.waiting == 1 || isOver.withLock { $0 } }
        let small = Task { try await budget.take(4, until: late) }
        await #expect(throws: WaitingRefusal.tooLate) { try await large.value }
        try await small.value
        #expect(budget.taken == 10 && budget.waiting == 0)
    }

    @Test func aCancelledTaskTakesNothing() async throws {
        let budget = Budget(1, poller: poller)
        try await budget.take(1, until: late)
        let waiting = Task { try await budget.take(1, until: late) }
        try await wait(for: "it to wait") { budget.waiting == 1 }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        budget.giveBack(1)
        #expect(budget.taken == 0)
    }

    @Test func aFullLineRefusesTheNext() async throws {
        let budget = Budget(1, mostWaiting: 1, poller: poller)
        try await budget.take(1, until: late)
        let waiting = Task { try await budget.take(1, until: late) }
        try await wait(for: "it to wait") { budget.waiting == 1 }
        await #expect(throws: WaitingRefusal.lineIsFull) { try await budget.take(1, until: late) }
        budget.giveBack(1)
        try await waiting.value
    }

    /// What is granted, ended and cancelled at once is neither lost nor given twice.
    @Test func nothingIsLostWhateverComesTogether() async throws {
        let budget = Budget(3, poller: poller)
        let most = Lock((now: 0, highest: 0))
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<300 {
                group.addTask {
                    let amount = 1 + number % 4
                    let task = Task {
                        try await budget.take(amount, until: .now + .microseconds(number * 30))
                        most.withLock { $0 = ($0.now + amount, max($0.highest, $0.now + amount)) }
                        await Task.yield()
                        most.withLock { $0.now -= amount }
                        budget.giveBack(amount)
                    }
                    if number % 5 == 0 { task.cancel() }
                    // Refused, cancelled or served: what counts is what is left of the budget.
                    _ = await task.result
                }
            }
        }
        #expect(budget.taken == 0 && budget.waiting == 0)
        #expect(most.withLock { $0.highest } <= 4, "four are more than there is, and alone")
    }
}
