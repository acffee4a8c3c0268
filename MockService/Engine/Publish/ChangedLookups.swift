/// The keys of lookups that find something else than before, as long as they are not too many to say.
package struct ChangedLookups: Sendable {
    /// The keys; nil if there are too many, or if it is not known which these are: then any key may be one.
    package private(set) var keys: Set<LookupKey>?
    private let limit: Int

    /// Makes keys of which there are none.
    ///
    /// - Parameter limit: How many are kept.
    package init(limit: Int = StoreLimits().changedLookups) {
        keys = []
        self.limit = limit
    }

    /// Any key may be one.
    package static var any: ChangedLookups {
        var lookups = ChangedLookups()
        lookups.keys = nil
        return lookups
    }

    /// Whether there is surely none.
    package var isEmpty: Bool { keys?.isEmpty ?? false }

    /// Adds a key.
    package mutating func insert(_ key: LookupKey) {
        keys?.insert(key)
        bound()
    }

    /// Adds those of a newer checkpoint.
    package mutating func formUnion(_ newer: ChangedLookups) {
        guard let added = newer.keys else {
            keys = nil
            return
        }
        if !added.isEmpty { keys?.formUnion(added) }
        bound()
    }

    private mutating func bound() {
        if let count = keys?.count, count > limit { keys = nil }
    }
}
