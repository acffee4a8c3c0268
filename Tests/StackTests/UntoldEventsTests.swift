import Foundation
import PowerSyncStack
import PowerSyncTestSupport
import Testing

@Suite(.patient())
struct UntoldEventsTests {
    private typealias Events = UntoldEvents<Date>

    private static func date(_ seconds: Int) -> Date { Date(timeIntervalSince1970: Double(seconds)) }

    @Test func eachIsToldInItsOrder() async throws {
        let events = Events()
        #expect(events.take() == nil)
        let next = Task { try await events.next() }
        events.add(Self.date(1))
        #expect(try await wait(forEndOf: next) == Events.Event(Self.date(1)))
        for second in 2...3 { events.add(Self.date(second)) }
        #expect(try await events.next().content == Self.date(2))
        #expect(events.take()?.content == Self.date(3))
        #expect(events.take() == nil)
    }

    @Test func ofMoreThanThereIsRoomForTheLastCounts() async throws {
        let events = Events()
        for second in 1...Events.limit + 2 { events.add(Self.date(second)) }
        for second in 1..<Events.limit {
            #expect(try await events.next() == Events.Event(Self.date(second)))
        }
        let last = try await events.next()
        #expect(last == Events.Event(Self.date(Events.limit + 2), count: 3))
        #expect(events.take() == nil)
        // There is room again.
        events.add(Self.date(9))
        #expect(events.take() == Events.Event(Self.date(9)))
    }

    @Test func aWaitThatIsCancelledTakesNothing() async throws {
        let events = Events()
        let next = Task { try await events.next() }
        next.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: next) }
        events.add(Self.date(1))
        #expect(try await events.next().content == Self.date(1))
    }
}
