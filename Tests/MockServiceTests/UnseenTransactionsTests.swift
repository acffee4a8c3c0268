import PowerSyncPostgres
import Testing

@testable import PowerSyncPostgresSource

/// What the stream says while transactions are not to be seen yet.
struct UnseenTransactionsTests {
    @Test func whatWasTakenMakesRoomForMore() {
        var frames = PostgresFrames()
        [UInt8](repeating: 0, count: 100).withUnsafeBytes { frames.append($0) }
        var unseen = UnseenTransactions(limit: 1 << 10)
        var kept = 0
        while unseen.hasRoom {
            unseen.keep(frames)
            kept += 1
        }
        // Each message counts for 128 bytes more.
        #expect(kept == 5)
        let first = unseen.takeKept()
        #expect(first == frames && unseen.hasRoom)
        unseen.keep(frames)
        #expect(!unseen.hasRoom)
        while unseen.takeKept() != nil { kept -= 1 }
        #expect(kept == 0 && unseen.hasRoom)
    }
}
