import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct SingleFlightTests {
    @Test func workIsDoneOnceForAllAndKept() async throws {
        let flight = SingleFlight<Int>()
        let runs = Lock(0)
        let gate = Gate()
        let work: @Sendable () async throws -> Int = {
            await gate.pass()
            return runs.withLock { count in
                count += 1
                return count
            }
        }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 { group.addTask { try await flight.value(work) } }
            try await wait(for: "all to wait for one") { flight.waiterCount == 8 }
            gate.open()
            for try await value in group { #expect(value == 1) }
        }
        #expect(try await flight.value(work) == 1)
        #expect(flight.current == 1)
        #expect(flight.take() == 1)
        #expect(flight.take() == nil)
    }

    @Test func failureIsToldAndForgotten() async throws {
        let flight = SingleFlight<Int>()
        await #expect(throws: TestError(text: "no")) {
            try await flight.value { throw TestError(text: "no") }
        }
        #expect(try await flight.value { 2 } == 2)
    }

    @Test func callerThatIsCancelledStopsWaitingAndTheOthersDoNot() async throws {
        let flight = SingleFlight<Int>()
        let gate = Gate()
        let work: @Sendable () async throws -> Int = {
            await gate.pass()
            try Task.checkCancellation()
            return 1
        }
        let patient = Task { try await flight.value(work) }
        try await wait(for: "the work to begin") { gate.arrivals == 1 }
        let hasty = Task { try await flight.value(work) }
        try await wait(for: "both to wait") { flight.waiterCount == 2 }
        hasty.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: hasty) }
        gate.open()
        #expect(try await patient.value == 1)
    }

    @Test func workThatNobodyWaitsForIsCancelledAndNotJoined() async throws {
        let flight = SingleFlight<Int>()
        let (starts, started) = AsyncStream.makeStream(of: Void.self)
        let (ends, ended) = AsyncStream.makeStream(of: Bool.self)
        let only = Task {
            try await flight.value {
                started.yield()
                let never = AsyncStream<Void> { _ in }
                for await _ in never {}
                ended.yield(Task.isCancelled)
                return 1
            }
        }
        for await _ in starts { break }
        only.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: only) }
        for await wasCancelled in ends {
            #expect(wasCancelled)
            break
        }
        #expect(try await flight.value { 2 } == 2)
    }
}
