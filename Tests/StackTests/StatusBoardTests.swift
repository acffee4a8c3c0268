import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSyncStack

@Suite(.patient())
struct StatusBoardTests {
    /// Two find something out at a time, and the second one is done before the first.
    @Test func theNewestStatusIsShownLast() {
        let shown = Lock<[Int]>([])
        let other = Lock<StatusBoard?>(nil)
        let board = StatusBoard(retry: 1) { status in
            // What another task does meanwhile.
            if status.queued == 1 { other.withLock { $0 }?.change { $0.queued = 2 } }
            shown.withLock { $0.append(status.queued) }
        }
        other.withLock { $0 = board }
        board.change { $0.queued = 1 }
        #expect(shown.withLock { $0 } == [1, 2])
        #expect(board.current.queued == 2)
        board.change { $0.queued = 2 }
        #expect(shown.withLock { $0 }.count == 2, "it is the same")
        board.change { $0.queued = 3 }
        #expect(shown.withLock { $0 } == [1, 2, 3])
        other.withLock { $0 = nil }
    }

    @Test func theNewsStandInTheOrderOfTheChanges() async {
        let board = StatusBoard(retry: 0.5) { _ in }
        board.change { $0.isWanted = true }
        board.change { $0.isConnected = true }
        board.tell("told")
        board.change { $0.hasSynced = false }
        board.change { $0.hasSynced = true }
        var news = board.news.makeAsyncIterator()
        for line in ["connected", "told", "first sync complete"] {
            #expect(await news.next() == line)
        }
    }
}
