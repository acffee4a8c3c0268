/// The state of one stream.
public struct SyncStreamStatus: Sendable {
    /// How much of its data has arrived; nil unless a download runs.
    public let progress: (any ProgressWithOperations)?
    /// The subscription.
    public let subscription: SyncSubscriptionDescription

    /// Creates a state.
    package init(progress: (any ProgressWithOperations)?, subscription: SyncSubscriptionDescription) {
        self.progress = progress
        self.subscription = subscription
    }
}
