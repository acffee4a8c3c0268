#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A local database that syncs with a PowerSync service.
///
/// Made by `PowerSyncDatabase(schema:)`, or by ``OpenedPowerSyncDatabase(schema:pool:identifier:logger:)`` on
/// connections of the app; the file is opened at the first use.
public protocol PowerSyncDatabaseProtocol: Queries, Sendable {
    /// The live state of syncing.
    var currentStatus: any SyncStatus { get }

    /// Where the database logs.
    var logger: any LoggerProtocol { get }

    /// Returns once all data was complete; at once if it was before.
    ///
    /// Throws `CancellationError` when the task is cancelled, `operationFailed` when the database is closed.
    ///
    /// ```swift
    /// try await database.connect(connector: connector, options: nil)
    /// // First what the sync configuration gives a priority of 1, then everything.
    /// try await database.waitForFirstSync(priority: BucketPriority(1))
    /// try await database.waitForFirstSync()
    /// ```
    func waitForFirstSync() async throws

    /// Replaces the tables, keeping their data; throws `operationFailed` from `connect` to `disconnect`.
    func updateSchema(schema: any SchemaProtocol) async throws

    /// Returns once the data of a priority was complete; at once if it was before.
    ///
    /// Throws as ``waitForFirstSync()``, and `PowerSyncError` with the code `invalidArgument` for a negative priority.
    func waitForFirstSync(priority: Int32) async throws

    /// Starts syncing in the background, or starts again with another connector and options.
    ///
    /// Returns right after starting: errors of the network or the service show in ``currentStatus`` and are
    /// retried.
    /// Cancelling the calling task later does not end syncing. While another process syncs the same file, this one only
    /// waits for its turn (``SyncStatusData/isSyncedElsewhere``).
    ///
    /// ```swift
    /// let options = ConnectOptions(crudThrottle: 0.1, params: ["project": .string("p1")])
    /// try await database.connect(connector: connector, options: options)
    /// ```
    func connect(connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?) async throws

    /// Starts syncing as ``connect(connector:options:)``, and waits for the first connection if asked to.
    ///
    /// - Parameters:
    ///   - connector: the app's connector.
    ///   - options: how to sync; nil for what is usual.
    ///   - waitForConnection: whether to return only when the service has accepted the connection. Does not wait while
    ///     another process syncs the same file.
    /// - Throws: the first error of the network or the service if it came before a connection; syncing goes on then, and is
    ///   tried again. `PowerSyncError` if the database is disconnected meanwhile, `CancellationError`.
    func connect(
        connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?, waitForConnection: Bool
    ) async throws

    /// Begins to upload what is queued, if a stream is open; returns at once.
    ///
    /// There is no need to call it for writes of this library: it is for an app that knows that its backend accepts
    /// again what it has refused. Throws `PowerSyncError` when the database is closed.
    func triggerCrudUpload() async throws

    /// Waits until a condition on the status holds, at once if it does.
    ///
    /// - Parameters:
    ///   - timeout: the longest time in seconds, from the moment on at which the database is open; nil for no limit, 0 or
    ///     less to look once.
    ///   - condition: looks at each status in turn, in the task that waits; must be quick and call nothing else. Of those
    ///     that it has not come to the newest 1,024 are kept.
    /// - Throws: `PowerSyncError` with the code `timedOut` when the time is over, with `closed` when the database is closed;
    ///   `CancellationError`.
    func waitForStatus(
        timeout: TimeInterval?, until condition: @escaping @Sendable (any SyncStatusData) -> Bool
    ) async throws

    /// Runs a callback with the writing connection as `writeLock(callback:)`, unless that is in use for too long.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for the connection, in seconds, from the moment on at which the database is open; 0 or
    ///     less to have it at once or not at all. The callback itself may take any time.
    ///   - callback: uses the connection.
    /// - Returns: what the callback returns.
    /// - Throws: `PowerSyncError` with the code `databaseBusy` when the time is over, before the callback has begun; what the
    ///   callback throws; `CancellationError`.
    func writeLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R

    /// Runs a callback with a reading connection as `readLock(callback:)`, unless all are in use for too long.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for a connection, as for ``writeLock(timeout:callback:)``.
    ///   - callback: uses the connection.
    /// - Returns: what the callback returns.
    /// - Throws: as ``writeLock(timeout:callback:)``.
    func readLock<R>(
        timeout: TimeInterval, callback: @Sendable @escaping (any ConnectionContext) throws -> R
    ) async throws -> R

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
    /// Other processes that wait to sync the file are disconnected, too: what they would sync is of the former user. Files
    /// of attachments stay, also where their rows go: an app that has some calls
    /// ``AttachmentQueue/disconnectAndClear(soft:)`` in place of this.
    ///
    /// - Parameters:
    ///   - clearLocal: whether the rows of local-only tables go too.
    ///   - soft: whether downloaded data is kept aside, so that the same user can resume without
    ///   downloading again.
    /// - Throws: `PowerSyncError`; nothing has been removed then. `operationFailed` also while another process syncs
    ///   the same file; this one is then disconnected all the same.
    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws

    /// Asks the service for a checkpoint that includes everything that was written to its database so far.
    ///
    /// Without a connection to the service it waits for one, whose next attempt begins at once then. Whatever ends syncing
    /// ends that wait, too, with ``CheckpointRequestError/notConnecting``. It needs
    /// ``CheckpointMode/requests(checkpointRequestRetryDelay:)``.
    ///
    /// ```swift
    /// try await database.connect(connector: connector, options: ConnectOptions(checkpointMode: .requests()))
    /// let request = try await database.requestCheckpoint()
    /// try await request.waitForSync(timeout: 30)
    /// ```
    ///
    /// - Returns: what to wait with until the checkpoint is applied here.
    /// - Throws: ``CheckpointRequestError``; `CancellationError` when the task is cancelled.
    func requestCheckpoint() async throws -> any CheckpointRequest

    /// Returns a stream to subscribe to; nothing happens before ``SyncStream/subscribe(ttl:priority:)``.
    ///
    /// ```swift
    /// let stream = database.syncStream(name: "todos_of_list", params: ["list_id": .string("l1")])
    /// let subscription = try await stream.subscribe(ttl: 3600, priority: nil)
    /// try await subscription.waitForFirstSync()
    /// // The data is kept in step as long as the subscription is held, and for an hour after that.
    /// try await subscription.unsubscribe()
    /// ```
    func syncStream(name: String, params: JsonParam?) -> any SyncStream

    /// Stops what this instance syncs and closes its connections; any number of calls count as one.
    ///
    /// Returns when its last callback is over. Other instances of the file go on.
    func close() async throws

    /// Closes the database and, if asked to, removes its files.
    ///
    /// - Parameter deleteDatabase: whether the files go.
    /// - Throws: `PowerSyncError`. `operationFailed` if another instance of this process uses the files, and nothing
    ///   has changed then, or if another process has them open: this instance is closed, and the files stay. The same if
    ///   that cannot be told, as when an initial statement fails.
    func close(deleteDatabase: Bool) async throws
}

extension PowerSyncDatabaseProtocol {
    /// Returns the id by which the service knows this database; it stays the same until the file is gone.
    public func getClientId() async throws -> String {
        try await get("SELECT powersync_client_id()") { try $0.getString(index: 0) }
    }

    /// Returns the oldest queued transaction; nil if there is none.
    ///
    /// Throws `PowerSyncError`, with the code `unreadableQueueEntry` for an entry of the queue that cannot be read.
    ///
    /// ```swift
    /// while let transaction = try await database.getNextCrudTransaction() {
    ///     for entry in transaction.crud {
    ///         print(entry.op, entry.table, entry.id)  // an app sends it to its backend
    ///     }
    ///     try await transaction.complete()
    /// }
    /// ```
    public func getNextCrudTransaction() async throws -> CrudTransaction? {
        var iterator = getCrudTransactions().makeAsyncIterator()
        return try await iterator.next()
    }

    /// Returns all queued transactions, the oldest first; they are read one at a time, as they are asked for.
    public func getCrudTransactions() -> CrudTransactions {
        CrudTransactions(database: self)
    }

    /// Returns the oldest queued entries regardless of transactions; nil if there are none or `limit` is
    /// not positive.
    ///
    /// Throws `PowerSyncError`, with the code `unreadableQueueEntry` for an entry that cannot be read.
    ///
    /// ```swift
    /// while let batch = try await database.getCrudBatch(limit: 50) {
    ///     for entry in batch.crud {
    ///         print(entry.op, entry.table, entry.id)  // an app sends it to its backend
    ///     }
    ///     try await batch.complete()
    /// }
    /// ```
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

    /// Starts syncing; a database of another making waits for no connection.
    public func connect(
        connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?, waitForConnection: Bool
    ) async throws {
        try await connect(connector: connector, options: options)
        if waitForConnection { try await waitForStatus { $0.connected } }
    }

    /// Throws `PowerSyncError`: a database of another making need not know how.
    public func triggerCrudUpload() async throws {
        throw PowerSyncError(.invalidState, "This database uploads by itself alone")
    }

    /// Waits without a limit until a condition on the status holds, at once if it does.
    ///
    /// - Parameter condition: as for ``waitForStatus(timeout:until:)``.
    /// - Throws: `PowerSyncError` with the code `closed` when the database is closed; `CancellationError`.
    public func waitForStatus(
        until condition: @escaping @Sendable (any SyncStatusData) -> Bool
    ) async throws {
        try await waitForStatus(timeout: nil, until: condition)
    }

    /// Waits until a condition on the status holds, at once if it does.
    public func waitForStatus(
        timeout: TimeInterval?, until condition: @escaping @Sendable (any SyncStatusData) -> Bool
    ) async throws {
        try await limited(to: timeout, unless: { condition(currentStatus) }) {
            for await status in self.currentStatus.asFlow() where condition(status) { return }
            try Task.checkCancellation()
            throw PowerSyncError.closed
        }
    }

    /// Throws ``CheckpointRequestError``: a database of another making need not know checkpoint requests.
    public func requestCheckpoint() async throws -> any CheckpointRequest {
        throw CheckpointRequestError.operationFailed(message: "This database knows no checkpoint requests.")
    }

    /// Returns once the data of a priority was complete; at once if it was before.
    public func waitForFirstSync(priority: BucketPriority) async throws {
        try await waitForFirstSync(priority: priority.priorityCode)
    }
}
