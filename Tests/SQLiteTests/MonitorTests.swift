import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncSQLite

@Suite(.patient())
struct MonitorTests {
    /// Counts how often threads look at the state: what a read of a pool with idle readers costs beside the read.
    @Test func onePieceOfWorkWakesOneOfThoseWhoWait() async throws {
        let threads = 8
        let (looks, ended) = (Lock(0), Lock(0))
        let monitor = Monitor(0)
        for _ in 0..<threads {
            try DetachedThread.start {
                monitor.wait { work -> Void? in
                    looks.withLock { $0 += 1 }
                    guard work > 0 else { return nil }
                    work -= 1
                    return ()
                }
                ended.withLock { $0 += 1 }
            }
        }
        // Whoever has looked waits when the state can be changed.
        try await wait(for: "all threads to look", read: { looks.withLock { $0 } }, until: { $0 == threads })
        for number in 1...threads {
            monitor.change(waking: .one) { $0 += 1 }
            try await wait(for: "one to end", read: { ended.withLock { $0 } }, until: { $0 == number })
        }
        // Each looked once at first and once when it was woken; 44 looks if everybody is woken each time.
        let count = looks.withLock { $0 }
        #expect(count < 3 * threads, "\(count) looks, 16 expected but for spurious ones")
    }

    @Test func everybodyIsWokenWhereEverybodyIsConcerned() async throws {
        let ended = Lock(0)
        let monitor = Monitor(false)
        for _ in 0..<4 {
            try DetachedThread.start {
                monitor.wait { isOver -> Void? in isOver ? () : nil }
                ended.withLock { $0 += 1 }
            }
        }
        monitor.change(waking: .everybody) { $0 = true }
        try await wait(for: "all to end", read: { ended.withLock { $0 } }, until: { $0 == 4 })
    }

    @Test func whoHasBegunToWaitLastIsWokenFirst() async throws {
        let (waiting, order) = (Lock(0), Lock<[Int]>([]))
        let monitor = Monitor(0)
        for number in 0..<3 {
            try DetachedThread.start {
                monitor.wait { work -> Void? in
                    waiting.withLock { $0 += 1 }
                    guard work > 0 else { return nil }
                    work -= 1
                    return ()
                }
                order.withLock { $0.append(number) }
            }
            try await wait(for: "it to look", read: { waiting.withLock { $0 } }, until: { $0 == number + 1 })
        }
        for count in 1...3 {
            monitor.change(waking: .one) { $0 += 1 }
            try await wait(for: "one to end", read: { order.withLock { $0.count } }, until: { $0 == count })
        }
        #expect(order.withLock { $0 } == [2, 1, 0])
    }
}
