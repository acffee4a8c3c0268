import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// Write checkpoints that wait for the log (service 1.8).
struct PendingHeadsTests {
    private let a = ExactText("a")
    private let b = ExactText("b")

    private func at(_ position: UInt64) -> LSN { LSN(rawValue: position) }

    @Test func whatIsReachedIsTakenOnce() {
        var heads = PendingHeads()
        heads.add(1, of: a, at: at(10))
        heads.add(7, of: b, at: at(20))
        #expect(!heads.isReached(at: at(9)))
        #expect(heads.take(upTo: at(9)) == [:])
        #expect(heads.isReached(at: at(10)))
        #expect(heads.take(upTo: at(10)) == [a: 1])
        #expect(heads.take(upTo: at(30)) == [b: 7])
        #expect(heads.take(upTo: at(30)) == [:])
        #expect(heads.count == 0)
    }

    @Test func ofAKeyTheNewestIsWaitedFor() {
        var heads = PendingHeads()
        heads.add(2, of: a, at: at(20))
        // Two requests at once may come here in another order than they were stored in.
        heads.add(1, of: a, at: at(10))
        #expect(heads.take(upTo: at(15)) == [:])
        heads.add(3, of: a, at: at(30))
        #expect(heads.take(upTo: at(25)) == [:])
        #expect(heads.take(upTo: at(30)) == [a: 3])
    }

    /// There is none behind the largest one.
    @Test func anIdThatIsGivenAgainWaitsForItsNewHead() {
        var heads = PendingHeads()
        heads.add(.max, of: a, at: at(10))
        heads.add(.max, of: a, at: at(20))
        #expect(heads.take(upTo: at(10)) == [:])
        #expect(heads.take(upTo: at(20)) == [a: .max])
    }

    @Test func headsThatWereLostWithTheLogAreLowered() {
        var heads = PendingHeads()
        heads.add(1, of: a, at: at(100))
        heads.add(1, of: b, at: at(300))
        heads.lower(upTo: at(200), to: at(50))
        #expect(heads.take(upTo: at(49)) == [:])
        #expect(heads.take(upTo: at(50)) == [a: 1])
        #expect(heads.take(upTo: at(300)) == [b: 1])
    }

    /// A client that asks again and again while the log stands still.
    @Test func whatIsOverDoesNotGrow() {
        var heads = PendingHeads()
        for id in 1...10_000 { heads.add(Int64(id), of: a, at: at(UInt64(id))) }
        for id in 1...10_000 {
            let key = ExactText("k\(id)")
            heads.add(1, of: key, at: at(5))
            heads.remove(key)
        }
        #expect(heads.count == 1 && heads.entryCount < 100)
        #expect(heads.take(upTo: at(10_000)) == [a: 10_000])
    }

    @Test(.namesSeed) func randomHeadsAreToldAsIfAllWereLookedAt() async throws {
        try await forEachSeed(100) { random in
            var heads = PendingHeads()
            var waiting: [ExactText: (id: Int64, head: UInt64)] = [:]
            var position: UInt64 = 0
            for id in 1...100 {
                let key = ExactText("k\(random.below(8))")
                switch random.below(4) {
                case 0: position += UInt64(random.below(20))
                case 1:
                    heads.remove(key)
                    waiting[key] = nil
                default:
                    let head = position + UInt64(random.below(30))
                    heads.add(Int64(id), of: key, at: at(head))
                    waiting[key] = (Int64(id), head)
                }
                let reached = waiting.filter { $0.value.head <= position }
                for key in reached.keys { waiting[key] = nil }
                #expect(heads.take(upTo: at(position)) == reached.mapValues(\.id))
                #expect(heads.count == waiting.count)
            }
        }
    }
}
