import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct BlockingCallsTests {
    @Test func aCallReturnsItsValue() async throws {
        let poller = try Poller()
        defer { poller.stop() }
        #expect(try await poller.value(until: .now + TestOptions.deadline) { 42 } == 42)
        #expect(poller.calls.count == 0)
    }

    @Test func aCallThatDoesNotEndIsGivenUpAndWhatItReturnsIsDropped() async throws {
        final class Thing: Sendable {
            let isGone: Lock<Bool>
            init(_ isGone: Lock<Bool>) { self.isGone = isGone }
            deinit { isGone.withLock { $0 = true } }
        }
        let gate = BlockingGate()
        let isGone = Lock(false)
        let poller = try Poller()
        defer { poller.stop() }
        // On a busy machine the first deadline may be over before the call begins.
        var limit = Duration.milliseconds(20)
        repeat {
            let value = try await poller.value(until: .now + limit) {
                gate.wait()
                return Thing(isGone)
            }
            #expect(value == nil)
            limit *= 2
        } while poller.calls.count == 0
        #expect(poller.calls.count == 1)
        gate.open()
        try await wait(for: "the call to end") { poller.calls.count == 0 }
        try await wait(for: "its value to be dropped") { isGone.withLock { $0 } }
    }

    @Test func aCallCanBeCancelled() async throws {
        let gate = BlockingGate()
        defer { gate.open() }
        let calls = BlockingCalls()
        let task = Task { try await calls.value { gate.wait() } }
        try await wait(for: "the call to begin") { gate.arrivals == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: task) }
        #expect(calls.count == 1)
        let early = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await calls.value { gate.wait() }
        }
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: early) }
        #expect(gate.arrivals == 1, "what is cancelled before does not begin")
    }

    @Test func theNumberOfCallsThatNobodyWaitsForIsBounded() async throws {
        let gate = BlockingGate()
        let calls = BlockingCalls(limit: 4)
        for _ in 0..<2 { try calls.start { gate.wait() } }
        #expect(throws: SystemError.self) { try calls.start { gate.wait() } }
        // There is room for those that are waited for, also for many at once.
        let waited = (0..<8).map { _ in Task { try await calls.value { gate.wait() } } }
        try await wait(for: "all to begin", read: { gate.arrivals }, until: { $0 == 10 })
        for task in waited.prefix(2) {
            task.cancel()
            await #expect(throws: CancellationError.self) { try await wait(forEndOf: task) }
        }
        #expect(calls.count == 4)
        let error = await #expect(throws: SystemError.self) { try await calls.value { gate.wait() } }
        #expect(error?.code == .process)
        gate.open()
        for task in waited.dropFirst(2) { try await wait(forEndOf: task) }
        try await wait(for: "all to end") { calls.count == 0 }
        try await calls.value { gate.wait() }
    }
}
