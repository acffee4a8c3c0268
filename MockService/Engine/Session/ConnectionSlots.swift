import PowerSyncSystem

/// Counts open streams and refuses more than a limit (service 3.11).
package final class ConnectionSlots: Sendable {
    /// The right to one stream; given back when the last reference goes, however the stream ends.
    package final class Slot: Sendable {
        private let slots: ConnectionSlots

        fileprivate init(_ slots: ConnectionSlots) { self.slots = slots }

        deinit { slots.taken.withLock { $0 -= 1 } }
    }

    private let limit: Int
    private let taken = Lock(0)

    /// Makes slots for so many streams.
    package init(limit: Int) { self.limit = limit }

    /// Takes a slot; nil if all are taken.
    package func take() -> Slot? {
        let isTaken = taken.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
        return isTaken ? Slot(self) : nil
    }

    /// How many streams are open.
    package var count: Int { taken.withLock { $0 } }
}
