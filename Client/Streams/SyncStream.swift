#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A Sync Stream of the service with its parameters.
public protocol SyncStreamDescription: Sendable {
    /// The stream's name in the sync configuration.
    var name: String { get }
    /// The parameters; nil is not the same as none.
    var parameters: JsonParam? { get }
}

/// A stream that can be subscribed to.
public protocol SyncStream: SyncStreamDescription {
    /// Asks for the stream's data while the returned handle lives and for a time after it.
    ///
    /// - Parameters:
    ///   - ttl: how long the data stays wanted after the last handle is gone, in seconds; nil means 24 hours.
    ///   - priority: overrides the stream's own priority; the most urgent of all subscribers counts.
    /// - Returns: the handle.
    /// - Throws: `PowerSyncError`.
    func subscribe(ttl: TimeInterval?, priority: BucketPriority?) async throws -> any SyncStreamSubscription

    /// Ends all subscriptions of this stream at once; their handles have no effect any more.
    func unsubscribeAll() async throws
}

extension SyncStream {
    /// Asks for the stream's data with the default time to live and the stream's own priority.
    public func subscribe() async throws -> any SyncStreamSubscription {
        try await subscribe(ttl: nil, priority: nil)
    }
}

/// A handle that keeps a stream subscribed.
public protocol SyncStreamSubscription: SyncStreamDescription {
    /// Returns once the stream's data was complete; throws `CancellationError` when the task is cancelled.
    func waitForFirstSync() async throws
    /// Gives the handle up; any number of calls count as one.
    func unsubscribe() async throws
}
