import PowerSyncWire

/// Which streams hold which buckets, which keys of lookups these come of, and whose write checkpoints they wait for; what
/// nobody holds is not in it.
package struct SubscriptionIndex: Sendable {
    private var holders: [ExactText: Set<Mailbox>] = [:]
    private var users: [LookupKey: Set<Mailbox>] = [:]
    private var owners: [ExactText: Set<Mailbox>] = [:]
    /// Those that are finding out what they hold.
    private var opened: Set<Mailbox> = []
    /// The mailboxes of all streams.
    package private(set) var mailboxes: Set<Mailbox> = []

    /// Whom a publication concerns, and what it has to say.
    package struct Concerned {
        /// The totals of the changed buckets that somebody holds or may be about to hold; nil if any may have changed.
        package var buckets: [ExactText: BucketTotals]?
        /// The changed keys of lookups that somebody uses or may be about to use; nil if any may have changed.
        package var lookups: Set<LookupKey>?
        /// Who is told.
        package var mailboxes: Set<Mailbox>
    }

    /// Makes an index of no stream.
    package init() {}

    /// Adds a stream with what its mailbox says that it holds.
    package mutating func add(_ mailbox: Mailbox) {
        mailboxes.insert(mailbox)
        owners[mailbox.key, default: []].insert(mailbox)
        addHoldings(of: mailbox)
    }

    /// Removes a stream; does nothing if it is not there.
    package mutating func remove(_ mailbox: Mailbox) {
        guard mailboxes.remove(mailbox) != nil else { return }
        opened.remove(mailbox)
        Self.remove(mailbox, from: &owners, at: mailbox.key)
        removeHoldings(of: mailbox)
    }

    /// Lets a stream find out what it holds: until `update` everything concerns it; does nothing if it is not there.
    package mutating func open(_ mailbox: Mailbox) {
        guard mailboxes.contains(mailbox) else { return }
        opened.insert(mailbox)
        mailbox.setOpen(true)
    }

    /// Whether a stream is finding out what it holds.
    package func isOpen(_ mailbox: Mailbox) -> Bool { opened.contains(mailbox) }

    /// Takes note of what a stream holds, and tells its mailbox.
    ///
    /// - Parameters:
    ///   - mailbox: The stream; if it is not there any more nothing is noted.
    ///   - buckets: Its buckets, by whole name.
    ///   - lookups: The keys of lookups that these come of.
    package mutating func update(_ mailbox: Mailbox, buckets: Set<ExactText>, lookups: Set<LookupKey>) {
        guard mailboxes.contains(mailbox) else { return }
        opened.remove(mailbox)
        removeHoldings(of: mailbox)
        mailbox.hold(buckets, lookups)
        addHoldings(of: mailbox)
    }

    private mutating func addHoldings(of mailbox: Mailbox) {
        let holdings = mailbox.holdings
        for name in holdings.buckets { holders[name, default: []].insert(mailbox) }
        for key in holdings.lookups { users[key, default: []].insert(mailbox) }
    }

    private mutating func removeHoldings(of mailbox: Mailbox) {
        let holdings = mailbox.holdings
        for name in holdings.buckets { Self.remove(mailbox, from: &holders, at: name) }
        for key in holdings.lookups { Self.remove(mailbox, from: &users, at: key) }
    }

    private static func remove<Key: Hashable>(
        _ mailbox: Mailbox, from entries: inout [Key: Set<Mailbox>], at name: Key
    ) {
        entries[name]?.remove(mailbox)
        if entries[name]?.isEmpty == true { entries[name] = nil }
    }

    /// How many buckets and keys are known.
    package var entryCount: Int { holders.count + users.count + owners.count }

    /// Whether a stream holds a bucket.
    package func isHeld(_ bucket: ExactText) -> Bool { holders[bucket] != nil }

    /// Whether a stream could be told of a write checkpoint of a key.
    package func isAwaited(_ key: ExactText) -> Bool { owners[key] != nil }

    /// Finds out whom a publication concerns.
    ///
    /// - Parameters:
    ///   - changed: The buckets that have changed.
    ///   - lookups: The keys of lookups that find something else.
    ///   - keys: The keys of write checkpoints that are reached.
    /// - Returns: All who hold such a bucket, use such a key of a lookup or wait for such a write checkpoint, with what of
    ///   that somebody holds or uses; who finds out what it holds is concerned by everything.
    package func concerned(
        by changed: ChangedBuckets, lookups: ChangedLookups = ChangedLookups(),
        _ keys: some Sequence<ExactText>
    ) -> Concerned {
        var concerned = Concerned(buckets: [:], lookups: [], mailboxes: opened)
        for key in keys { concerned.mailboxes.formUnion(owners[key] ?? []) }
        addUsers(of: lookups, to: &concerned)
        guard let totals = changed.known else {
            concerned.buckets = nil
            concerned.mailboxes = mailboxes
            return concerned
        }
        guard opened.isEmpty else {
            concerned.buckets = totals
            for name in totals.keys { concerned.mailboxes.formUnion(holders[name] ?? []) }
            return concerned
        }
        for (name, totals) in totals {
            guard let found = holders[name] else { continue }
            concerned.buckets?[name] = totals
            concerned.mailboxes.formUnion(found)
        }
        return concerned
    }

    private func addUsers(of lookups: ChangedLookups, to concerned: inout Concerned) {
        guard let changed = lookups.known else {
            concerned.lookups = nil
            for found in users.values { concerned.mailboxes.formUnion(found) }
            return
        }
        for key in changed {
            guard let found = users[key] else { continue }
            concerned.lookups?.insert(key)
            concerned.mailboxes.formUnion(found)
        }
        if !opened.isEmpty { concerned.lookups = changed }
    }
}
