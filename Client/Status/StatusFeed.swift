import Foundation
import PowerSyncSystem

/// The status of one database instance: the newest value for all, every change for those who follow it.
final class StatusFeed: Sendable {
    /// How many snapshots wait for a follower that does not take them; beyond that the oldest go.
    static let bufferLimit = 1024

    private struct State {
        var current = SyncStatusValue(snapshot: SyncStatusSnapshot(), isLoaded: false)
        var followers: [Int: AsyncStream<any SyncStatusData>.Continuation] = [:]
        var waiters: [Int: Waiter] = [:]
        var nextId = 0
        var isClosed = false
        var observable: Observable?
    }

    private struct Waiter {
        let condition: @Sendable (SyncStatusValue) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Observable: Sendable {
        let status: ObservableSyncStatus
    }

    private let state = Lock(State())

    /// The newest status.
    var current: SyncStatusValue { state.withLock { $0.current } }

    /// How many wait for a condition.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Shows a status; one that equals the current one is no change.
    func publish(_ snapshot: SyncStatusSnapshot) {
        let value = SyncStatusValue(snapshot: snapshot, isLoaded: true)
        let (ready, observable) = state.withLock { state -> ([Waiter], Observable?) in
            guard !state.current.isSame(as: value) else { return ([], nil) }
            state.current = value
            // Under the lock, so that all followers see the same order; it runs none of their code.
            for follower in state.followers.values { follower.yield(value) }
            let ready = state.waiters.filter { $0.value.condition(value) }
            for id in ready.keys { state.waiters[id] = nil }
            return (Array(ready.values), state.observable)
        }
        for waiter in ready { waiter.continuation.resume() }
        // The main actor runs these in any order; each shows what is newest then.
        if let observable { Task { @MainActor in observable.status.update(current) } }
    }

    /// Returns the current status and every later one.
    func follow() -> AsyncStream<any SyncStatusData> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: (any SyncStatusData).self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
        let id = state.withLock { state in
            state.nextId += 1
            continuation.yield(state.current)
            state.followers[state.nextId] = continuation
            return state.nextId
        }
        continuation.onTermination = { [weak self] _ in
            self?.state.withLock { $0.followers[id] = nil }
        }
        return stream
    }

    /// Waits until a condition holds, at once if it does.
    ///
    /// - Parameter condition: looks at a status; must be quick and call nothing else.
    /// - Throws: `CancellationError`, and `PowerSyncError` when the database is closed.
    func wait(until condition: @escaping @Sendable (SyncStatusValue) -> Bool) async throws {
        let id = state.withLock { state in
            state.nextId += 1
            return state.nextId
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let known: Result<Void, any Error>? = state.withLock { state in
                    if Task.isCancelled { return .failure(CancellationError()) }
                    if state.isClosed { return .failure(PowerSyncError.closed) }
                    if condition(state.current) { return .success(()) }
                    state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                    return nil
                }
                if let known { continuation.resume(with: known) }
            }
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Lets everybody who waits go with an error; followers keep what they have.
    func close() {
        let waiters = state.withLock { state in
            state.isClosed = true
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.continuation.resume(throwing: PowerSyncError.closed) }
    }

    /// The status as an observable object, made at the first use.
    @MainActor var observable: ObservableSyncStatus {
        let (known, current) = state.withLock { ($0.observable, $0.current) }
        if let known { return known.status }
        let made = ObservableSyncStatus(current)
        state.withLock { $0.observable = Observable(status: made) }
        // What was published in between went to nobody.
        made.update(self.current)
        return made
    }
}

extension SyncStatusValue {
    /// Whether nobody could tell this value from another one.
    fileprivate func isSame(as other: SyncStatusValue) -> Bool {
        isLoaded == other.isLoaded && snapshot.iteration == other.snapshot.iteration
            && snapshot.uploading == other.snapshot.uploading
            && snapshot.uploadError == nil && other.snapshot.uploadError == nil
            && snapshot.downloadError == nil && other.snapshot.downloadError == nil
    }
}

/// The live status of a database.
struct LiveSyncStatus: SyncStatus {
    let feed: StatusFeed

    var connected: Bool { feed.current.connected }
    var connecting: Bool { feed.current.connecting }
    var downloading: Bool { feed.current.downloading }
    var downloadProgress: (any SyncDownloadProgress)? { feed.current.downloadProgress }
    var uploading: Bool { feed.current.uploading }
    var lastSyncedAt: Date? { feed.current.lastSyncedAt }
    var hasSynced: Bool? { feed.current.hasSynced }
    var uploadError: Any? { feed.current.uploadError }
    var downloadError: Any? { feed.current.downloadError }
    var anyError: Any? { feed.current.anyError }
    var priorityStatusEntries: [PriorityStatusEntry] { feed.current.priorityStatusEntries }
    var syncStreams: [SyncStreamStatus]? { feed.current.syncStreams }

    func statusForPriority(_ priority: BucketPriority) -> PriorityStatusEntry {
        feed.current.statusForPriority(priority)
    }

    func forStream(stream: any SyncStreamDescription) -> SyncStreamStatus? {
        feed.current.forStream(stream: stream)
    }

    func asFlow() -> AsyncStream<any SyncStatusData> { feed.follow() }

    @MainActor var observable: ObservableSyncStatus { feed.observable }
}
