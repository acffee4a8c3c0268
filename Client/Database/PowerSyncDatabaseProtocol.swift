#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A local database that syncs with a PowerSync service.
///
/// Made by `PowerSyncDatabase(schema:)`; the file is opened at the first use.
public protocol PowerSyncDatabaseProtocol: Queries, Sendable {
    /// The live state of syncing.
    var currentStatus: any SyncStatus { get }

    /// Where the database logs.
    var logger: any LoggerProtocol { get }

    /// Returns once all data was complete; at once if it was before.
    ///
    /// Throws `CancellationError` when the task is cancelled, `operationFailed` when the database is closed.
    func waitForFirstSync() async throws

    /// Replaces the tables, keeping their data; throws `operationFailed` from `connect` to `disconnect`.
    func updateSchema(schema: any SchemaProtocol) async throws

    /// Returns once the data of a priority was complete; at once if it was before.
    func waitForFirstSync(priority: Int32) async throws

    /// Starts syncing in the background, or starts again with another connector and options.
    ///
    /// Returns right after starting: errors of the network or the service show in ``currentStatus`` and are
    /// retried.
    /// Cancelling the calling task later does not end syncing. While another process syncs the same file, this one only
    /// waits for its turn (``SyncStatusData/isSyncedElsewhere``).
    func connect(connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?) async throws

    /// Returns the version of the core, such as `0.5.3/swift`.
    func getPowerSyncVersion() async throws -> String

    /// Stops syncing and waits for its end; the data stays. Does nothing if not connected.
    ///
    /// A callback of the connector is cancelled, waited for five seconds, and then left alone: what it completes later
    /// throws. Called inside such a callback, this returns when everything else is over; so do `connect`,
    /// `disconnectAndClear` and `close`.
    func disconnect() async throws

    /// Stops syncing and removes the synced data and the upload queue.
    ///
    /// Other processes that wait to sync the file are disconnected, too: what they would sync is of the former user.
    ///
    /// - Parameters:
    ///   - clearLocal: whether the rows of local-only tables go too.
    ///   - soft: whether downloaded data is kept aside, so that the same user can resume without
    ///   downloading again.
    /// - Throws: `PowerSyncError`; nothing has been removed then. `operationFailed` also while another process syncs the
    ///   same file; this one is then disconnected all the same.
    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws

    /// Returns a stream to subscribe to; nothing happens before ``SyncStream/subscribe(ttl:priority:)``.
    func syncStream(name: String, params: JsonParam?) -> any SyncStream

    /// Stops what this instance syncs and closes its connections; any number of calls count as one.
    ///
    /// Returns when its last callback is over. Other instances of the file go on.
    func close() async throws

    /// Closes the database and, if asked to, removes its files.
    ///
    /// - Parameter deleteDatabase: whether the files go.
    /// - Throws: `PowerSyncError`. `operationFailed` if another instance of this process uses the files, and nothing has
    ///   changed then, or if another process has them open: this instance is closed, and the files stay.
    func close(deleteDatabase: Bool) async throws
}

extension PowerSyncDatabaseProtocol {
    /// Returns the oldest queued transaction; nil if there is none.
    public func getNextCrudTransaction() async throws -> CrudTransaction? {
        var iterator = getCrudTransactions().makeAsyncIterator()
        return try await iterator.next()
    }

    /// Returns all queued transactions, the oldest first.
    public func getCrudTransactions() -> CrudTransactions {
        CrudTransactions(database: self)
    }

    /// Returns the oldest queued entries regardless of transactions; nil if there are none or `limit` is
    /// not positive.
    public func getCrudBatch(limit: Int32 = 100) async throws -> CrudBatch? {
        guard limit > 0 else { return nil }
        // One more than asked for tells whether there is more; counted in 64 bits, so the greatest limit
        // works.
        let entries = try await getAll(
            sql: CrudQueue.oldest, parameters: [Int64(limit) + 1], mapper: CrudEntry.init(cursor:))
        guard !entries.isEmpty else { return nil }
        return CrudBatch(
            hasMore: entries.count > Int(limit), crud: Array(entries.prefix(Int(limit))), database: self)
    }

    /// Starts syncing with the most common options.
    ///
    /// - Parameters:
    ///   - connector: the app's connector.
    ///   - crudThrottle: the least time between the starts of two upload rounds, in seconds.
    ///   - retryDelay: the wait after an error, in seconds.
    ///   - params: client parameters, sent with the stream request.
    /// - Throws: `PowerSyncError`.
    public func connect(
        connector: any PowerSyncBackendConnectorProtocol, crudThrottle: TimeInterval = 1,
        retryDelay: TimeInterval = 5, params: JsonParam = [:]
    ) async throws {
        try await connect(
            connector: connector,
            options: ConnectOptions(crudThrottle: crudThrottle, retryDelay: retryDelay, params: params))
    }

    /// Stops syncing and removes all data, that of local-only tables too.
    public func disconnectAndClear() async throws {
        try await disconnectAndClear(clearLocal: true, soft: false)
    }

    /// Stops syncing and removes the synced data.
    public func disconnectAndClear(clearLocal: Bool) async throws {
        try await disconnectAndClear(clearLocal: clearLocal, soft: false)
    }

    /// Stops syncing and removes the data, that of local-only tables too.
    public func disconnectAndClear(soft: Bool) async throws {
        try await disconnectAndClear(clearLocal: true, soft: soft)
    }

    /// Returns once the data of a priority was complete; at once if it was before.
    public func waitForFirstSync(priority: BucketPriority) async throws {
        try await waitForFirstSync(priority: priority.priorityCode)
    }
}
