import PowerSyncSystem

/// Counts open streams and refuses more than a limit (service 3.11).
final class ConnectionSlots: Sendable {
    /// The right to one stream; given back when the last reference goes, however the stream ends.
    final class Slot: Sendable {
        private let slots: ConnectionSlots

        fileprivate init(_ slots: ConnectionSlots) { self.slots = slots }

        deinit { slots.count.withLock { $0 -= 1 } }
    }

    private let limit: Int
    private let count = Lock(0)

    init(limit: Int) { self.limit = limit }

    /// Takes a slot; nil if all are taken.
    func take() -> Slot? {
        let isFree = count.withLock { count in
            guard count < limit else { return false }
            count += 1
            return true
        }
        return isFree ? Slot(self) : nil
    }
}
