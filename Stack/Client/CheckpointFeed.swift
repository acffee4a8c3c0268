import PowerSync
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The one history of a client's states, and whoever waits for what follows from it.
///
/// It takes each state before whoever changed it goes on, so what it says is never over already.
final class CheckpointFeed: Sendable {
    private struct State {
        var history = CheckpointHistory()
        var isSyncedElsewhere = false
        var followers: [Int: AsyncStream<Void>.Continuation] = [:]
        var lastFollower = 0
    }

    private let state = Lock(State())

    /// What ``CheckpointHistory/isCurrent`` says after the newest state.
    var isCurrent: Bool { state.withLock { $0.history.isCurrent } }

    /// Whether another process syncs the file, by the newest state.
    var isSyncedElsewhere: Bool { state.withLock { $0.isSyncedElsewhere } }

    /// Takes the next state.
    ///
    /// - Parameter status: the state.
    /// - Returns: the time of a checkpoint that was applied since the state before; nil if there is none.
    func take(_ status: any SyncStatusData) -> Date? {
        let (time, followers) = state.withLock { state in
            state.isSyncedElsewhere = status.isSyncedElsewhere
            let time = state.history.take(
                connected: status.connected, downloading: status.downloading,
                lacksStream: status.syncStreams?.contains { !$0.subscription.hasSynced } == true,
                lastSyncedAt: status.lastSyncedAt)
            return (time, Array(state.followers.values))
        }
        for follower in followers { follower.yield() }
        return time
    }

    /// Returns a sign now and after each state; of several that nobody has taken the last one is enough.
    func signs() -> AsyncStream<Void> {
        let (signs, follower) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastFollower += 1
            state.followers[state.lastFollower] = follower
            return state.lastFollower
        }
        follower.onTermination = { [weak self] _ in
            // Taken out of the section, so that nothing is released within it.
            _ = self?.state.withLock { $0.followers.removeValue(forKey: id) }
        }
        follower.yield()
        return signs
    }
}
