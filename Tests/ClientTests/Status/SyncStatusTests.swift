import Foundation
import Observation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient())
struct SyncStatusTests {
    private func snapshot(_ change: (inout SyncStatusSnapshot) -> Void) -> SyncStatusSnapshot {
        var snapshot = SyncStatusSnapshot()
        change(&snapshot)
        return snapshot
    }

    private func value(_ change: (inout SyncStatusSnapshot) -> Void) -> SyncStatusValue {
        SyncStatusValue(snapshot: snapshot(change), isLoaded: true)
    }

    @Test(.behaviour(68)) func flowBeginsWithTheCurrentStatusAndKeepsEachLaterOne() async throws {
        let status = SharedStatus()
        let feed = StatusFeed(of: status)
        status.tell(snapshot { $0.iteration.connecting = true })
        var flow = feed.follow().makeAsyncIterator()
        status.tell(snapshot { $0.iteration.connected = true })
        status.tell(snapshot { $0.uploading = true })
        let first = try #require(await flow.next())
        let second = try #require(await flow.next())
        let third = try #require(await flow.next())
        // Snapshots: the first one still says what it said when it was the newest.
        #expect(first.connecting && !first.connected)
        #expect(second.connected && !second.uploading)
        #expect(third.uploading && !third.connected)
    }

    @Test func errorsAreAlwaysNews() async throws {
        let status = SharedStatus()
        let hub = SyncStatusHub(of: status)
        let feed = StatusFeed(of: status)
        var flow = feed.follow().makeAsyncIterator()
        _ = await flow.next()
        for _ in 0..<2 { hub.disconnect(error: TestError(text: "same")) }
        #expect(await flow.next()?.downloadError is TestError)
        #expect(await flow.next()?.downloadError is TestError)
    }

    @Test func followerThatNeverLooksKeepsABoundedNumber() async throws {
        let shared = SharedStatus()
        let feed = StatusFeed(of: shared)
        let flow = feed.follow()
        for index in 0..<(StatusFeed.bufferLimit + 100) {
            shared.tell(snapshot { $0.iteration.appliedCheckpointRequestID = Int64(index) })
        }
        shared.tell(snapshot { $0.iteration.connected = true })
        var count = 0
        for await status in flow {
            count += 1
            if status.connected { break }
        }
        #expect(count == StatusFeed.bufferLimit)
    }

    /// Whoever has changed the status finds that everybody knows, however many changes nobody has looked at.
    @Test func anObserverKnowsEachStatusBeforeItsChangeIsOver() throws {
        let shared = SharedStatus()
        let feed = StatusFeed(of: shared)
        shared.tell(snapshot { $0.iteration.connecting = true })
        let seen = Lock<[Int64]>([])
        do {
            let observation = feed.observe { status in
                let id = (status as? SyncStatusValue)?.snapshot.iteration.appliedCheckpointRequestID
                seen.withLock { $0.append(id ?? -1) }
            }
            try withExtendedLifetime(observation) {
                try #require(seen.withLock { $0 } == [-1])
                for index in 0..<Int64(StatusFeed.bufferLimit + 100) {
                    shared.tell(snapshot { $0.iteration.appliedCheckpointRequestID = index })
                    #expect(seen.withLock { $0.last } == index)
                }
            }
        }
        let count = seen.withLock { $0.count }
        #expect(count == StatusFeed.bufferLimit + 101)
        shared.tell(snapshot { $0.uploading = true })
        #expect(seen.withLock { $0.count } == count)
    }

    @Test func anObserverIsToldNothingOnceTheDatabaseIsClosed() {
        let shared = SharedStatus()
        let feed = StatusFeed(of: shared)
        let seen = Lock<[Bool]>([])
        let first = feed.observe { status in seen.withLock { $0.append(status.connected) } }
        shared.tell(snapshot { $0.iteration.connected = true })
        feed.close()
        shared.tell(snapshot { $0.iteration.connected = false })
        #expect(seen.withLock { $0 } == [false, true])
        // What was last is all there is to know then.
        let second = feed.observe { status in seen.withLock { $0.append(status.connected) } }
        #expect(seen.withLock { $0 } == [false, true, true])
        withExtendedLifetime(first) {}
        withExtendedLifetime(second) {}
    }

    @Test func waitingEndsWithTheConditionWithCancellationOrWithTheDatabase() async throws {
        let status = SharedStatus()
        let feed = StatusFeed(of: status)
        async let connected: Void = feed.wait { $0.connected }
        try await wait(for: "one to wait") { feed.waiterCount == 1 }
        status.tell(snapshot { $0.iteration.connected = true })
        try await connected
        try await feed.wait { $0.connected }
        let cancelled = Task { try await feed.wait { $0.uploading } }
        try await wait(for: "one to wait") { feed.waiterCount == 1 }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await wait(forEndOf: cancelled) }
        let closed = Task { try await feed.wait { $0.uploading } }
        try await wait(for: "one to wait") { feed.waiterCount == 1 }
        feed.close()
        await #expect(throws: PowerSyncError.self) { try await wait(forEndOf: closed) }
    }

    @Test func lessUrgentPriorityThatIsCompleteImpliesTheMoreUrgent() {
        let status = value {
            $0.iteration.priorities = [
                PrioritySyncState(priority: 1, lastSyncedAt: 1_740_823_200_000_000),
                PrioritySyncState(priority: 3, lastSyncedAt: 1_740_823_100_000_000),
            ]
        }
        #expect(status.priorityStatusEntries.map(\.priority.priorityCode) == [1, 3])
        #expect(status.statusForPriority(BucketPriority(0)).priority == BucketPriority(1))
        #expect(
            status.statusForPriority(BucketPriority(0)).lastSyncedAt
                == Date(timeIntervalSince1970: 1_740_823_200))
        #expect(status.statusForPriority(BucketPriority(2)).priority == BucketPriority(3))
        #expect(status.statusForPriority(.fullSyncPriority).hasSynced == false)
        #expect(status.statusForPriority(.fullSyncPriority).priority == .fullSyncPriority)
        #expect(status.hasSynced == false)
        #expect(status.lastSyncedAt == nil)
    }

    @Test(.behaviour(73)) func completeSyncImpliesEveryPriority() {
        let status = value {
            $0.iteration.priorities = [
                PrioritySyncState(priority: PrioritySyncState.fullSync, lastSyncedAt: 1_740_823_200_000_000)
            ]
        }
        #expect(status.hasSynced == true)
        #expect(status.lastSyncedAt == Date(timeIntervalSince1970: 1_740_823_200))
        #expect(status.statusForPriority(BucketPriority(3)).hasSynced == true)
        #expect(status.priorityStatusEntries.map(\.priority) == [.fullSyncPriority])
    }

    @Test func progressCountsThePrioritiesUpToTheOneAskedFor() {
        let status = value {
            $0.iteration.downloading = [
                PriorityProgress(priority: 0, totalOperations: 8, downloadedOperations: 5),
                PriorityProgress(priority: 2, totalOperations: 6, downloadedOperations: 2),
            ]
        }
        let progress = status.downloadProgress
        #expect(progress?.totalOperations == 14)
        #expect(progress?.downloadedOperations == 7)
        #expect(progress?.fraction == 0.5)
        #expect(progress?.untilPriority(priority: BucketPriority(0)).totalOperations == 8)
        #expect(progress?.untilPriority(priority: BucketPriority(1)).downloadedOperations == 5)
        #expect(progress?.untilPriority(priority: BucketPriority(2)).totalOperations == 14)
        #expect(OperationCount(0, 0).fraction == 0)
        #expect(OperationCount(.max, 1).totalOperations == .max)
    }

    @Test func streamProgressShowsOnlyDuringADownload() {
        let stream = StreamSyncState(id: 1, name: "a", totalOperations: 4, downloadedOperations: 1)
        let idle = value { $0.iteration.streams = [stream] }
        #expect(idle.syncStreams?.first?.progress == nil)
        let busy = value {
            $0.iteration.streams = [stream]
            $0.iteration.downloading = []
        }
        #expect(busy.syncStreams?.first?.progress?.totalOperations == 4)
        #expect(busy.syncStreams?.first?.subscription.parameters == nil)
    }

    @Test func downloadErrorComesBeforeTheUploadError() {
        let both = value {
            $0.downloadError = TestError(text: "down")
            $0.uploadError = TestError(text: "up")
        }
        #expect(both.anyError as? TestError == TestError(text: "down"))
        #expect(
            value { $0.uploadError = TestError(text: "up") }.anyError as? TestError == TestError(text: "up"))
    }

    @Test(.behaviour(73)) func prioritiesAreOrderedByUrgency() throws {
        #expect(BucketPriority(0) > BucketPriority(3))
        #expect(BucketPriority.fullSyncPriority < .defaultPriority)
        let decoder = JSONDecoder()
        #expect(try decoder.decode([BucketPriority].self, from: Data("[2]".utf8)) == [BucketPriority(2)])
        #expect(throws: DecodingError.self) {
            try decoder.decode([BucketPriority].self, from: Data("[-1]".utf8))
        }
        let entry = try decoder.decode(
            PriorityStatusEntry.self,
            from: Data(#"{"priority":1,"last_synced_at":1740823200000000,"has_synced":true}"#.utf8))
        #expect(entry.lastSyncedAt == Date(timeIntervalSince1970: 1_740_823_200))
        #expect(entry.priority == BucketPriority(1))
        #expect(entry.hasSynced == true)
    }

    @Test(.behaviour(69)) @MainActor func observableStatusIsOneObjectThatTellsOfChanges() async throws {
        let shared = SharedStatus()
        let status = LiveSyncStatus(feed: StatusFeed(of: shared))
        let observable = status.observable
        #expect(observable === status.observable)
        #expect(!observable.connected)
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        withObservationTracking {
            _ = observable.downloadError
        } onChange: {
            change.yield()
        }
        shared.tell(snapshot { $0.downloadError = TestError(text: "down") })
        for await _ in changes { break }
        #expect(observable.downloadError is TestError)
    }
}

extension SharedStatus {
    /// Tells a status whatever was told before.
    func tell(_ snapshot: SyncStatusSnapshot) {
        update {
            $0 = snapshot
            return true
        }
    }
}
