import CPowerSyncSystem
import PowerSyncSystem
import PowerSyncTestSupport
import Synchronization
import Testing

@Suite(.patient())
struct ResumptionTests {
    private struct Refused: Error, Equatable { let text: String }

    /// What one thread leaves for another without a lock, as it may where one waits for the other.
    private final class Left: @unchecked Sendable {
        // Safe because whoever reads it has been resumed by whoever has written it; that the sanitizers see so is the test.
        var texts: [String] = []
        /// Orders nothing, unlike a lock or a semaphore.
        private let isResumed = Atomic(false)

        func tellThatItIsResumed() { isResumed.store(true, ordering: .relaxed) }

        func waitUntilItIsResumed() { while !isResumed.load(ordering: .relaxed) { powersync_sleep(1_000) } }
    }

    @Test func aTaskGoesOnWithTheValue() async {
        let text: String = await withResumption { $0.resume(returning: "a") }
        #expect(text == "a")
        await withResumption { (waiter: Resumption<Void, Never>) in waiter.resume() }
    }

    @Test func aTaskGoesOnWithTheError() async {
        await #expect(throws: Refused(text: "no")) {
            try await withThrowingResumption { (waiter: Resumption<Int, any Error>) in
                waiter.resume(throwing: Refused(text: "no"))
            }
        }
    }

    @Test func aResultIsEitherOfBoth() async throws {
        let value = try await withThrowingResumption { (waiter: Resumption<Int?, any Error>) in
            waiter.resume(with: .success(nil))
        }
        #expect(value == nil)
        await #expect(throws: Refused(text: "no")) {
            try await withThrowingResumption { (waiter: Resumption<Int?, any Error>) in
                waiter.resume(with: .failure(Refused(text: "no")))
            }
        }
    }

    /// Where ThreadSanitizer watches, it reports nothing: the task is resumed before it waits, and while it waits.
    @Test(arguments: [true, false]) func whatAThreadLeavesIsThereForTheTask(_ comesFirst: Bool) async throws {
        for number in 0..<20 {
            let left = Left()
            let text = try await withThrowingResumption { (waiter: Resumption<String, any Error>) in
                do {
                    try DetachedThread.start {
                        left.texts.append("text \(number) that is longer than what fits into its own bytes")
                        waiter.resume(returning: "\(number)")
                        left.tellThatItIsResumed()
                    }
                    if comesFirst { left.waitUntilItIsResumed() }
                } catch {
                    waiter.resume(throwing: error)
                }
            }
            #expect(text == "\(number)")
            left.texts.append("more")
            #expect(left.texts.count == 2)
        }
    }
}
