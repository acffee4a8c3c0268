import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncBackend

@Suite(.patient())
struct FileWorkTests {
    private struct Failure: Error {}

    @Test func whatWorkReturnsAndThrowsComesBack() async throws {
        let work = FileWork(limit: 1)
        #expect(try await work.run { 7 } == 7)
        await #expect(throws: Failure.self) {
            try await work.run { () throws -> Void in throw Failure() }
        }
        #expect(try await work.run { 8 } == 8)
    }

    @Test func noMoreThreadsBlockThanAllowed() async throws {
        let work = FileWork(limit: 2)
        let gate = BlockingGate()
        let (running, most) = (Lock(0), Lock(0))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    try await work.run {
                        let now = running.withLock { running in
                            running += 1
                            return running
                        }
                        most.withLock { $0 = max($0, now) }
                        gate.wait()
                        running.withLock { $0 -= 1 }
                    }
                }
            }
            try await wait(for: "two to work", read: { gate.arrivals }) { $0 == 2 }
            gate.open()
            try await group.waitForAll()
        }
        #expect(gate.arrivals == 10)
        #expect(most.withLock { $0 } == 2)
    }

    @Test func workGoesOnWhenItsTaskIsCancelled() async throws {
        let work = FileWork(limit: 1)
        let gate = BlockingGate()
        let isDone = Lock(false)
        let task = Task {
            try await work.run {
                gate.wait()
                isDone.withLock { $0 = true }
            }
        }
        try await wait(for: "the work to begin") { gate.arrivals == 1 }
        task.cancel()
        gate.open()
        try await wait(forEndOf: task)
        #expect(isDone.withLock { $0 })
    }
}
