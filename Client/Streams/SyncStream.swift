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
    ///   - ttl: how long the data stays wanted after the last handle is gone, in seconds, of which whole ones count:
    ///     0.9 is 0, with which it is wanted no longer than the last handle is there. Nil means 24 hours.
    ///   - priority: overrides the stream's own priority; of several subscriptions the most urgent counts. Where the first
    ///     one gave none, or the stream is one that every client gets, the stream's own stays, whatever later ones give,
    ///     until the subscription has ended and the service does not list the stream any more.
    /// - Returns: the handle.
    /// - Throws: `PowerSyncError`, with the code `invalidArgument` for parameters in which lists and objects are nested more
    ///   than 124 deep.
    func subscribe(ttl: TimeInterval?, priority: BucketPriority?) async throws -> any SyncStreamSubscription

    /// Ends all subscriptions of this stream at once; their handles have no effect any more.
    ///
    /// - Throws: `PowerSyncError`.
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
    /// Returns once the stream's data was complete; at once if it was before.
    ///
    /// - Throws: `PowerSyncError` with the code `closed` when the database is closed; `CancellationError` when the task
    ///   is cancelled.
    func waitForFirstSync() async throws
    /// Gives the handle up; any number of calls count as one, and none of them throws.
    func unsubscribe() async throws
}
