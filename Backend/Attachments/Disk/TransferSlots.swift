import PowerSyncSystem

/// How many transfers there may be at a time, in all and of each user: each holds a file and a piece of its bytes.
final class TransferSlots: Sendable {
    /// The place of one transfer, which is free again when this goes.
    final class Slot: Sendable {
        private let slots: TransferSlots
        private let user: String

        fileprivate init(_ slots: TransferSlots, _ user: String) {
            self.slots = slots
            self.user = user
        }

        deinit { slots.giveBack(user) }
    }

    private let limit: Int
    private let perUser: Int
    private let taken = Lock<(all: Int, users: [String: Int])>((0, [:]))

    /// Makes places.
    ///
    /// - Parameters:
    ///   - limit: How many.
    ///   - perUser: The most of one user.
    init(limit: Int, perUser: Int) {
        self.limit = limit
        self.perUser = perUser
    }

    /// How many are taken.
    var count: Int { taken.withLock { $0.all } }

    /// Takes a place; nil if there is none, or none for this user.
    ///
    /// - Parameter user: What the user is called.
    /// - Returns: The place, which is free again when it goes.
    func take(for user: String) -> Slot? {
        let isFree = taken.withLock { taken in
            guard taken.all < limit, taken.users[user, default: 0] < perUser else { return false }
            taken.all += 1
            taken.users[user, default: 0] += 1
            return true
        }
        return isFree ? Slot(self, user) : nil
    }

    private func giveBack(_ user: String) {
        taken.withLock { taken in
            taken.all -= 1
            taken.users[user, default: 0] -= 1
            if taken.users[user] == 0 { taken.users[user] = nil }
        }
    }
}
