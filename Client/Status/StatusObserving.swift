/// A database that tells each state of syncing before whoever changed it goes on: for tools that may not lag behind.
package protocol StatusObserving: PowerSyncDatabaseProtocol {
    /// Tells the state as it is, and then each later one, in their order.
    ///
    /// - Parameter observer: must be quick, and call nothing of the database. Another thread may call it once more when
    /// the telling has ended.
    /// - Returns: what keeps the telling; it also ends when the database is closed.
    func observeStatus(_ observer: @escaping @Sendable (any SyncStatusData) -> Void) -> StatusObservation
}

/// Keeps somebody told of the state of syncing, for as long as it lives.
package final class StatusObservation: Sendable {
    private let end: @Sendable () -> Void

    init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
