#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Whether and when the data of one priority was synced.
public struct PriorityStatusEntry: Sendable, Decodable {
    /// The priority.
    public let priority: BucketPriority
    /// When its data was last complete.
    public let lastSyncedAt: Date?
    /// Whether its data was ever complete.
    public let hasSynced: Bool?

    private enum CodingKeys: String, CodingKey {
        case priority
        case lastSyncedAt = "last_synced_at"
        case hasSynced = "has_synced"
    }

    /// Decodes an entry of JSON with `priority`, `has_synced` and `last_synced_at`, in microseconds since 1970.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        priority = try container.decode(BucketPriority.self, forKey: .priority)
        let microseconds = try container.decodeIfPresent(Int64.self, forKey: .lastSyncedAt)
        lastSyncedAt = microseconds.map { Date(timeIntervalSince1970: Double($0) / 1_000_000) }
        hasSynced = try container.decodeIfPresent(Bool.self, forKey: .hasSynced)
    }

    /// Creates an entry.
    package init(priority: BucketPriority, lastSyncedAt: Date?, hasSynced: Bool?) {
        self.priority = priority
        self.lastSyncedAt = lastSyncedAt
        self.hasSynced = hasSynced
    }
}
