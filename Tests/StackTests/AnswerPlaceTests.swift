import PowerSyncStack
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct AnswerPlaceTests {
    private let poller: Poller
    private let places: Budget

    init() throws {
        poller = try Poller()
        places = Budget(2, poller: poller)
    }

    @Test func moreThanThereAreHaveToWait() async throws {
        defer { poller.stop() }
        let output = AnswerOutput { _ in }
        let first = AnswerPlace(among: places, output)
        let second = AnswerPlace(among: places, output)
        let third = AnswerPlace(among: places, output)
        try await first.take()
        try await second.take()
        let waiting = Task { try await third.take() }
        try await wait(for: "the third to wait") { places.waiting == 1 }
        // What is left twice is left once.
        first.leave()
        first.leave()
        try await wait(forEndOf: waiting)
        #expect(places.taken == 2)
        second.leave()
        third.leave()
        #expect(places.taken == 0)
    }

    /// However many there are, they make nothing while others are not written.
    @Test func nobodyBeginsWhileMuchIsNotWritten() async throws {
        defer { poller.stop() }
        let gate = BlockingGate()
        defer { gate.open() }
        let output = AnswerOutput { _ in gate.wait() }
        output.put(String(repeating: "x", count: 2 << 20))
        try await wait(for: "a write that stands still") { gate.arrivals == 1 }
        let (first, second) = (AnswerPlace(among: places, output), AnswerPlace(among: places, output))
        let isThrough = Lock(false)
        let taking = Task {
            try await first.take()
            isThrough.withLock { $0 = true }
        }
        let givingUp = Task { try await second.take() }
        try await wait(for: "both to wait") { output.waiting == 2 }
        #expect(!isThrough.withLock { $0 })
        givingUp.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: givingUp) }
        second.leave()
        #expect(places.taken == 1)
        gate.open()
        try await wait(forEndOf: taking)
        #expect(isThrough.withLock { $0 })
        first.leave()
        #expect(places.taken == 0)
    }
}
