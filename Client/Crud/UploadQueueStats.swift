/// How much waits to be uploaded.
public struct UploadQueueStats: Sendable, Hashable {
    /// How many entries there are.
    public let count: Int
    /// About how many bytes they take; nil if nobody asked.
    public let size: Int64?
}

extension PowerSyncDatabaseProtocol {
    /// Returns how much waits to be uploaded.
    ///
    /// - Parameter includeSize: whether the bytes are counted, too, which reads the whole queue.
    /// - Returns: the count, and the size: the bytes of each entry and 20 more.
    /// - Throws: `PowerSyncError`, `CancellationError`.
    public func getUploadQueueStats(includeSize: Bool = false) async throws -> UploadQueueStats {
        let size = includeSize ? "coalesce(sum(length(CAST(data AS BLOB))), 0) + 20 * count(*)" : "NULL"
        return try await get("SELECT count(*), \(size) FROM ps_crud") {
            UploadQueueStats(count: try $0.getInt(index: 0), size: $0.getInt64Optional(index: 1))
        }
    }
}
