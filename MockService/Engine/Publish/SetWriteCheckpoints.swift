import PowerSyncWire

/// The write checkpoints that rows have set, as long as they are not too many to say.
package struct SetWriteCheckpoints: Sendable {
    /// The ids by key; nil if there are too many, or if it is not known which these are: then any client may have one.
    package private(set) var ids: [ExactText: Int64]?
    private let limit: Int

    /// Makes ids of which there are none.
    ///
    /// - Parameter limit: How many are kept.
    package init(limit: Int = StoreLimits().changedLookups) {
        ids = [:]
        self.limit = limit
    }

    /// Any client may have one.
    package static var any: SetWriteCheckpoints {
        var set = SetWriteCheckpoints()
        set.ids = nil
        return set
    }

    /// Whether there is surely none.
    package var isEmpty: Bool { ids?.isEmpty ?? false }

    /// Adds one, which is larger than the one before of its client.
    package mutating func insert(_ named: CustomWriteCheckpoint) {
        ids?[named.key] = named.id
        bound()
    }

    /// Adds those of a newer checkpoint.
    package mutating func formUnion(_ newer: SetWriteCheckpoints) {
        guard let added = newer.ids else {
            ids = nil
            return
        }
        if !added.isEmpty { ids?.merge(added) { $1 } }
        bound()
    }

    private mutating func bound() {
        if let count = ids?.count, count > limit { ids = nil }
    }
}
