import PowerSync
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The checkpoints that were applied and are not told yet.
///
/// Adding one never waits. As many as there is room for are told one by one; beyond that the last one stands for
/// several, and counts them, so that none is lost.
package final class CheckpointEvents: Sendable {
    /// One or more checkpoints.
    package struct Event: Sendable, Equatable {
        /// When the last of them was applied.
        package var time: Date
        /// How many there are.
        package var count: Int

        /// Makes an event of its parts.
        package init(time: Date, count: Int = 1) {
            self.time = time
            self.count = count
        }
    }

    /// How many events wait to be told.
    package static let limit = 1024

    private let events = Lock<[Event]>([])
    private let arrival = AsyncFlag()

    /// Makes a list of no events.
    package init() {}

    /// Adds a checkpoint; never blocks.
    ///
    /// - Parameter time: when it was applied.
    package func add(_ time: Date) {
        events.withLock { events in
            if events.count < Self.limit {
                events.append(Event(time: time))
            } else {
                events[Self.limit - 1].time = time
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
