import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSyncRules
import PowerSyncTestSupport
import PowerSyncWire
import Testing

/// What clients are served from, who is told of it, and when that changes (service 7.2).
@Suite(.patient())
struct PublisherTests {
    private let plan: SyncPlan
    private let publisher = Publisher()

    init() throws { plan = try SyncPlan.compiled(ReplicationServiceTests.config) }

    private func served(by stream: StreamNumber) -> ServedPlan { ServedPlan(stream: stream, plan: plan) }

    private func checkpoint(_ lsn: UInt64) -> StoredCheckpoint {
        StoredCheckpoint(operation: Int64(lsn), lsn: LSN(rawValue: lsn))
    }

    private func totals(_ lsn: UInt64) -> BucketTotals {
        BucketTotals(
            id: 1, checksum: Checksum(UInt32(lsn)), count: Int64(lsn), lastOperation: OperationID(lsn))
    }

    /// What is told of buckets that changed with the checkpoints at these positions.
    private func changed(_ positions: [String: UInt64]) -> [ExactText: BucketTotals] {
        Dictionary(uniqueKeysWithValues: positions.map { (ExactText($0.key), totals($0.value)) })
    }

    private func commit(_ stream: StreamNumber, _ lsn: UInt64, _ changed: String...) -> DurableCommit {
        var buckets = ChangedBuckets()
        for name in changed { buckets.insert(ExactText(name), totals(lsn)) }
        return DurableCommit(
            served: served(by: stream), checkpoint: checkpoint(lsn), changed: buckets,
            lookups: ChangedLookups())
    }

    private func attach(
        _ buckets: String..., key: String = "", to stream: StreamNumber = 1
    ) throws -> PowerSyncServiceEngine.Attachment {
        let mailbox = Mailbox(buckets: Set(buckets.map { ExactText($0) }), key: ExactText(key))
        let attachment = try publisher.attach(mailbox, to: stream)
        return try #require(attachment)
    }

    // MARK: Which stream is served

    @Test func aNewStreamTakesOverOnceItIsAsNewAsWhatIsServed() {
        #expect(publisher.mayServe(1, from: checkpoint(5)), "there was nothing before it")
        publisher.publish(commit(1, 10))
        #expect(!publisher.mayServe(2, from: checkpoint(9)))
        // The former one does not run ahead meanwhile.
        publisher.publish(commit(1, 12), maySwitch: false)
        #expect(publisher.current?.checkpoint == checkpoint(10))
        #expect(publisher.mayServe(2, from: checkpoint(10)))
        publisher.publish(commit(2, 10))
        #expect(publisher.current?.stream == 2)
        publisher.publish(commit(2, 11))
        #expect(publisher.current?.checkpoint == checkpoint(11))
        publisher.publish(commit(1, 12), maySwitch: false)
        #expect(publisher.current?.stream == 2)
    }

    @Test func aCheckpointMayBeShownOfWhatIsServedUnlessItStandsStill() {
        let (former, new) = (checkpoint(9), checkpoint(10))
        #expect(!publisher.mayShow(former, of: 1, maySwitch: false), "nobody is served")
        #expect(publisher.mayShow(former, of: 1, maySwitch: true))
        publisher.publish(commit(1, 10))
        #expect(publisher.mayShow(new, of: 1, maySwitch: false))
        #expect(!publisher.mayShow(new, of: 2, maySwitch: false))
        #expect(publisher.mayShow(new, of: 1, maySwitch: false), "that was no successor")
        #expect(!publisher.mayShow(former, of: 2, maySwitch: true))
        #expect(!publisher.mayShow(new, of: 1, maySwitch: false))
        #expect(publisher.mayShow(new, of: 2, maySwitch: true))
        publisher.abandonSwitch()
        #expect(publisher.mayShow(new, of: 1, maySwitch: false))
    }

    /// A position alone wakes who waits for it, and nobody else.
    @Test func aPositionIsPublishedIfItsOperationsAre() throws {
        func advance(_ operation: Int64, to position: UInt64, of stream: StreamNumber = 1) -> Bool {
            publisher.advance(
                to: StoredCheckpoint(operation: operation, lsn: LSN(rawValue: position)),
                served(by: stream))
        }
        #expect(!advance(10, to: 20), "nobody is served")
        publisher.publish(commit(1, 10))
        let (idle, waiting) = (try attach("a"), try attach("a", key: "k"))
        publisher.expect(3, of: ExactText("k"), at: LSN(rawValue: 20))
        #expect(advance(10, to: 19) && advance(10, to: 20))
        #expect(publisher.current?.checkpoint == StoredCheckpoint(operation: 10, lsn: LSN(rawValue: 20)))
        #expect(waiting.mailbox.take()?.writeCheckpoint == 3 && idle.mailbox.take() == nil)
        #expect(!advance(10, to: 15), "a position does not go back")
        #expect(!advance(11, to: 30), "there are operations that nobody was told of")
        #expect(!advance(10, to: 30, of: 2))
        #expect(!publisher.mayServe(2, from: checkpoint(9)))
        #expect(!advance(10, to: 30), "it stands still")
        publisher.publish(commit(1, 21, "a"), maySwitch: false)
        publisher.abandonSwitch()
        #expect(!advance(10, to: 30), "what was held back comes first")
        #expect(publisher.current?.checkpoint.lsn == LSN(rawValue: 20))
    }

    /// What was stored while it stood still is told with the next checkpoint.
    @Test func whatIsServedGoesOnWhenItsSuccessorIsLost() throws {
        publisher.publish(commit(1, 10))
        let stream = try attach("a", "b", "c")
        #expect(!publisher.mayServe(2, from: checkpoint(9)))
        publisher.publish(commit(1, 11, "a", "c"), maySwitch: false)
        publisher.publish(commit(2, 9, "b"), maySwitch: false)
        #expect(stream.mailbox.take() == nil)
        publisher.abandonSwitch()
        publisher.publish(commit(1, 12, "c"), maySwitch: false)
        #expect(publisher.current?.checkpoint == checkpoint(12))
        #expect(stream.mailbox.take()?.changed == changed(["a": 11, "c": 12]))
        publisher.publish(commit(1, 13, "b"), maySwitch: false)
        #expect(stream.mailbox.take()?.changed == changed(["b": 13]))
    }

    /// So are the keys of lookups that find something else.
    @Test func changedLookupsWaitForTheNextCheckpoint() throws {
        func commit(_ lsn: UInt64, _ keys: LookupKey...) -> DurableCommit {
            var lookups = ChangedLookups()
            for key in keys { lookups.insert(key) }
            return DurableCommit(
                served: served(by: 1), checkpoint: checkpoint(lsn), changed: ChangedBuckets(),
                lookups: lookups)
        }
        let (one, two) = (LookupKey(definition: 1, key: [1]), LookupKey(definition: 1, key: [2]))
        publisher.publish(commit(10))
        let stream = try attach("a")
        stream.update(buckets: [ExactText("a")], lookups: [one, two])
        #expect(!publisher.mayServe(2, from: checkpoint(9)))
        publisher.publish(commit(11, one), maySwitch: false)
        #expect(stream.mailbox.take() == nil)
        publisher.abandonSwitch()
        let position = StoredCheckpoint(operation: 10, lsn: LSN(rawValue: 30))
        #expect(!publisher.advance(to: position, served(by: 1)), "what was held back comes first")
        publisher.publish(commit(12, two), maySwitch: false)
        #expect(stream.mailbox.take()?.lookups == [one, two])
        publisher.publish(commit(13, LookupKey(definition: 1, key: [3])), maySwitch: false)
        #expect(stream.mailbox.take() == nil)
    }

    /// A former configuration asks the state which stream is served while the new one takes its place.
    @Test func whatIsServedGivesWayToNothingThatWasOnlyToBeTheFirst() {
        publisher.publishFirst(commit(1, 10))
        #expect(publisher.current?.stream == 1)
        publisher.publish(commit(2, 10))
        publisher.publishFirst(commit(1, 12))
        #expect(publisher.current?.stream == 2 && publisher.current?.checkpoint == checkpoint(10))
    }

    @Test func whoWaitsForACheckpointGetsTheNext() async throws {
        let first = Task { try await publisher.next(after: 0) }
        publisher.publish(commit(1, 10))
        let sequence = try await wait(forEndOf: first).sequence
        let second = Task { try await publisher.next(after: sequence) }
        publisher.publish(commit(1, 11))
        #expect(try await wait(forEndOf: second).checkpoint == checkpoint(11))
        let last = Task { try await publisher.next(after: sequence + 1) }
        publisher.close()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: last) }
        #expect(publisher.isClosed)
    }

    // MARK: Who is told

    @Test func onlyThoseWhomACheckpointConcernsAreWoken() throws {
        publisher.publish(commit(1, 10, "a"))
        let (one, two, three) = (try attach("a", "b"), try attach("b"), try attach("c"))
        #expect(publisher.sessionWakeups == 0 && one.checkpoint == checkpoint(10))
        publisher.publish(commit(1, 11))
        publisher.publish(commit(1, 12, "x", "y"))
        #expect(publisher.sessionWakeups == 0)
        publisher.publish(commit(1, 13, "b", "x"))
        #expect(publisher.sessionWakeups == 2)
        // Those two have yet to look.
        publisher.publish(commit(1, 14, "a", "c"))
        #expect(publisher.sessionWakeups == 3)
        #expect(one.mailbox.take()?.changed == changed(["a": 14, "b": 13]))
        #expect(two.mailbox.take()?.checkpoint == checkpoint(13))
        #expect(three.mailbox.take()?.changed == changed(["c": 14]))
        publisher.publish(
            DurableCommit(
                served: served(by: 1), checkpoint: checkpoint(15), changed: .any, lookups: .any))
        #expect(publisher.sessionWakeups == 6)
        for stream in [one, two, three] {
            let news = stream.mailbox.take()
            #expect(news?.changed == nil && news?.checkpoint == checkpoint(15))
        }
    }

    @Test func aStreamIsBehindUntilItHasLookedAtEverything() async throws {
        publisher.publish(commit(1, 10))
        let stream = try attach("a")
        #expect(publisher.sessionsBehind == 1)
        let waiting = Task { try await stream.mailbox.wait() }
        try await wait(for: "the stream to be at rest") { publisher.sessionsBehind == 0 }
        publisher.publish(commit(1, 11, "x"))
        #expect(publisher.sessionsBehind == 0)
        publisher.publish(commit(1, 12, "a"))
        #expect(publisher.sessionsBehind == 1)
        try await wait(forEndOf: waiting)
        #expect(publisher.sessionsBehind == 1, "it has something to look at")
    }

    @Test func aBucketIsHeldAsLongAsAStreamHasIt() throws {
        publisher.publish(commit(1, 10))
        #expect(!publisher.isHeld(ExactText("a")))
        var streams = [try attach("a"), try attach("a", "b")]
        #expect(publisher.isHeld(ExactText("a")) && publisher.isHeld(ExactText("b")))
        #expect(!publisher.isHeld(ExactText("c")))
        streams.removeLast()
        #expect(publisher.isHeld(ExactText("a")) && !publisher.isHeld(ExactText("b")))
        streams.removeAll()
        #expect(!publisher.isHeld(ExactText("a")))
    }

    @Test func whoHasGoneIsNotTold() throws {
        publisher.publish(commit(1, 10))
        var gone: PowerSyncServiceEngine.Attachment? = try attach("a", key: "k")
        let mailbox = try #require(gone?.mailbox)
        publisher.expect(1, of: ExactText("k"), at: LSN(rawValue: 20))
        #expect(publisher.pendingHeads == 1)
        gone = nil
        #expect(publisher.pendingHeads == 0 && publisher.sessionsBehind == 0)
        publisher.publish(commit(1, 20, "a"))
        #expect(mailbox.take() == nil && publisher.sessionWakeups == 0)
    }

    // MARK: Write checkpoints

    @Test func aWriteCheckpointIsToldOnceThePositionHasReachedItsHead() throws {
        publisher.publish(commit(1, 10))
        let stream = try attach("a", key: "k")
        let other = try attach("a", key: "other")
        publisher.expect(3, of: ExactText("k"), at: LSN(rawValue: 20))
        publisher.publish(commit(1, 19))
        #expect(publisher.sessionWakeups == 0)
        publisher.publish(commit(1, 20))
        #expect(publisher.sessionWakeups == 1)
        let news = try #require(stream.mailbox.take())
        #expect(news.writeCheckpoint == 3 && news.changed == [:] && news.checkpoint == checkpoint(20))
        #expect(other.mailbox.take() == nil)
        publisher.publish(commit(1, 30))
        #expect(stream.mailbox.take() == nil && publisher.pendingHeads == 0)
    }

    /// Its transaction is published between the moment at which the id is stored and the one at which it is expected.
    @Test func aWriteCheckpointThatWasReachedBeforeItIsExpectedIsToldAtOnce() throws {
        publisher.publish(commit(1, 10))
        let stream = try attach("a", key: "k")
        publisher.publish(commit(1, 30, "a"))
        publisher.expect(3, of: ExactText("k"), at: LSN(rawValue: 20))
        let news = try #require(stream.mailbox.take())
        #expect(news.writeCheckpoint == 3 && news.changed == changed(["a": 30]))
        #expect(news.checkpoint == checkpoint(30))
        #expect(publisher.current?.sequence == 2, "that is no checkpoint of its own")
    }

    @Test func aWriteCheckpointThatNoStreamWaitsForIsNotKept() {
        publisher.publish(commit(1, 10))
        for number: Int64 in 1...1000 {
            publisher.expect(number, of: ExactText("k\(number)"), at: LSN(rawValue: 20))
        }
        #expect(publisher.pendingHeads == 0)
    }

    @Test func headsThatWereLostWithTheLogAreReached() throws {
        publisher.publish(commit(1, 10))
        let (near, far) = (try attach(key: "near"), try attach(key: "far"))
        publisher.expect(1, of: ExactText("near"), at: LSN(rawValue: 90))
        publisher.expect(2, of: ExactText("far"), at: LSN(rawValue: 200))
        publisher.lowerHeads(upTo: LSN(rawValue: 100), to: LSN(rawValue: 10))
        #expect(near.mailbox.take()?.writeCheckpoint == 1)
        #expect(far.mailbox.take() == nil)
        publisher.publish(commit(1, 200))
        #expect(far.mailbox.take()?.writeCheckpoint == 2)
    }

    // MARK: The end of streams

    @Test func aSwitchEndsStreamsAndNobodyBeginsInWhatIsOver() throws {
        publisher.publish(commit(1, 10))
        let stream = try attach("a", key: "k")
        publisher.expect(1, of: ExactText("k"), at: LSN(rawValue: 20))
        publisher.publish(commit(1, 11, "a"))
        publisher.publish(commit(2, 11, "a"))
        #expect(stream.mailbox.end == .replaced && stream.mailbox.take() == nil)
        #expect(publisher.sessionsBehind == 0 && publisher.pendingHeads == 0)
        let late = try publisher.attach(Mailbox(buckets: [], key: ExactText("")), to: 1)
        #expect(late == nil)
        let next = try attach("a", to: 2)
        publisher.publish(commit(2, 12, "a"))
        #expect(next.mailbox.take()?.checkpoint == checkpoint(12))
        #expect(publisher.sessionWakeups == 2)
    }

    @Test func whatIsTakenBackEndsStreamsUntilThereIsANewCheckpoint() throws {
        publisher.publish(commit(1, 10))
        let stream = try attach("a")
        publisher.retract()
        #expect(stream.mailbox.end == .replaced && publisher.current == nil)
        let late = try publisher.attach(Mailbox(buckets: [], key: ExactText("")), to: 1)
        #expect(late == nil)
        publisher.publishFirst(commit(2, 5))
        #expect(try attach("a", to: 2).checkpoint == checkpoint(5))
        #expect(stream.mailbox.end == .replaced)
    }

    @Test func theEndOfTheServiceEndsStreamsAndRefusesOthers() throws {
        publisher.publish(commit(1, 10))
        let stream = try attach("a")
        publisher.close()
        #expect(stream.mailbox.end == .closed)
        #expect(throws: CancellationError.self) { try attach("a") }
    }
}
