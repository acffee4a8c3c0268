import PowerSyncServiceEngine
import PowerSyncTestSupport
import PowerSyncWire
import Testing

struct SubscriptionIndexTests {
    /// Totals that are told from those of other buckets by their names.
    private func totals(_ name: String) -> BucketTotals {
        BucketTotals(id: 1, checksum: Checksum(7), count: Int64(name.utf8.count), lastOperation: 9)
    }

    private func totals(_ names: [String]) -> [ExactText: BucketTotals] {
        Dictionary(uniqueKeysWithValues: names.map { (ExactText($0), totals($0)) })
    }

    private func changed(_ names: [String]) -> ChangedBuckets {
        var buckets = ChangedBuckets()
        for name in names { buckets.insert(ExactText(name), totals(name)) }
        return buckets
    }

    private func mailbox(_ buckets: [String], key: String = "") -> Mailbox {
        Mailbox(buckets: Set(buckets.map { ExactText($0) }), key: ExactText(key))
    }

    @Test func onlyHoldersOfWhatChangedAreConcerned() {
        var index = SubscriptionIndex()
        let (one, two, three) = (mailbox(["a", "b"]), mailbox(["b"]), mailbox(["c"]))
        for mailbox in [one, two, three] { index.add(mailbox) }
        let found = index.concerned(by: changed(["b", "x"]), [])
        #expect(found.buckets == totals(["b"]) && found.mailboxes == [one, two])
        #expect(index.isHeld(ExactText("a")) && !index.isHeld(ExactText("x")))
        #expect(index.concerned(by: changed(["x"]), []).mailboxes.isEmpty)
        let any = index.concerned(by: .any, [])
        #expect(any.buckets == nil && any.mailboxes == [one, two, three])
    }

    /// The spelling counts: "é" as one scalar and as two are two users.
    @Test func onlyStreamsOfAKeyAreConcernedByItsWriteCheckpoints() {
        var index = SubscriptionIndex()
        let (one, two) = (mailbox([], key: "\u{E9}"), mailbox([], key: "e\u{301}"))
        index.add(one)
        index.add(two)
        #expect(index.isAwaited(ExactText("\u{E9}")) && !index.isAwaited(ExactText("e")))
        #expect(index.concerned(by: ChangedBuckets(), [ExactText("\u{E9}")]).mailboxes == [one])
    }

    @Test func nothingIsKeptOfWhoHasGone() {
        var index = SubscriptionIndex()
        let (one, two) = (mailbox(["a", "b"], key: "k"), mailbox(["b"], key: "k"))
        index.add(one)
        index.add(two)
        index.remove(one)
        index.remove(one)
        #expect(index.isAwaited(ExactText("k")) && index.mailboxes == [two] && index.entryCount == 2)
        #expect(index.concerned(by: changed(["a", "b"]), []).buckets == totals(["b"]))
        index.remove(two)
        #expect(!index.isAwaited(ExactText("k")) && index.mailboxes.isEmpty && index.entryCount == 0)
    }

    @Test(.namesSeed) func randomStreamsAreFoundAsIfAllWereLookedAt() async throws {
        try await forEachSeed(50) { random in
            let names = (0..<12).map { "b\($0)" }
            var index = SubscriptionIndex()
            var all: [Mailbox] = []
            for _ in 0..<60 {
                if !all.isEmpty, random.once(in: 3) {
                    index.remove(all.remove(at: random.below(all.count)))
                } else {
                    let one = mailbox(
                        names.filter { _ in random.once(in: 4) }, key: "k\(random.below(3))")
                    all.append(one)
                    index.add(one)
                }
                let some = Set(names.filter { _ in random.once(in: 5) }.map { ExactText($0) })
                let key = ExactText("k\(random.below(3))")
                let found = index.concerned(by: changed(some.map(\.text)), [key])
                let expected = all.filter { !$0.buckets.isDisjoint(with: some) || $0.key == key }
                #expect(found.mailboxes == Set(expected))
                let held = some.filter { name in all.contains { $0.buckets.contains(name) } }
                #expect(found.buckets == totals(held.map(\.text)))
            }
        }
    }

    private func key(_ number: Int64) -> LookupKey { LookupKey(definition: number, key: []) }

    private func changed(_ keys: [Int64]) -> ChangedLookups {
        var lookups = ChangedLookups()
        for number in keys { lookups.insert(key(number)) }
        return lookups
    }

    @Test func onlyUsersOfAChangedLookupAreConcerned() {
        var index = SubscriptionIndex()
        let (one, two, three) = (mailbox([]), mailbox([]), mailbox(["c"]))
        for mailbox in [one, two, three] { index.add(mailbox) }
        index.update(one, buckets: [ExactText("a")], lookups: [key(1), key(2)])
        index.update(two, buckets: [ExactText("b")], lookups: [key(2)])
        let found = index.concerned(by: ChangedBuckets(), lookups: changed([1, 9]), [])
        #expect(found.lookups == [key(1)] && found.mailboxes == [one])
        #expect(index.concerned(by: ChangedBuckets(), lookups: changed([2]), []).mailboxes == [one, two])
        #expect(index.concerned(by: changed(["a"]), []).mailboxes == [one])
        // Any key may have changed: who uses one is told.
        let any = index.concerned(by: ChangedBuckets(), lookups: .any, [])
        #expect(any.lookups == nil && any.mailboxes == [one, two])
        // What is held no more concerns nobody.
        index.update(one, buckets: [], lookups: [])
        #expect(index.concerned(by: changed(["a"]), lookups: changed([1]), []).mailboxes.isEmpty)
        index.remove(two)
        index.remove(three)
        #expect(index.concerned(by: ChangedBuckets(), lookups: changed([2]), []).mailboxes.isEmpty)
        index.remove(one)
        #expect(index.entryCount == 0)
    }

    /// Nobody knows yet what concerns it.
    @Test func everythingConcernsWhoFindsOutWhatItHolds() {
        var index = SubscriptionIndex()
        let (one, two) = (mailbox([]), mailbox(["b"]))
        index.add(one)
        index.add(two)
        index.open(one)
        #expect(index.isOpen(one) && !index.isOpen(two))
        let found = index.concerned(by: changed(["a", "b"]), lookups: changed([1]), [])
        #expect(found.buckets == totals(["a", "b"]) && found.lookups == [key(1)])
        #expect(found.mailboxes == [one, two])
        index.update(one, buckets: [ExactText("a")], lookups: [key(1)])
        #expect(!index.isOpen(one))
        #expect(index.concerned(by: changed(["x"]), lookups: changed([2]), []).mailboxes.isEmpty)
        // Who has gone in the meantime holds nothing.
        index.open(one)
        index.remove(one)
        index.update(one, buckets: [ExactText("a")], lookups: [key(1)])
        index.open(one)
        #expect(!index.isHeld(ExactText("a")) && !index.isOpen(one))
    }

    @Test func tooManyLookupsAreAny() {
        var lookups = ChangedLookups(limit: 2)
        #expect(lookups.isEmpty)
        for number in [1, 2, 1] as [Int64] { lookups.insert(key(number)) }
        #expect(lookups.known == [key(1), key(2)] && !lookups.isEmpty)
        lookups.insert(key(3))
        #expect(lookups.known == nil && !lookups.isEmpty)
        var others = changed([7])
        others.formUnion(lookups)
        #expect(others.known == nil)
        lookups.formUnion(changed([1]))
        #expect(lookups.known == nil)
    }

    @Test func tooManyBucketsAreAny() {
        var buckets = ChangedBuckets(limit: 2)
        #expect(buckets.isEmpty)
        for name in ["a", "bb", "a"] { buckets.insert(ExactText(name), totals(name)) }
        #expect(buckets.known == totals(["a", "bb"]) && !buckets.isEmpty)
        buckets.insert(ExactText("c"), totals("c"))
        #expect(buckets.known == nil && !buckets.isEmpty)
        buckets.insert(ExactText("a"), totals("a"))
        #expect(buckets.known == nil)
        var others = changed(["x"])
        others.formUnion(buckets)
        #expect(others.known == nil)
        #expect(StoreLimits().changedBuckets == 65_536)
    }

    @Test func theNewerTotalsOfABucketCount() {
        var buckets = changed(["a", "b"])
        var newer = ChangedBuckets()
        newer.insert(ExactText("b"), totals("longer"))
        buckets.formUnion(newer)
        #expect(buckets.known == [ExactText("a"): totals("a"), ExactText("b"): totals("longer")])
    }
}
