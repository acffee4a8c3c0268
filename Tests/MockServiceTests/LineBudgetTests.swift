import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct LineBudgetTests {
    @Test func whatNobodyWaitsForLeavesHalfFree() {
        let budget = LineBudget(limit: 100)
        let room = budget.takeSpare(30)
        #expect(room?.isGiven == true && budget.takeSpare(30) == nil && budget.usedBytes == 30)
        withExtendedLifetime(room) {}
    }

    @Test func manyAtOnceLeaveHalfFreeTogether() async {
        let budget = LineBudget(limit: 100)
        for _ in 0..<500 {
            let rooms = await withTaskGroup(of: LineBudget.Room?.self) { group in
                for _ in 0..<8 { group.addTask { budget.takeSpare(30) } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(rooms.count { $0 != nil } == 1 && budget.usedBytes == 30)
        }
    }

    @Test func atTheLimitLinesWaitInTurn() async throws {
        let budget = LineBudget(limit: 100)
        var first: LineBudget.Room? = budget.queue(60)
        var second: LineBudget.Room? = budget.queue(40)
        let third = budget.queue(50)
        let fourth = budget.queue(10)
        #expect(first?.isGiven == true && second?.isGiven == true && budget.usedBytes == 100)
        #expect(!third.isGiven && !fourth.isGiven && budget.waitingCount == 2)
        second = nil
        #expect(!third.isGiven && !fourth.isGiven, "the small one waits for the one before it")
        let waiting = Task { try await third.wait() }
        first = nil
        try await waiting.value
        try await fourth.wait()
        #expect(budget.usedBytes == 60)
        _ = (first, second)
    }

    @Test func aLineLongerThanAllIsGivenRoomAlone() {
        let budget = LineBudget(limit: 100)
        var small: LineBudget.Room? = budget.queue(1)
        var large: LineBudget.Room? = budget.queue(1000)
        let next = budget.queue(1)
        #expect(small?.isGiven == true && large?.isGiven == false)
        small = nil
        #expect(large?.isGiven == true && !next.isGiven)
        large = nil
        #expect(next.isGiven)
        _ = (small, large)
    }

    @Test func aLineThatBecameShorterMakesRoomAndALongerOneIsCounted() {
        let budget = LineBudget(limit: 100)
        let first = budget.queue(100)
        let second = budget.queue(70)
        first.resize(to: 30)
        #expect(second.isGiven)
        second.resize(to: 500)
        #expect(budget.usedBytes == 530)
    }

    @Test func aLineWithoutATurnIsCounted() {
        let budget = LineBudget(limit: 100)
        var line: LineBudget.Room? = budget.take(150)
        let next = budget.queue(1)
        #expect(line?.isGiven == true && !next.isGiven && budget.usedBytes == 150)
        line = nil
        #expect(next.isGiven)
        _ = line
    }

    @Test func whoIsCancelledKeepsThePlaceAndWhoLeavesGivesItUp() async throws {
        let budget = LineBudget(limit: 1)
        var first: LineBudget.Room? = budget.queue(1)
        let second = budget.queue(1)
        var third: LineBudget.Room? = budget.queue(1)
        let fourth = budget.queue(1)
        for _ in 0..<50 {
            let waiting = Task { try await second.wait() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
        third = nil
        first = nil
        try await second.wait()
        #expect(!fourth.isGiven && budget.waitingCount == 1)
        _ = (first, third)
    }
}
