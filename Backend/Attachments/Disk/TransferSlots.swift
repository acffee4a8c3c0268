import PowerSyncSystem

/// How many transfers there may be at a time: each holds a piece of its bytes.
final class TransferSlots: Sendable {
    /// The place of one transfer, which is free again when this goes.
    final class Slot: Sendable {
        private let slots: TransferSlots

        fileprivate init(_ slots: TransferSlots) { self.slots = slots }

        deinit { slots.taken.withLock { $0 -= 1 } }
    }

    private let limit: Int
    private let taken = Lock(0)

    /// Makes places.
    ///
    /// - Parameter limit: How many.
    init(limit: Int) {
        self.limit = limit
    }

    /// How many are taken.
    var count: Int { taken.withLock { $0 } }

    /// Takes a place; nil if there is none.
    func take() -> Slot? {
        let isFree = taken.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
        return isFree ? Slot(self) : nil
    }
}
