import PowerSyncWire

/// The names of buckets that were written to, as long as they are not too many to say.
package struct ChangedBuckets: Sendable {
    /// The whole names; nil if there are too many, or if it is not known which these are: then any bucket may be one.
    package private(set) var names: Set<ExactText>?
    private let limit: Int

    /// Makes names of which there are none.
    ///
    /// - Parameter limit: How many names are kept.
    package init(limit: Int = StoreLimits().changedBuckets) {
        names = []
        self.limit = limit
    }

    /// Any bucket may be one.
    package static var any: ChangedBuckets {
        var buckets = ChangedBuckets()
        buckets.names = nil
        return buckets
    }

    /// Adds a name.
    package mutating func insert(_ name: ExactText) {
        names?.insert(name)
        bound()
    }

    /// Adds the names of others.
    package mutating func formUnion(_ other: ChangedBuckets) {
        guard let added = other.names else {
            names = nil
            return
        }
        names?.formUnion(added)
        bound()
    }

    private mutating func bound() {
        if let count = names?.count, count > limit { names = nil }
    }
}
