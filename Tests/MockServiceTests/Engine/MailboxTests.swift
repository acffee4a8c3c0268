import PowerSyncPostgresValues
import PowerSyncSyncRules
import PowerSyncSystem
import PowerSyncTestSupport
import PowerSyncWire
import Testing

@testable import PowerSyncServiceEngine

@Suite(.patient())
struct MailboxTests {
    private let served: ServedPlan
    private let key = ExactText("k")

    init() throws {
        served = ServedPlan(stream: 1, plan: try SyncPlan.compiled(ReplicationServiceTests.config))
    }

    private func names(_ names: [String]) -> Set<ExactText> { Set(names.map { ExactText($0) }) }

    /// Totals of buckets, by the numbers of the publications that said so.
    private func totals(_ numbers: [String: UInt64]) -> [ExactText: BucketTotals] {
        Dictionary(
            uniqueKeysWithValues: numbers.map { name, number in
                let totals = BucketTotals(
                    id: 1, checksum: Checksum(UInt32(number)), count: Int64(number),
                    lastOperation: OperationID(number))
                return (ExactText(name), totals)
            })
    }

    private func publication(
        _ number: UInt64, _ changed: [String]?, writeCheckpoints: [ExactText: Int64] = [:]
    ) -> Publication {
        Publication(
            sequence: number, served: served,
            checkpoint: StoredCheckpoint(operation: Int64(number), lsn: LSN(rawValue: number)),
            changed: changed.map { names in
                totals(Dictionary(uniqueKeysWithValues: names.map { ($0, number) }))
            }, writeCheckpoints: writeCheckpoints)
    }

    private func news(
        _ number: UInt64, _ changed: [String: UInt64]?, _ writeCheckpoint: Int64? = nil
    ) -> Mailbox.News {
        Mailbox.News(
            checkpoint: StoredCheckpoint(operation: Int64(number), lsn: LSN(rawValue: number)),
            changed: changed.map { totals($0) }, lookups: [], writeCheckpoint: writeCheckpoint)
    }

    @Test func allThatWasPublishedBecomesOneChange() {
        let mailbox = Mailbox(buckets: names(["a", "b", "c"]), key: key)
        #expect(mailbox.take() == nil)
        #expect(mailbox.post(publication(1, ["a", "x"])).wasEmpty)
        #expect(!mailbox.post(publication(2, [], writeCheckpoints: [key: 4])).wasEmpty)
        _ = mailbox.post(publication(3, ["b", "x", "y", "z"], writeCheckpoints: [ExactText("other"): 9]))
        #expect(mailbox.take() == news(3, ["a": 1, "b": 3], 4))
        #expect(mailbox.take() == nil)
        #expect(mailbox.post(publication(4, nil, writeCheckpoints: [key: 5])).wasEmpty)
        _ = mailbox.post(publication(5, ["a"]))
        #expect(mailbox.take() == news(5, nil, 5))
    }

    /// Whether a publication names fewer buckets than the stream has, or more.
    @Test func theNewestTotalsOfABucketCount() {
        let mailbox = Mailbox(buckets: names(["a", "b"]), key: key)
        _ = mailbox.post(publication(1, ["a"]))
        _ = mailbox.post(publication(2, ["a", "b", "x", "y"]))
        _ = mailbox.post(publication(3, ["b"]))
        #expect(mailbox.take() == news(3, ["a": 2, "b": 3]))
    }

    /// It has read the disk, which was further than what it was told of.
    @Test func whatAStreamKnowsAlreadyIsNoNews() {
        let mailbox = Mailbox(buckets: names(["a", "b"]), key: key, limit: 3)
        _ = mailbox.post(publication(1, nil, writeCheckpoints: [key: 7]))
        _ = mailbox.post(publication(2, ["a"]))
        #expect(mailbox.take(behind: 2) == news(2, [:], 7))
        #expect(mailbox.take(behind: 2) == nil)
        _ = mailbox.post(publication(3, ["a"]))
        _ = mailbox.post(publication(4, ["b"]))
        #expect(mailbox.take(behind: 3) == news(4, ["b": 4]))
        // What was left out is older than what is there.
        for number: UInt64 in 5...9 { _ = mailbox.post(publication(number, ["a"])) }
        #expect(mailbox.take(behind: 9) == news(9, [:]))
        for number: UInt64 in 10...14 { _ = mailbox.post(publication(number, ["a"])) }
        #expect(mailbox.take(behind: 13) == news(14, nil))
    }

    @Test func whoIsTooLateReadsAnewAndMissesNoWriteCheckpoint() {
        #expect(StoreLimits().mailboxPublications == 16)
        let mailbox = Mailbox(buckets: names(["a"]), key: key, limit: 3)
        for number: UInt64 in 1...3 { _ = mailbox.post(publication(number, ["a"])) }
        #expect(mailbox.take() == news(3, ["a": 3]))
        _ = mailbox.post(publication(4, ["a"], writeCheckpoints: [key: 7]))
        for number: UInt64 in 5...9 { _ = mailbox.post(publication(number, [])) }
        #expect(mailbox.take() == news(9, nil, 7))
        // That is over then.
        _ = mailbox.post(publication(10, ["a"]))
        #expect(mailbox.take() == news(10, ["a": 10]))
    }

    /// What waits names the buckets of others, too, and there may be thousands of these in each.
    @Test func namesThatWaitHaveALimit() {
        #expect(StoreLimits().mailboxNames == 65_536)
        let mailbox = Mailbox(buckets: names(["a"]), key: key, nameLimit: 3)
        _ = mailbox.post(publication(1, ["a", "x"], writeCheckpoints: [key: 7]))
        _ = mailbox.post(publication(2, ["y"]))
        #expect(mailbox.take() == news(2, ["a": 1], 7))
        _ = mailbox.post(publication(3, ["a", "x"], writeCheckpoints: [key: 8]))
        _ = mailbox.post(publication(4, ["x", "y"]))
        _ = mailbox.post(publication(5, ["x"]))
        #expect(mailbox.take() == news(5, nil, 8))
        // One alone is held, however much it names.
        _ = mailbox.post(publication(6, ["a", "x", "y", "z"]))
        #expect(mailbox.take() == news(6, ["a": 6]))
    }

    @Test func nothingComesBehindTheEnd() async throws {
        let mailbox = Mailbox(buckets: names(["a"]), key: key)
        _ = mailbox.post(publication(1, ["a"]))
        _ = mailbox.finish(.replaced)
        #expect(mailbox.end == .replaced && mailbox.take() == nil)
        #expect(!mailbox.post(publication(2, ["a"])).wasEmpty && mailbox.take() == nil)
        try await mailbox.wait()
    }

    @Test func whoWaitsIsWokenByWhateverComes() async throws {
        let mailbox = Mailbox(buckets: names(["a"]), key: key)
        let wakers: [@Sendable () -> Void] = [
            { [self] in mailbox.post(publication(1, ["a"])).waiter?.resume() },
            { mailbox.ring() },
            { mailbox.finish(.closed)?.resume() },
        ]
        for wake in wakers {
            #expect(!mailbox.isAtRest)
            let waiting = Task { try await mailbox.wait() }
            try await wait(for: "the stream to be at rest") { mailbox.isAtRest }
            wake()
            try await wait(forEndOf: waiting)
            // A time that has come changes nothing of it.
            _ = mailbox.take()
            if mailbox.isAtRest { _ = mailbox.post(publication(2, [])) }
            _ = mailbox.take()
        }
    }

    @Test func theEndAloneWakesWhoWaitsForIt() async throws {
        let mailbox = Mailbox(buckets: names(["a"]), key: key)
        #expect(mailbox.post(publication(1, ["a"])).wasEmpty)
        let cancelled = Task { try await mailbox.waitForEnd() }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: cancelled) }
        let hasEnded = Lock(false)
        let waiting = Task {
            try await mailbox.waitForEnd()
            hasEnded.withLock { $0 = true }
        }
        #expect(mailbox.post(publication(2, ["a"])).waiter == nil)
        mailbox.ring()
        #expect(!hasEnded.withLock { $0 })
        mailbox.finish(.replaced)?.resume()
        try await wait(forEndOf: waiting)
        // It has come.
        try await mailbox.waitForEnd()
    }

    @Test func aTimeThatCameBeforeIsNotMissed() async throws {
        let mailbox = Mailbox(buckets: [], key: key)
        mailbox.ring()
        mailbox.ring()
        try await mailbox.wait()
        #expect(mailbox.isAtRest)
        let waiting = Task { try await mailbox.wait() }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: waiting) }
    }
}
