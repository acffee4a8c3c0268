import PowerSyncSQLite
import PowerSyncWire

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Connecting, clearing, the schema, and stream subscriptions.
extension LocalDatabase {
    func getPowerSyncVersion() async throws -> String {
        try await get("SELECT powersync_rs_version()") { try $0.getString(index: 0) }
    }

    func waitForFirstSync() async throws {
        try await waitForStatus(timeout: nil) { $0.hasSynced == true }
    }

    func waitForFirstSync(priority: Int32) async throws {
        guard priority >= 0 else {
            throw PowerSyncError(.invalidArgument, "A priority code must not be negative")
        }
        let priority = BucketPriority(priority)
        try await waitForStatus(timeout: nil) { $0.statusForPriority(priority).hasSynced == true }
    }

    func connect(connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?) async throws {
        let connect: @Sendable (any ConnectionPool, Int) async throws -> SyncCoordinator = { pool, wish in
            try await self.restoreSubscriptions(pool)
            return try self.coordinator(
                pool, connector: connector, options: options ?? ConnectOptions(), connection: wish)
        }
        try await group.submit(.connect, of: self, .connect(connect))
    }

    func connect(
        connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions?, waitForConnection: Bool
    ) async throws {
        try await connect(connector: connector, options: options)
        guard waitForConnection, let session = group.coordinator?.status.session else { return }
        try await group.status.progress.waitForConnection(in: session)
    }

    func triggerCrudUpload() async throws {
        _ = try await pool()
        group.triggerUpload()
    }

    func disconnect() async throws {
        try await group.submit(.disconnect, of: self)
    }

    func requestCheckpoint() async throws -> any CheckpointRequest {
        _ = try await pool()
        guard let coordinator = group.coordinator else { throw CheckpointRequestError.notConnecting }
        return RequestedCheckpoint(
            try await coordinator.requestCheckpoint(), in: group.status.progress, environment: environment)
    }

    func disconnectAndClear(clearLocal: Bool, soft: Bool) async throws {
        try await disconnectAndClear(clearLocal: clearLocal, soft: soft) {}
    }

    /// Stops syncing and removes the synced data, as the method of the protocol; what else goes with it goes in one transaction.
    ///
    /// - Parameters:
    ///   - clearLocal: whether the rows of local-only tables go too.
    ///   - soft: whether downloaded data is kept aside.
    ///   - last: called in the transaction, behind all that it removes; once nothing but its commit can fail.
    /// - Throws: what the method of the protocol throws.
    func disconnectAndClear(
        clearLocal: Bool, soft: Bool, last: @escaping @Sendable () -> Void
    ) async throws {
        let flags: Int64 = (clearLocal ? 1 : 0) | (soft ? 2 : 0)
        let status = group.status
        let clear: @Sendable (any ConnectionPool) async throws -> Void = { pool in
            try await pool.write { connection in
                try connection.transaction {
                    try connection.run("SELECT powersync_clear(?1)", [.integer(flags)])
                    try CoreMigrations.markKeys(connection)
                    try ClearMark.leave(connection)
                    last()
                }
                // Nothing is there now, and here nobody can have stored anything since.
                status.reset()
            }
            status.progress.forgetRequests()
        }
        try await group.submit(.clear, of: self, .change(clear))
    }

    func updateSchema(schema: any SchemaProtocol) async throws {
        let update: @Sendable (any ConnectionPool) async throws -> Void = { pool in
            try await self.apply(schema, to: pool)
            self.replaceSchema(schema)
        }
        try await group.submit(.updateSchema, of: self, .change(update))
    }

    /// Shows what the database says of earlier syncing, unless a stream shows more.
    ///
    /// - Parameter pool: the connections.
    /// - Throws: `PowerSyncError`.
    func refreshStatus(_ pool: any ConnectionPool) async throws {
        let database = SyncDatabase(pool: pool, environment: environment)
        try await wrapping {
            try await group.status.refresh { try await database.read { try $0.offlineStatus() } }
        }
    }
}

/// Stream subscriptions (client-api 2.11).
extension LocalDatabase {
    func syncStream(name: String, params: JsonParam?) -> any SyncStream {
        StreamReference(name: name, parameters: params, database: self)
    }

    /// Stores a subscription and keeps it alive; returns the number of the handle to release it with.
    func subscribe(_ key: StreamKey, wish: StreamRegistry.Wish) async throws -> Int {
        try key.check()
        // Closing waits for it, and gives all handles up.
        return try await use { pool in
            // Before it is stored: one that nobody holds and that has no time to live would go at once.
            let handle = group.streams.retain(key, wish: wish, of: number)
            do {
                let isSyncedElsewhere = currentStatus.isSyncedElsewhere
                try await write(pool) {
                    try $0.subscribe(key, timeToLive: wish.timeToLive, priority: wish.priority)
                    if isSyncedElsewhere { try $0.lease([key]) }
                }
                group.subscribed()
                try await subscriptionsChanged(pool)
            } catch {
                // Nobody gets the handle.
                release(key, handle: handle)
                throw error
            }
            return handle
        }
    }

    func unsubscribeAll(_ key: StreamKey) async throws {
        let pool = try await pool()
        group.streams.releaseAll(key)
        try await write(pool) { try $0.unsubscribe(key) }
        try await subscriptionsChanged(pool)
    }

    /// Gives a handle up: what it kept alive lasts for its time to live.
    func release(_ key: StreamKey, handle: Int) {
        if group.streams.release(key, handle: handle) { _ = group.subscriptionsChanged() }
    }

    private func subscriptionsChanged(_ pool: any ConnectionPool) async throws {
        if !group.subscriptionsChanged() { try await refreshStatus(pool) }
    }

    /// Renews what handles of the app hold, again and again until it is cancelled, while another process syncs.
    func keepSubscriptions(_ pool: any ConnectionPool, after subscribed: AsyncFlag) async {
        do {
            while true {
                guard !group.streams.active.isEmpty else {
                    try await subscribed.wait()
                    continue
                }
                await renewSubscriptions(pool, leasing: true)
                try await environment.sleep(SyncStore.leasePause)
            }
        } catch {
            // Cancelled: this process syncs now, or does not wait for that any more.
        }
    }

    /// Stores again what handles of the app hold and another process has ended or dropped.
    ///
    /// - Parameters:
    ///   - pool: the connections.
    ///   - leasing: whether another process syncs, which knows of no handles here.
    func renewSubscriptions(_ pool: any ConnectionPool, leasing: Bool) async {
        let group = group
        do {
            // A wish to clear ends syncing before it begins, and behind it nothing is stored again.
            try await restoreSubscriptions(pool, leasing: leasing) { leasing || group.isSyncing }
        } catch {
            // Nobody wants that any more.
            if Task.isCancelled { return }
            logger.warning("Could not renew subscriptions: \(error)", tag: LogTag.sync)
        }
    }

    /// Stores again what handles of the app hold and is not subscribed to: clearing has removed it, or another process has
    /// ended or dropped it.
    private func restoreSubscriptions(
        _ pool: any ConnectionPool, leasing: Bool = false,
        while isWanted: @escaping @Sendable () -> Bool = { true }
    ) async throws {
        let streams = group.streams
        if streams.active.isEmpty { return }
        try await write(pool) { store in
            guard isWanted() else { return }
            // Asked here: what is unsubscribed from now on ends behind this, what was before must not come back.
            let wishes = streams.wishes
            for (key, ofHandles) in wishes {
                // The row of what was unsubscribed stays as long as the service lists the stream.
                let isSubscribed = try store.connection.one(
                    """
                    SELECT 1 FROM ps_stream_subscriptions
                    WHERE stream_name = ?1 AND local_params = ?2 AND ttl IS NOT NULL
                    """, [.text(key.name), .text(key.storedParameters)]
                ) { _ in true }
                guard isSubscribed == nil else { continue }
                // One after the other, as they were made: that decides which priority counts.
                for wish in ofHandles {
                    try store.subscribe(key, timeToLive: wish.timeToLive, priority: wish.priority)
                }
            }
            if leasing { try store.lease(wishes.map(\.key)) }
        }
    }

    private func write(_ pool: any ConnectionPool, _ body: @escaping @Sendable (SyncStore) throws -> Void)
        async throws
    {
        try await wrapping { try await SyncDatabase(pool: pool, environment: environment).write(body) }
    }
}

extension LocalDatabase {
    private func coordinator(
        _ pool: any ConnectionPool, connector: any PowerSyncBackendConnectorProtocol, options: ConnectOptions,
        connection: Int
    ) throws -> SyncCoordinator {
        var sync = SyncOptions()
        sync.start.parameters = options.params.json
        sync.start.includeDefaults = options.includeDefaultStreams
        if !options.appMetadata.isEmpty {
            sync.start.appMetadata =
                options.appMetadata.sorted { $0.key < $1.key }.map { JSONMember($0.key, .string($0.value)) }
        }
        sync.retryDelay = Duration(waiting: options.retryDelay)
        sync.uploadThrottle = Duration(waiting: options.crudThrottle)
        sync.uploadsWhileDisconnected = options.uploadWhileDisconnected
        if case .requests(let delay) = options.checkpointMode {
            sync.start.checkpointMode = .requests
            // Less would ask for the same again while the service makes the checkpoint.
            sync.checkpointRequestPatience = max(
                sync.checkpointRequestPatience, Duration(waiting: delay ?? 0))
        }
        if let configuration = options.clientConfiguration {
            sync.acceptsCompression = configuration.acceptsCompression
        }
        #if canImport(Darwin)
            // URLSession gives single bytes: where a line of text ends is seen, where one in BSON ends is not.
            if makeTransport == nil, options.clientConfiguration?.transport == nil {
                sync.prefersBinaryLines = false
            }
        #endif
        let group = group
        return SyncCoordinator(
            database: SyncDatabase(pool: pool, environment: environment),
            backend: SyncBackend(
                fetchCredentials: {
                    try await group.call(.fetchCredentials, of: self, in: connection) {
                        try await connector.fetchCredentials().map {
                            SyncCredentials(endpoint: $0.endpoint, token: $0.token)
                        }
                    }
                },
                uploadData: {
                    try await group.call(.uploadData, of: self, in: connection) {
                        try await connector.uploadData(database: self)
                    }
                },
                postCheckpointRequest: customPost(connector, options, connection)),
            transport: try transport(options),
            options: sync,
            status: SyncStatusHub(of: group.status),
            activeStreams: { group.streams.active },
            environment: environment,
            log: syncLog)
    }

    /// What stores checkpoint requests in place of the service, if the connector does.
    private func customPost(
        _ connector: any PowerSyncBackendConnectorProtocol, _ options: ConnectOptions, _ connection: Int
    ) -> SyncBackend.CheckpointRequestPost? {
        guard let connector = connector as? any CustomCheckpointRequestConnector else { return nil }
        guard case .requests = options.checkpointMode else {
            logger.warning(
                """
                The connector stores checkpoint requests, but none are made: connect with the option checkpointMode: \
                .requests().
                """, tag: LogTag.sync)
            return nil
        }
        let group = group
        return { id, clientID in
            try await group.call(.postCheckpointRequest, of: self, in: connection) {
                try await connector.postCheckpointRequest(id, clientId: clientID)
            }
        }
    }

    /// Where syncing logs.
    var syncLog: SyncLog {
        { [logger] severity, message in logger.log(severity, message, tag: LogTag.sync) }
    }

    private func transport(_ options: ConnectOptions) throws -> any SyncTransport {
        let transport = try PowerSyncError.wrapping {
            if let makeTransport { return try makeTransport() }
            return try NetworkTransport.make(options.clientConfiguration)
        }
        guard let logger = options.clientConfiguration?.requestLogger else { return transport }
        return LoggingTransport(transport, configuration: logger)
    }
}
