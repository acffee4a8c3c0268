import PowerSync
import PowerSyncSystem

/// The streams that a driving program has subscribed to: a handle for each, which keeps it subscribed.
final class HeldStreams: Sendable {
    private let handles = Lock<[ClientStream: any SyncStreamSubscription]>([:])

    /// Holds a stream; an earlier handle of the same one is given up, its wishes are stored.
    func hold(_ stream: ClientStream, _ handle: any SyncStreamSubscription) {
        // Given up out of the section: it tells the database.
        _ = handles.withLock { $0.updateValue(handle, forKey: stream) }
    }

    /// Returns the handle of a stream, which is not held any more; nil if it was not.
    func release(_ stream: ClientStream) -> (any SyncStreamSubscription)? {
        handles.withLock { $0.removeValue(forKey: stream) }
    }
}
