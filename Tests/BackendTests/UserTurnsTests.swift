import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBackend

@Suite(.patient())
struct UserTurnsTests {
    private let poller: Poller
    private let turns: UserTurns

    init() throws {
        poller = try Poller()
        turns = UserTurns(limit: 2, mostWaiting: 1, poller: poller)
    }

    private var deadline: ContinuousClock.Instant { .now + TestOptions.deadline }

    @Test func soManyOfAUserAtOnceAndOthersBesideThem() async throws {
        defer { poller.stop() }
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { try await turns.run("alice", until: deadline) { await gate.pass() } }
            }
            try await wait(for: "two to be in work", read: { gate.arrivals }) { $0 == 2 }
            try await wait(for: "one to wait", read: { turns.waiting("alice") }) { $0 == 1 }
            await #expect(throws: Budget.Refusal.lineIsFull) {
                try await turns.run("alice", until: deadline) { Issue.record("one too many") }
            }
            #expect(try await turns.run("bob", until: deadline) { 7 } == 7)
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.arrivals == 3)
        #expect(turns.users == 0)
    }

    @Test func aTurnThatFailsIsOver() async throws {
        defer { poller.stop() }
        struct Failure: Error {}
        for _ in 0..<3 {
            await #expect(throws: Failure.self) {
                try await turns.run("alice", until: deadline) { () async throws -> Void in throw Failure() }
            }
        }
        #expect(turns.users == 0)
    }

    @Test func whoeverWaitsForTooLongHasNone() async throws {
        defer { poller.stop() }
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { try await turns.run("alice", until: deadline) { await gate.pass() } }
            }
            try await wait(for: "two to be in work", read: { gate.arrivals }) { $0 == 2 }
            await #expect(throws: Budget.Refusal.tooLate) {
                try await turns.run("alice", until: .now) { Issue.record("late") }
            }
            gate.open()
            try await group.waitForAll()
        }
        #expect(turns.users == 0)
    }
}
