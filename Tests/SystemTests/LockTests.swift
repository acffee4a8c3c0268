import PowerSyncSystem
import Testing

struct LockTests {
    @Test func noIncrementIsLost() async {
        let lock = Lock(0)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<10_000 { lock.withLock { $0 += 1 } } }
            }
        }
        #expect(lock.withLock { $0 } == 80_000)
    }

    @Test func anErrorLeavesTheLockOpen() {
        let lock = Lock("a")
        #expect(throws: CancellationError.self) {
            try lock.withLock { state in
                state = "b"
                throw CancellationError()
            }
        }
        #expect(lock.withLock { $0 } == "b")
    }
}
