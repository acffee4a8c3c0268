import PowerSyncMockService
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Service 1.8, batching.
@Suite(.patient())
struct SharedCallTests {
    private struct Failure: Error {}

    /// Calls that are held up, numbered as they begin; some fail.
    private final class Calls: Sendable {
        let gate = Gate()
        private let failing: Set<Int>
        private let count = Lock(0)
        private let most = Lock((running: 0, most: 0))

        init(failing: Set<Int> = []) { self.failing = failing }

        var began: Int { count.withLock { $0 } }
        var mostAtOnce: Int { most.withLock { $0.most } }

        func call() async throws -> Int {
            let number = count.withLock { count in
                count += 1
                return count
            }
            most.withLock { ($0.running, $0.most) = ($0.running + 1, max($0.most, $0.running + 1)) }
            await gate.pass()
            most.withLock { $0.running -= 1 }
            if failing.contains(number) { throw Failure() }
            return number
        }
    }

    @Test func whoComesDuringACallGetsTheNextTogetherWithTheOthers() async throws {
        let calls = Calls()
        let shared = SharedCall(limit: 1) { try await calls.call() }
        let first = Task { try await shared.value() }
        try await wait(for: "the first call") { calls.began == 1 }
        let others = (0..<50).map { _ in Task { try await shared.value() } }
        try await wait(for: "all to wait") { await shared.waitingCount == 50 }
        calls.gate.open()
        #expect(try await first.value == 1)
        for other in others { #expect(try await other.value == 2) }
        #expect(try await shared.value() == 3, "what is over is no answer to who comes later")
    }

    @Test func onlySoManyCallsAreUnderWay() async throws {
        let calls = Calls()
        let shared = SharedCall(limit: 3) { try await calls.call() }
        let callers = (0..<100).map { _ in Task { try await shared.value() } }
        try await wait(for: "all to come") {
            let waiting = await shared.waitingCount
            return calls.began == 3 && waiting == 97
        }
        calls.gate.open()
        for caller in callers { _ = try await caller.value }
        #expect(calls.began == 4 && calls.mostAtOnce == 3)
    }

    @Test func aFailureIsThatOfThoseWhoSharedTheCall() async throws {
        let calls = Calls(failing: [1])
        let shared = SharedCall(limit: 1) { try await calls.call() }
        let first = Task { try await shared.value() }
        try await wait(for: "the first call") { calls.began == 1 }
        let second = Task { try await shared.value() }
        try await wait(for: "the second to wait") { await shared.waitingCount == 1 }
        calls.gate.open()
        await #expect(throws: Failure.self) { try await first.value }
        #expect(try await second.value == 2)
    }

    @Test func whoLeavesHarmsNobody() async throws {
        let calls = Calls()
        let shared = SharedCall(limit: 1) { try await calls.call() }
        let tasks = (0..<4).map { _ in Task { try await shared.value() } }
        try await wait(for: "one to be served and three to wait") {
            let waiting = await shared.waitingCount
            return calls.began == 1 && waiting == 3
        }
        tasks[0].cancel()
        tasks[1].cancel()
        for task in tasks[..<2] {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        calls.gate.open()
        for task in tasks[2...] { #expect(try await task.value <= 2) }
    }

    @Test func closingEndsEveryWaitAndRefusesLaterOnes() async throws {
        let calls = Calls()
        defer { calls.gate.open() }
        let shared = SharedCall(limit: 1) { try await calls.call() }
        let tasks = (0..<3).map { _ in Task { try await shared.value() } }
        try await wait(for: "all to come") {
            let waiting = await shared.waitingCount
            return calls.began == 1 && waiting == 2
        }
        await shared.close()
        for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
        await #expect(throws: CancellationError.self) { try await shared.value() }
    }
}
