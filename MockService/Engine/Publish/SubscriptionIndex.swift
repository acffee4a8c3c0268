import PowerSyncWire

/// Which streams hold which buckets, and whose write checkpoints they wait for; what nobody holds is not in it.
package struct SubscriptionIndex: Sendable {
    private var holders: [ExactText: Set<Mailbox>] = [:]
    private var owners: [ExactText: Set<Mailbox>] = [:]
    /// The mailboxes of all streams.
    package private(set) var mailboxes: Set<Mailbox> = []

    /// Makes an index of no stream.
    package init() {}

    /// Adds a stream.
    package mutating func add(_ mailbox: Mailbox) {
        mailboxes.insert(mailbox)
        owners[mailbox.key, default: []].insert(mailbox)
        for name in mailbox.buckets { holders[name, default: []].insert(mailbox) }
    }

    /// Removes a stream; does nothing if it is not there.
    package mutating func remove(_ mailbox: Mailbox) {
        guard mailboxes.remove(mailbox) != nil else { return }
        Self.remove(mailbox, from: &owners, at: mailbox.key)
        for name in mailbox.buckets { Self.remove(mailbox, from: &holders, at: name) }
    }

    private static func remove(
        _ mailbox: Mailbox, from entries: inout [ExactText: Set<Mailbox>], at name: ExactText
    ) {
        entries[name]?.remove(mailbox)
        if entries[name]?.isEmpty == true { entries[name] = nil }
    }

    /// How many buckets and keys are known.
    package var entryCount: Int { holders.count + owners.count }

    /// Whether a stream holds a bucket.
    package func isHeld(_ bucket: ExactText) -> Bool { holders[bucket] != nil }

    /// Whether a stream could be told of a write checkpoint of a key.
    package func isAwaited(_ key: ExactText) -> Bool { owners[key] != nil }

    /// Finds out whom a publication concerns.
    ///
    /// - Parameters:
    ///   - changed: The buckets that have changed.
    ///   - keys: The keys of write checkpoints that are reached.
    /// - Returns: The totals of the changed buckets that somebody holds, nil if any may have changed, and the mailboxes of
    ///   all who hold one or wait for such a write checkpoint.
    package func concerned(
        by changed: ChangedBuckets, _ keys: some Sequence<ExactText>
    ) -> (buckets: [ExactText: BucketTotals]?, mailboxes: Set<Mailbox>) {
        guard let totals = changed.totals else { return (nil, mailboxes) }
        var buckets: [ExactText: BucketTotals] = [:]
        var concerned: Set<Mailbox> = []
        for (name, totals) in totals {
            guard let found = holders[name] else { continue }
            buckets[name] = totals
            concerned.formUnion(found)
        }
        for key in keys { concerned.formUnion(owners[key] ?? []) }
        return (buckets, concerned)
    }
}
