import PowerSyncServiceEngine
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Who writes, and who waits for that.
@Suite(.patient())
struct StoreActivityTests {
    @Test func eachSourceIsAskedAsLongAsItIsThere() async {
        let activity = StoreActivity()
        let isUnderWay = Lock(true)
        #expect(!activity.isAwaited)
        await activity.awaiting({ isUnderWay.withLock { $0 } }) {
            await activity.awaiting({ false }) { #expect(activity.isAwaited) }
            isUnderWay.withLock { $0 = false }
            #expect(!activity.isAwaited)
            isUnderWay.withLock { $0 = true }
            #expect(activity.isAwaited)
        }
        #expect(!activity.isAwaited && activity.writes == 0)
    }

    @Test func whoWaitsIsWokenByTheNextWrite() async throws {
        let activity = StoreActivity()
        activity.noteWrite()
        // It has come already.
        try await activity.next(after: 0)
        let next = Task { try await activity.next(after: 1) }
        let later = Task { try await activity.next(after: 2) }
        activity.noteWrite()
        try await wait(forEndOf: next)
        activity.noteWrite()
        try await wait(forEndOf: later)
        #expect(activity.writes == 3)
    }

    @Test func whoIsCancelledDoesNotWait() async throws {
        let activity = StoreActivity()
        let gate = Gate()
        let waiting = Task {
            await gate.pass()
            try await activity.next(after: 0)
        }
        waiting.cancel()
        gate.open()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: waiting) }
        let second = Task { try await activity.next(after: 0) }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: second) }
    }

    /// Each piece of work that changes something counts, upkeep's own, too.
    @Test func aStoreSaysWhenItWasWrittenTo() async throws {
        try await StoreFixture.withFolder { path in
            let fixture = try await StoreFixture(path: path)
            let activity = fixture.store.activity
            var writes = activity.writes
            _ = try await fixture.apply([.insert(StoreFixture.row("a", "u1"))], commit: 1)
            #expect(activity.writes > writes)
            writes = activity.writes
            _ = try await fixture.operations("u1")
            _ = try await fixture.count("segment")
            #expect(activity.writes == writes)
            try await fixture.close()
        }
    }
}
