import Foundation
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

@testable import PowerSync

@Suite(.patient()) struct SharedStatusTests {
    private static func status(syncedAt time: Int64, connected: Bool = false) -> SyncIterationStatus {
        var status = SyncIterationStatus()
        status.connected = connected
        status.priorities = [PrioritySyncState(priority: PrioritySyncState.fullSync, lastSyncedAt: time)]
        return status
    }

    /// Keeps what is told.
    private final class Witness: Sendable {
        private let seen = Lock<[SyncStatusSnapshot]>([])

        init(of status: SharedStatus) {
            status.observe(includingCurrent: false) { [seen] snapshot in
                guard let snapshot else { return }
                seen.withLock { $0.append(snapshot) }
            }
        }

        var snapshots: [SyncStatusSnapshot] { seen.withLock { $0 } }
    }

    /// Cancelling a task runs its handlers under a lock of the runtime, which whoever resumes the task takes, too.
    @Test func aFollowerMayBeCancelledWhileSomethingIsTold() async throws {
        let status = SharedStatus()
        let feed = StatusFeed(of: status)
        let isOver = Lock((telling: false, cancelling: false))
        // Threads of their own: a deadlock must not take those of the tests.
        try DetachedThread.start {
            while !isOver.withLock({ $0.cancelling }) {
                status.update { snapshot in
                    snapshot.uploading.toggle()
                    return true
                }
            }
            isOver.withLock { $0.telling = true }
        }
        try DetachedThread.start {
            for _ in 0..<2_000 {
                let seen = Lock(0)
                let follower = Task { for await _ in feed.follow() { seen.withLock { $0 += 1 } } }
                while seen.withLock({ $0 < 2 }) { sched_yield() }
                follower.cancel()
            }
            isOver.withLock { $0.cancelling = true }
        }
        try await wait(for: "both threads to end") { isOver.withLock { $0.telling && $0.cancelling } }
    }

    @Test func whatWasReadBeforeSomethingNewerWasToldIsReadAgain() async throws {
        let status = SharedStatus(SyncStatusSnapshot())
        let hub = SyncStatusHub(of: status)
        let reads = Lock(0)
        try await status.refresh {
            let number = reads.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else { return Self.status(syncedAt: 2) }
            // A stream comes and goes while this slow reader holds what was stored before it.
            hub.show(Self.status(syncedAt: 2, connected: true))
            hub.disconnect()
            return Self.status(syncedAt: 1)
        }
        #expect(status.current?.priorities.map(\.lastSyncedAt) == [2])
        #expect(reads.withLock { $0 } == 2)
    }

    @Test func whileAStreamIsOpenItsIterationAloneTellsWhatIsStored() async throws {
        for isConnected in [true, false] {
            let status = SharedStatus(SyncStatusSnapshot())
            let hub = SyncStatusHub(of: status)
            var iteration = Self.status(syncedAt: 2, connected: isConnected)
            iteration.connecting = !isConnected
            hub.show(iteration)
            try await status.refresh { Self.status(syncedAt: 1) }
            #expect(status.current?.iteration == iteration)
        }
    }

    @Test func noStatusIsToldAfterANewerOneHoweverSlowlyItWasRead() async throws {
        let status = SharedStatus(SyncStatusSnapshot())
        let witness = Witness(of: status)
        let stored = Lock<Int64>(0)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                let hub = SyncStatusHub(of: status)
                for time in Int64(1)...300 {
                    var iteration = hub.current.iteration
                    iteration.connecting = true
                    hub.show(iteration)
                    stored.withLock { $0 = time }
                    hub.show(Self.status(syncedAt: time, connected: true))
                    await Task.yield()
                    hub.disconnect()
                    await Task.yield()
                }
            }
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<300 {
                        try await status.refresh {
                            let time = stored.withLock { $0 }
                            await Task.yield()
                            return Self.status(syncedAt: time)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        let times = witness.snapshots.compactMap { $0.priorities.first?.lastSyncedAt }
        #expect(times == times.sorted())
        #expect(times.last == 300)
    }

    @Test func whatOthersToldOutlivesWhatTheSessionTellsNext() async throws {
        let status = SharedStatus(SyncStatusSnapshot())
        let hub = SyncStatusHub(of: status)
        try await status.refresh {
            var stored = Self.status(syncedAt: 1)
            stored.streams = [StreamSyncState(id: 1, name: "a")]
            return stored
        }
        hub.setUploading(true)
        #expect(status.current?.streams.map(\.name) == ["a"])
        #expect(status.current?.uploading == true)
        hub.disconnect(error: TestError(text: "down"))
        #expect(status.current?.streams.map(\.name) == ["a"])
        #expect(status.current?.priorities.map(\.lastSyncedAt) == [1])
    }

    @Test func resettingForgetsErrorsToo() async throws {
        let status = SharedStatus(SyncStatusSnapshot(iteration: Self.status(syncedAt: 1)))
        let hub = SyncStatusHub(of: status)
        hub.uploadFailed(TestError(text: "up"))
        hub.disconnect(error: TestError(text: "down"))
        try await status.refresh { SyncIterationStatus() }
        #expect(status.current?.uploadError != nil && status.current?.downloadError != nil)
        status.reset()
        #expect(status.current?.uploadError == nil && status.current?.downloadError == nil)
        #expect(status.current?.priorities.isEmpty == true)
    }

    @Test(.behaviour(68)) func nothingIsToldThatIsAsItWas() async throws {
        let status = SharedStatus()
        let witness = Witness(of: status)
        let hub = SyncStatusHub(of: status)
        // That nothing was ever synced is news as long as nobody knows it.
        for _ in 0..<2 { try await status.refresh { SyncIterationStatus() } }
        #expect(witness.snapshots.count == 1)
        for _ in 0..<2 { hub.setUploading(true) }
        for _ in 0..<2 { hub.show(Self.status(syncedAt: 1, connected: true)) }
        for _ in 0..<2 { hub.disconnect() }
        hub.clearUploadError()
        hub.clearDownloadError()
        #expect(witness.snapshots.count == 4)
    }

    @Test func aSessionIsNotHeardOnceTheNextHasBegun() async throws {
        let status = SharedStatus(SyncStatusSnapshot())
        let first = SyncStatusHub(of: status)
        first.setUploading(true)
        let second = SyncStatusHub(of: status)
        second.show(Self.status(syncedAt: 1, connected: true))
        // An upload of the first session ends late.
        first.setUploading(false)
        first.uploadFailed(TestError(text: "late"))
        first.disconnect()
        #expect(status.current?.uploading == true)
        #expect(status.current?.uploadError == nil)
        #expect(status.current?.connected == true)
    }

    @Test func anInstanceKeepsWhatItShowedWhenItWasClosedAndTheNextBeginsWithoutIt() async throws {
        let status = SharedStatus()
        let first = StatusFeed(of: status)
        #expect(first.current.hasSynced == nil)
        status.tell(SyncStatusSnapshot(iteration: Self.status(syncedAt: 1)))
        let beside = StatusFeed(of: status)
        #expect(beside.current.hasSynced == true)
        first.close()
        status.tell(SyncStatusSnapshot())
        #expect(first.current.hasSynced == true)
        #expect(beside.current.hasSynced == false)
        beside.close()
        let next = StatusFeed(of: status)
        #expect(next.current.hasSynced == nil)
        await #expect(throws: PowerSyncError.self) { try await first.wait { $0.connected } }
    }
}
