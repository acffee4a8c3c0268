import PowerSyncWire

/// The buckets that were written to, by whole name, with their totals at a checkpoint.
package typealias ChangedBuckets = BoundedChanges<[ExactText: BucketTotals]>
/// The keys of lookups that find something else than before.
package typealias ChangedLookups = BoundedChanges<Set<LookupKey>>
/// The write checkpoints that rows have set: their ids by key.
package typealias SetWriteCheckpoints = BoundedChanges<[ExactText: Int64]>

/// What has changed of one kind, as long as it is not too much to say.
package struct BoundedChanges<Content: ChangedContent & Sendable>: Sendable {
    /// What is known, and how much of it may be; once that is nothing it stays so.
    private var bounded: (content: Content, limit: Int)?

    private init(_ bounded: (content: Content, limit: Int)?) { self.bounded = bounded }

    /// Any may have changed.
    package static var any: BoundedChanges { BoundedChanges(nil) }

    /// All of it; nil if it is too much, or if it is not known which it is: then any may be of it.
    package var known: Content? { bounded?.content }

    /// Whether surely none has.
    package var isEmpty: Bool { known?.isEmpty ?? false }

    /// Adds those of a newer checkpoint, which take the place of those that are there.
    package mutating func formUnion(_ newer: BoundedChanges) {
        guard let added = newer.known else {
            bounded = nil
            return
        }
        if !added.isEmpty { bounded?.content.add(added) }
        bound()
    }

    private mutating func bound() {
        if let bounded, bounded.content.count > bounded.limit { self.bounded = nil }
    }
}

extension ChangedBuckets {
    /// Makes buckets of which there are none.
    ///
    /// - Parameter limit: How many are kept.
    package init(limit: Int = StoreLimits().changedBuckets) { self.init((content: [:], limit: limit)) }

    /// Adds a bucket, or the newer totals of one.
    package mutating func insert(_ name: ExactText, _ totals: BucketTotals) {
        bounded?.content[name] = totals
        bound()
    }
}

extension ChangedLookups {
    /// Makes keys of which there are none.
    ///
    /// - Parameter limit: How many are kept.
    package init(limit: Int = StoreLimits().changedLookups) { self.init((content: [], limit: limit)) }

    /// Adds a key.
    package mutating func insert(_ key: LookupKey) {
        bounded?.content.insert(key)
        bound()
    }
}

extension SetWriteCheckpoints {
    /// Makes ids of which there are none.
    ///
    /// - Parameter limit: How many are kept.
    package init(limit: Int = StoreLimits().changedLookups) { self.init((content: [:], limit: limit)) }

    /// Adds one, which is larger than the one before of its client.
    package mutating func insert(_ named: CustomWriteCheckpoint) {
        bounded?.content[named.key] = named.id
        bound()
    }
}

/// What changes are kept in.
package protocol ChangedContent: Collection {
    /// Adds newer ones, which take the place of those that are there.
    mutating func add(_ newer: Self)
}

extension Set: ChangedContent {
    /// Adds elements.
    package mutating func add(_ newer: Set) { formUnion(newer) }
}

extension Dictionary: ChangedContent {
    /// Adds values, each in the place of the one that its key has.
    package mutating func add(_ newer: Dictionary) { merge(newer) { $1 } }
}
