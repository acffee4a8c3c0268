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

    /// Why somebody's turn did not come; nil if it did.
    private func refusal(
        to user: String = "alice", until deadline: ContinuousClock.Instant
    ) async -> Budget.Refusal? {
        do {
            try await turns.run(user, until: deadline) {}
        } catch let refusal as Budget.Refusal {
            return refusal
        } catch {
            Issue.record(error)
        }
        return nil
    }

    @Test func soManyOfAUserAtOnceAndOthersBesideThem() async throws {
        defer { poller.stop() }
        let gate = Gate()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { try await turns.run("alice", until: deadline) { await gate.pass() } }
            }
            try await wait(for: "two to be in work", read: { gate.arrivals }) { $0 == 2 }
            try await wait(for: "one to wait", read: { turns.waiting("alice") }) { $0 == 1 }
            #expect(await refusal(until: deadline) == .lineIsFull)
            #expect(await refusal(to: "bob", until: deadline) == nil)
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
            #expect(await refusal(until: .now) == .tooLate)
            gate.open()
            try await group.waitForAll()
        }
        #expect(turns.users == 0)
    }
}
