import PowerSync
import PowerSyncSystem

/// What has happened and is not told yet.
///
/// Adding an event never waits. As many as there is room for are told one by one; beyond that the last one stands for
/// several, and counts them, so that none is lost.
package final class UntoldEvents<Content: Sendable>: Sendable {
    /// One event, or several.
    package struct Event: Sendable {
        /// What has happened, the last of them.
        package var content: Content
        /// How many there are.
        package var count: Int

        /// Makes an event of its parts.
        package init(_ content: Content, count: Int = 1) {
            self.content = content
            self.count = count
        }
    }

    /// How many events wait to be told.
    package static var limit: Int { 1024 }

    private let events = Lock<[Event]>([])
    private let arrival = AsyncFlag()

    /// Makes a list of no events.
    package init() {}

    /// Adds an event; never blocks.
    ///
    /// - Parameter content: what has happened.
    package func add(_ content: Content) {
        events.withLock { events in
            if events.count < Self.limit {
                events.append(Event(content))
            } else {
                events[Self.limit - 1].content = content
                events[Self.limit - 1].count += 1
            }
        }
        arrival.raise()
    }

    /// Takes the next event, waiting for it; for one task at a time.
    ///
    /// - Throws: `CancellationError`; nothing is taken then.
    package func next() async throws -> Event {
        while true {
            if let event = take() { return event }
            try await arrival.wait()
        }
    }

    /// Takes the next event; nil if there is none.
    package func take() -> Event? {
        events.withLock { events -> Event? in events.isEmpty ? nil : events.removeFirst() }
    }
}

extension UntoldEvents.Event: Equatable where Content: Equatable {}
