import PowerSyncWire

/// The buckets that were written to, with their totals at a checkpoint, as long as they are not too many to say.
package struct ChangedBuckets: Sendable {
    /// The totals by whole name; nil if there are too many, or if it is not known which these are: then any bucket may be
    /// one.
    package private(set) var totals: [ExactText: BucketTotals]?
    private let limit: Int

    /// Makes buckets of which there are none.
    ///
    /// - Parameter limit: How many are kept.
    package init(limit: Int = StoreLimits().changedBuckets) {
        totals = [:]
        self.limit = limit
    }

    /// Any bucket may be one.
    package static var any: ChangedBuckets {
        var buckets = ChangedBuckets()
        buckets.totals = nil
        return buckets
    }

    /// Whether there is surely none.
    package var isEmpty: Bool { totals?.isEmpty ?? false }

    /// Adds a bucket, or the newer totals of one.
    package mutating func insert(_ name: ExactText, _ totals: BucketTotals) {
        self.totals?[name] = totals
        bound()
    }

    /// Adds those of a newer checkpoint, whose totals take the place of those that are there.
    package mutating func formUnion(_ newer: ChangedBuckets) {
        guard let added = newer.totals else {
            totals = nil
            return
        }
        totals?.merge(added) { $1 }
        bound()
    }

    private mutating func bound() {
        if let count = totals?.count, count > limit { totals = nil }
    }
}
