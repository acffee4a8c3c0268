import PowerSyncSQLite
import PowerSyncWire

/// The one type that knows the SQL of synced data; each call is the body of one transaction of the caller.
///
/// Times are microseconds since 1970 and come from the caller, once for each command.
package struct SyncStore {
    /// The connection, on which the caller has a transaction open; the writing one, but for what only reads.
    package let connection: SQLiteConnection
    /// The time of this command.
    package let now: Int64
    /// By which way rows are stored and applied.
    package let tuning: StorageTuning

    /// Makes a store for one command.
    ///
    /// - Parameters:
    ///   - connection: a connection with the core installed, in a transaction; the writing one, but for what only reads.
    ///   - now: microseconds since 1970.
    ///   - tuning: by which way rows are stored and applied; what comes of it is the same.
    package init(connection: SQLiteConnection, now: Int64, tuning: StorageTuning = .standard) {
        self.connection = connection
        self.now = now
        self.tuning = tuning
    }

    /// Does one task of the reducer.
    ///
    /// - Returns: the event that tells its outcome; nil for a task without one.
    /// - Throws: `SQLiteError`, and `SyncError` for rows that cannot be stored.
    package func perform(_ task: SyncTask) throws -> SyncEvent? {
        switch task {
        case .prepare(let active): return .prepared(try prepare(activeStreams: active))
        case .track(let checkpoint, let dropped):
            return .tracked(try track(checkpoint, dropping: dropped))
        case .save(let lines): return .saved(try save(lines))
        case .apply(let request): return .applied(request, try apply(request))
        case .prolong(let active):
            try prolong(active)
            return nil
        case .rebuildSubscriptions(let active):
            return .subscriptionsRebuilt(
                try requestedSubscriptions(keeping: active).subscriptions, active: active)
        case .readTarget: return .target(try target())
        }
    }

    /// client-core 6.4: what the request of a new stream says.
    private func prepare(activeStreams: [StreamKey]) throws -> Preparation {
        let status = try offlineStatus()
        let buckets = try bucketRequests()
        try prolong(activeStreams)
        let requested = try requestedSubscriptions(keeping: activeStreams)
        return Preparation(
            status: status, clientID: try CoreExtension.of(connection).clientID(), buckets: buckets,
            subscriptions: requested.subscriptions, unreadableStreams: requested.unreadable,
            firstCheckpointRequest: try firstCheckpointRequest())
    }

    /// Returns the status as it is stored: what was complete before, and the subscriptions (client-core 6.12).
    package func offlineStatus() throws -> SyncIterationStatus {
        var status = SyncIterationStatus()
        status.priorities = try connection.query(
            "SELECT priority, last_synced_at FROM ps_sync_state ORDER BY priority"
        ) { PrioritySyncState(priority: Int($0.int64(0)), lastSyncedAt: $0.int64(1)) }
        status.streams = try subscriptionRows()
        return status
    }

    /// Returns the buckets and their positions in the order of their rows (client-core 5.2).
    package func bucketRequests() throws -> [BucketRequest] {
        try connection.query("SELECT name, last_op FROM ps_buckets WHERE pending_delete = 0 ORDER BY id") {
            BucketRequest(name: $0.string(0), after: $0.int64(1))
        }
    }
}
