import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct CommandOrderTests {
    @Test func aTurnComesWhenAllEarlierOnesAreOver() async throws {
        let order = CommandOrder()
        #expect(order.last == 0)
        try await order.wait(for: order.last)
        let turns = (1...20).map { _ in order.take() }
        #expect(turns == Array(1...20) && order.last == 20)
        let done = Lock<[Int]>([])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for turn in turns.reversed() {
                group.addTask {
                    try await order.wait(for: turn - 1)
                    done.withLock { $0.append(turn) }
                    order.end(turn)
                }
            }
            try await group.waitForAll()
        }
        #expect(done.withLock { $0 } == turns)
    }

    @Test func aTurnThatIsGivenUpLetsNobodyOvertake() async throws {
        let order = CommandOrder()
        let (first, second) = (order.take(), order.take())
        order.end(second)
        let hasWaited = Lock(false)
        let waiting = Task {
            try await order.wait(for: second)
            hasWaited.withLock { $0 = true }
        }
        // Whoever waits for nothing at all comes through at once, also in a task that begins later.
        try await Task { try await order.wait(for: 0) }.value
        #expect(!hasWaited.withLock { $0 })
        order.end(first)
        try await waiting.value
        #expect(hasWaited.withLock { $0 })
    }

    @Test func aWaitThatIsCancelledEnds() async throws {
        let order = CommandOrder()
        let turn = order.take()
        let waiting = Task { try await order.wait(for: turn) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        order.end(turn)
        try await order.wait(for: turn)
    }
}
