import PowerSync
import PowerSyncSQLite
import PowerSyncSystem

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the client of the tool can do, whoever tells it to: a program by lines of JSON, or a person at a prompt.
package struct ClientOperations: Sendable {
    /// The wait after an error unless said otherwise, in seconds.
    static let standardRetry = 0.5
    /// The least time between two upload rounds unless said otherwise, in seconds.
    static let standardUploadThrottle = 0.01

    let database: any PowerSyncDatabaseProtocol
    /// What follows from the states of syncing.
    let checkpoints: CheckpointFeed
    /// The files that belong to rows; nil for a client that has none.
    let attachments: ClientAttachments?
    /// What the backend refuses.
    private let refused: RefusedUploads
    /// Hands the feed each state.
    private let observation: StatusObservation
    private let connector: any PowerSyncBackendConnectorProtocol
    private let connectOptions: ConnectOptions
    private let streams = HeldStreams()

    private init(
        _ database: any PowerSyncDatabaseProtocol, checkpoints: CheckpointFeed,
        attachments: ClientAttachments?, refused: RefusedUploads, observation: StatusObservation,
        connector: any PowerSyncBackendConnectorProtocol, connectOptions: ConnectOptions
    ) {
        self.database = database
        self.checkpoints = checkpoints
        self.attachments = attachments
        self.refused = refused
        self.observation = observation
        self.connector = connector
        self.connectOptions = connectOptions
    }

    /// Opens the database.
    ///
    /// - Parameters:
    ///   - options: what the tool is started with.
    ///   - logger: where the database logs.
    ///   - session: closes it.
    ///   - onCheckpoint: called for each checkpoint that is applied from now on, with its time; must be quick, and call
    ///   nothing of the database.
    ///   - onRefusal: called for each transaction that the backend refuses; must be quick.
    /// - Returns: the operations.
    /// - Throws: `PowerSyncError` if it cannot be opened; `ClientError`, or what the queue throws, if the files cannot be
    ///   known.
    static func open(
        _ options: ClientOptions, logger: any LoggerProtocol, session: Session,
        onCheckpoint: @escaping @Sendable (Date) -> Void = { _ in },
        onRefusal: @escaping @Sendable (RefusedUpload) -> Void = { _ in }
    ) async throws -> ClientOperations {
        let database = PowerSyncDatabase(
            schema: options.schema, dbFilename: options.database, logger: logger)
        session.onEnd { try await database.close() }
        // The first use opens the file: what is wrong with it is told before there are commands.
        _ = try await database.getPowerSyncVersion()
        guard let observed = database as? any StatusObserving else {
            throw ClientError("this database does not tell its states in time", code: .invalidState)
        }
        let checkpoints = CheckpointFeed()
        let observation = observed.observeStatus { status in
            if let time = checkpoints.take(status) { onCheckpoint(time) }
        }
        let refused = RefusedUploads(onRefusal)
        let connector = ClientConnector.make(options, telling: refused)
        return ClientOperations(
            database, checkpoints: checkpoints,
            attachments: try await attachments(options, database, connector, logger, session),
            refused: refused, observation: observation, connector: connector,
            connectOptions: options.connectOptions)
    }

    private static func attachments(
        _ options: ClientOptions, _ database: any PowerSyncDatabaseProtocol,
        _ connector: any PowerSyncBackendConnectorProtocol, _ logger: any LoggerProtocol, _ session: Session
    ) async throws -> ClientAttachments? {
        guard let chosen = options.attachments else { return nil }
        guard let connector = connector as? BackendConnector else {
            throw ClientError("attachments need a backend, which signs their addresses", code: .invalidState)
        }
        let attachments = ClientAttachments(
            chosen, of: database, at: options.database, connector: connector, logger: logger)
        session.onEnd { try await attachments.close() }
        try await attachments.prepare()
        return attachments
    }

    /// Ends the transfers, and closes the database.
    ///
    /// - Throws: what the SDK throws; the database is closed all the same.
    func close() async throws {
        let ended: Result<Void, any Error>
        do {
            try await attachments?.close()
            ended = .success(())
        } catch {
            ended = .failure(error)
        }
        try await database.close()
        try ended.get()
    }

    // MARK: SQL

    /// Runs statements in one transaction.
    ///
    /// The end of the task ends them where they are, and undoes all of them.
    ///
    /// - Parameters:
    ///   - statements: the statements.
    ///   - mapper: makes a value of each row.
    /// - Returns: what each of them gave.
    /// - Throws: what the SDK throws; `CancellationError`.
    func write<Row>(
        _ statements: [ClientStatement], mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) async throws -> [StatementOutcome<Row>] {
        try await whileWanted { isUnwanted in
            try await database.writeTransaction(unless: isUnwanted) { transaction in
                try statements.map { statement -> StatementOutcome<Row> in
                    // Many short ones take as long as one that is long.
                    if isUnwanted() { throw CancellationError() }
                    return try Self.outcome(of: statement, on: transaction, unless: isUnwanted, mapper)
                }
            }
        }
    }

    /// Runs a statement on the connection that writes, in no transaction but its own.
    ///
    /// The end of the task ends it where it is.
    ///
    /// - Parameters:
    ///   - statement: the statement.
    ///   - mapper: makes a value of each row.
    /// - Returns: what it gave.
    /// - Throws: what the SDK throws; `CancellationError`.
    func run<Row>(
        _ statement: ClientStatement, mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) async throws -> StatementOutcome<Row> {
        try await whileWanted { isUnwanted in
            try await database.writeLock {
                try Self.outcome(of: statement, on: $0, unless: isUnwanted, mapper)
            }
        }
    }

    /// Runs a statement where nothing can be written, which the end of the task ends where it is.
    ///
    /// - Parameters:
    ///   - statement: the statement.
    ///   - mapper: makes a value of each row.
    /// - Returns: what it gave.
    /// - Throws: what the SDK throws; `CancellationError`.
    func read<Row>(
        _ statement: ClientStatement, mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) async throws -> StatementOutcome<Row> {
        try await whileWanted { isUnwanted in
            try await database.readLock { connection in
                try Self.context(connection).refuseWriting(sql: statement.sql)
                return try Self.outcome(of: statement, on: connection, unless: isUnwanted, mapper)
            }
        }
    }

    /// Runs a query now and after each change of its tables, until the task ends, or the database is closed.
    ///
    /// The end of the task ends the query, too, where it is.
    ///
    /// - Parameters:
    ///   - statement: the query.
    ///   - throttle: the least time between two results, in seconds.
    ///   - prepare: called each time before the query runs, and may wait.
    ///   - mapper: makes a value of each row.
    ///   - body: gets each result, whole; nothing is asked for while it has one.
    /// - Throws: what the SDK throws; `CancellationError`.
    func watch<Row: Sendable>(
        _ statement: ClientStatement, throttle: Double,
        before prepare: @escaping @Sendable () async throws -> Void = {},
        mapper: @Sendable @escaping (any SqlCursor) throws -> Row, _ body: ([Row]) async -> Void
    ) async throws {
        guard let database = database as? any StatementWatching else {
            throw ClientError("this database does not end a query in its midst", code: .invalidState)
        }
        try await whileWanted { isUnwanted in
            let results = try database.watch(
                options: WatchOptions(
                    sql: statement.sql, parameters: statement.arguments, throttle: throttle, mapper: mapper),
                unless: isUnwanted, before: prepare)
            for try await rows in results { await body(rows) }
        }
    }

    /// Runs a statement on a connection.
    ///
    /// - Parameters:
    ///   - statement: the statement.
    ///   - connection: a connection of the SDK.
    ///   - isUnwanted: asked while it runs; true ends it.
    ///   - mapper: makes a value of each row.
    /// - Returns: what it gave.
    /// - Throws: what the SDK throws.
    static func outcome<Row>(
        of statement: ClientStatement, on connection: any ConnectionContext,
        unless isUnwanted: @escaping @Sendable () -> Bool,
        _ mapper: @Sendable @escaping (any SqlCursor) throws -> Row
    ) throws -> StatementOutcome<Row> {
        try context(connection).outcome(
            sql: statement.sql, parameters: statement.arguments, unless: isUnwanted, mapper: mapper)
    }

    private static func context(_ connection: any ConnectionContext) throws -> any StatementContext {
        guard let context = connection as? any StatementContext else {
            throw ClientError("this database does not tell what a statement gives", code: .invalidState)
        }
        return context
    }

    /// Runs a body with a question that is true once the task is cancelled.
    func whileWanted<Value>(
        _ body: (@escaping @Sendable () -> Bool) async throws -> Value
    ) async throws -> Value {
        let isUnwanted = Lock(false)
        do {
            return try await withTaskCancellationHandler {
                try await body { isUnwanted.withLock { $0 } }
            } onCancel: {
                isUnwanted.withLock { $0 = true }
            }
        } catch PowerSyncError.sqliteError(let code, _, _, _, _)
            where SQLiteError.Code(rawValue: code) == .interrupt
        {
            // Nothing but the question interrupts a statement here.
            throw CancellationError()
        } catch let error as PowerSyncError where error.code == .databaseBusy && isUnwanted.withLock({ $0 }) {
            // It ends the wait for another process, too.
            throw CancellationError()
        }
    }

    // MARK: Syncing

    /// Starts syncing and the transfer of files, or starts both again.
    ///
    /// - Parameters:
    ///   - retry: the wait after an error, in seconds.
    ///   - throttle: the least time between two upload rounds, in seconds.
    /// - Throws: what the SDK throws.
    func connect(
        retry: Double = ClientOperations.standardRetry,
        throttle: Double = ClientOperations.standardUploadThrottle
    ) async throws {
        var options = connectOptions
        options.retryDelay = retry
        options.crudThrottle = throttle
        try await database.connect(connector: connector, options: options)
        try await attachments?.queue.startSync()
    }

    /// Stops syncing, and the transfer of files.
    func disconnect() async throws {
        try await attachments?.queue.stopSyncing()
        try await database.disconnect()
    }

    /// Stops syncing and removes the data and all files; if `soft`, what was downloaded of the data is kept aside.
    func clear(soft: Bool) async throws {
        guard let queue = attachments?.queue else { return try await database.disconnectAndClear(soft: soft) }
        // In one step: of files without rows nobody knows whose they are.
        try await queue.disconnectAndClear(soft: soft)
    }

    /// Gives up the transaction that the backend will never take and leaves to the client.
    ///
    /// An attempt to upload it may be on its way; the next one begins behind it.
    ///
    /// - Returns: how many changes it has.
    /// - Throws: `ClientError` if there is none; what the SDK throws.
    func discard() async throws -> Int {
        guard let first = try await database.getNextCrudTransaction(), refused.isUndecided(first) else {
            throw ClientError("no transaction waits for a decision of this client", code: .invalidState)
        }
        try await first.complete()
        return first.crud.count
    }

    /// Subscribes to a stream and holds it.
    ///
    /// - Parameters:
    ///   - stream: the stream.
    ///   - timeToLive: how long its data stays wanted when it is held no longer, in seconds; nil for the usual time.
    ///   - priority: its priority; nil for its own.
    /// - Throws: what the SDK throws.
    func subscribe(
        to stream: ClientStream, timeToLive: Double? = nil, priority: BucketPriority? = nil
    ) async throws {
        let handle = try await reference(stream).subscribe(ttl: timeToLive, priority: priority)
        streams.hold(stream, handle)
    }

    /// Gives up a stream that is held; all subscriptions of it, whoever made them, if asked for.
    ///
    /// - Parameters:
    ///   - stream: the stream.
    ///   - all: whether others are ended, too.
    /// - Returns: whether there was anything to give up; always true for all.
    /// - Throws: what the SDK throws.
    func unsubscribe(from stream: ClientStream, all: Bool) async throws -> Bool {
        let handle = streams.release(stream)
        try await handle?.unsubscribe()
        if all { try await reference(stream).unsubscribeAll() }
        return all || handle != nil
    }

    /// Returns the state of syncing, one for all questions about it.
    func status() async throws -> any SyncStatusData {
        var statuses = database.currentStatus.asFlow().makeAsyncIterator()
        guard let status = await statuses.next() else { throw CancellationError() }
        return status
    }

    /// Returns a stream to ask about.
    func reference(_ stream: ClientStream) -> any SyncStream {
        database.syncStream(name: stream.name, params: stream.parameters)
    }
}
