#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is known of a subscription.
public struct SyncSubscriptionDescription: SyncStreamDescription {
    /// The stream's name in the sync configuration.
    public let name: String
    /// The parameters; nil is not the same as none.
    public let parameters: JsonParam?
    /// Whether the service has acknowledged it.
    public let active: Bool
    /// Whether the service subscribes every client to it.
    public let isDefault: Bool
    /// Whether this client asked for it.
    public let hasExplicitSubscription: Bool
    /// When it ends, in seconds since 1970; nil for one that does not.
    public let expiresAt: TimeInterval?
    /// When its data was last complete, in seconds since 1970.
    public let lastSyncedAt: TimeInterval?

    /// Whether its data was ever complete.
    public var hasSynced: Bool { lastSyncedAt != nil }

    /// Creates a description.
    package init(
        name: String, parameters: JsonParam?, active: Bool, isDefault: Bool, hasExplicitSubscription: Bool,
        expiresAt: TimeInterval?, lastSyncedAt: TimeInterval?
    ) {
        self.name = name
        self.parameters = parameters
        self.active = active
        self.isDefault = isDefault
        self.hasExplicitSubscription = hasExplicitSubscription
        self.expiresAt = expiresAt
        self.lastSyncedAt = lastSyncedAt
    }
}
