import PowerSyncMockService
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

    @Test func tooManyBucketsAreAny() {
        var buckets = ChangedBuckets(limit: 2)
        #expect(buckets.isEmpty)
        for name in ["a", "bb", "a"] { buckets.insert(ExactText(name), totals(name)) }
        #expect(buckets.totals == totals(["a", "bb"]) && !buckets.isEmpty)
        buckets.insert(ExactText("c"), totals("c"))
        #expect(buckets.totals == nil && !buckets.isEmpty)
        buckets.insert(ExactText("a"), totals("a"))
        #expect(buckets.totals == nil)
        var others = changed(["x"])
        others.formUnion(buckets)
        #expect(others.totals == nil)
        #expect(StoreLimits().changedBuckets == 65_536)
    }

    @Test func theNewerTotalsOfABucketCount() {
        var buckets = changed(["a", "b"])
        var newer = ChangedBuckets()
        newer.insert(ExactText("b"), totals("longer"))
        buckets.formUnion(newer)
        #expect(buckets.totals == [ExactText("a"): totals("a"), ExactText("b"): totals("longer")])
    }
}
