import PowerSync
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct AsyncValueTests {
    @Test func everyTaskGoesOnOnceItsConditionHolds() async throws {
        let value = AsyncValue(0)
        let low = Task { try await value.wait { $0 >= 1 } }
        let high = Task { try await value.wait { $0 >= 3 } }
        try await wait(for: "both to wait") { value.waiterCount == 2 }
        value.change { $0 = 2 }
        #expect(try await low.value == 2)
        #expect(value.waiterCount == 1)
        value.change { $0 = 3 }
        #expect(try await high.value == 3)
        #expect(value.current == 3)
    }

    @Test func aConditionThatHoldsIsNotWaitedFor() async throws {
        #expect(try await AsyncValue("a").wait { $0 == "a" } == "a")
    }

    @Test func aCancelledTaskStopsWaiting() async throws {
        let value = AsyncValue(0)
        let task = Task { try await value.wait { $0 > 0 } }
        try await wait(for: "it to wait") { value.waiterCount == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(value.waiterCount == 0)
        value.change { $0 = 1 }
    }

    @Test func aTaskThatIsCancelledAlreadyDoesNotWait() async throws {
        let value = AsyncValue(0)
        let gate = Gate()
        let task = Task {
            await gate.pass()
            return try await value.wait { $0 > 0 }
        }
        task.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(value.waiterCount == 0)
    }
}
