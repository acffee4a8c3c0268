#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Keeps files in step with the rows of an app that refer to them by an id: what a row refers to is downloaded, what
/// is saved is uploaded, and what no row refers to any more goes after a while.
///
/// The rows sync as all rows do, the files by way of a ``RemoteStorageAdapter``; which file is where stands in a
/// local-only table (``createAttachmentTable(name:)``), so the queue goes on where it was after a restart. A file
/// never changes: another picture has another id.
///
/// ```swift
/// import Foundation
///
/// let backend = BackendConnector(url: "https://api.example.com", session: { await account.authorization })
/// let queue = AttachmentQueue(
///     db: database, remoteStorage: SignedURLStorage(connector: backend),
///     attachmentsDirectory: "/var/lib/example/photos",
///     watchAttachments: {
///         // Not before the first sync: what is not in the result is archived.
///         try database.watch("SELECT photo_id FROM users WHERE photo_id IS NOT NULL") { cursor in
///             WatchedAttachmentItem(id: try cursor.getString(index: 0), fileExtension: "jpg")
///         }
///     })
/// try await database.waitForFirstSync()
/// try await queue.startSync()
///
/// let photo = try await queue.saveFile(
///     data: Data([0xff, 0xd8, 0xff]), mediaType: "image/jpeg", fileExtension: "jpg"
/// ) { transaction, photo in
///     try transaction.execute(
///         sql: "UPDATE users SET photo_id = ? WHERE id = ?", parameters: [photo.id, "u1"])
/// }
/// ```
///
/// A transfer that fails is tried again with the next try of all files: after ``startSync()``'s interval, when the
/// database is connected again, and when ``syncStorage()`` is called. Until then the others go on. A
/// ``SyncErrorHandler`` may give a file up instead.
///
/// One process at a time transfers the files of a table; others save and delete meanwhile, and take over when it
/// ends. Tables of several queues have different names, and their files different folders.
public actor AttachmentQueue: AttachmentQueueProtocol {
    /// The database.
    public let db: any PowerSyncDatabaseProtocol
    /// The storage.
    public let remoteStorage: any RemoteStorageAdapter
    /// The place of the files on this device.
    public let localStorage: any LocalStorageAdapter
    /// Whether files are downloaded that rows of the app refer to.
    public let downloadAttachments: Bool
    /// Where is logged.
    public let logger: any LoggerProtocol
    /// Gives access to the rows of the table of attachments.
    public let attachmentsService: any AttachmentServiceProtocol
    /// Transfers the files.
    public let syncingService: SyncingService
    /// Whether the queue is closed.
    public private(set) var closed = false

    let subdirectories: [String]
    let progress: AttachmentProgress
    let folder: AttachmentFolder
    private let watchAttachments:
        @Sendable () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>
    private let interval: TimeInterval
    private let environment: SyncEnvironment
    /// The first look for the files of all rows.
    private let verification: Task<Void, any Error>
    /// What runs since ``startSync()``.
    private var tasks: AttachmentTasks?
    /// Counts what was asked for: who was overtaken while it waited begins nothing.
    private var wish = 0

    /// Makes a queue, which looks for the files of all rows and does nothing else before ``startSync()``.
    ///
    /// - Parameters:
    ///   - db: the database.
    ///   - remoteStorage: the storage.
    ///   - attachmentsDirectory: the path of the folder that the files have to themselves.
    ///   - watchAttachments: watches the files that rows of the app refer to; called with each ``startSync()``, and
    ///   again when watching fails. What is not in a result is archived, so nothing must be told before the first
    ///   sync.
    ///   - localStorage: the place of the files on this device.
    ///   - attachmentsQueueTableName: the name of the table, which the schema of the database has.
    ///   - errorHandler: decides what becomes of a file whose transfer failed; nil to try again for ever.
    ///   - syncInterval: after how many seconds all files that wait are tried again; 0 or less for never.
    ///   - archivedCacheLimit: how many files are kept that no row refers to any more.
    ///   - syncThrottleDuration: the least time in seconds between the beginnings of two tries of all files.
    ///   - subdirectories: folders below that of the files; filenames may begin with them.
    ///   - downloadAttachments: whether files are downloaded that rows of the app refer to.
    ///   - logger: where is logged; nil for where the database logs.
    ///   - getLocalUri: returns the path of a file by its name; nil for a path in the folder.
    public init(
        db: any PowerSyncDatabaseProtocol, remoteStorage: any RemoteStorageAdapter,
        attachmentsDirectory: String,
        watchAttachments:
            @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter = FileManagerStorageAdapter(),
        attachmentsQueueTableName: String = defaultAttachmentsTableName,
        errorHandler: (any SyncErrorHandler)? = nil, syncInterval: TimeInterval = 30.0,
        archivedCacheLimit: Int64 = 100, syncThrottleDuration: TimeInterval = 1.0,
        subdirectories: [String]? = nil, downloadAttachments: Bool = true,
        logger: (any LoggerProtocol)? = nil,
        getLocalUri: (@Sendable (_ filename: String) async -> String)? = nil
    ) {
        self.init(
            db: db, remoteStorage: remoteStorage, attachmentsDirectory: attachmentsDirectory,
            watchAttachments: watchAttachments, localStorage: localStorage,
            attachmentsQueueTableName: attachmentsQueueTableName, errorHandler: errorHandler,
            syncInterval: syncInterval, archivedCacheLimit: archivedCacheLimit,
            syncThrottleDuration: syncThrottleDuration, subdirectories: subdirectories,
            downloadAttachments: downloadAttachments, logger: logger, getLocalUri: getLocalUri,
            maxConcurrentTransfers: 1)
    }

    /// Makes a queue that transfers several files at once.
    ///
    /// - Parameters:
    ///   - db: the database.
    ///   - remoteStorage: the storage.
    ///   - attachmentsDirectory: the path of the folder that the files have to themselves.
    ///   - watchAttachments: watches the files that rows of the app refer to; called with each ``startSync()``, and
    ///   again when watching fails. What is not in a result is archived, so nothing must be told before the first
    ///   sync.
    ///   - localStorage: the place of the files on this device.
    ///   - attachmentsQueueTableName: the name of the table, which the schema of the database has.
    ///   - errorHandler: decides what becomes of a file whose transfer failed; nil to try again for ever.
    ///   - syncInterval: after how many seconds all files that wait are tried again; 0 or less for never.
    ///   - archivedCacheLimit: how many files are kept that no row refers to any more.
    ///   - syncThrottleDuration: the least time in seconds between the beginnings of two tries of all files.
    ///   - subdirectories: folders below that of the files; filenames may begin with them.
    ///   - downloadAttachments: whether files are downloaded that rows of the app refer to.
    ///   - logger: where is logged; nil for where the database logs.
    ///   - getLocalUri: returns the path of a file by its name; nil for a path in the folder.
    ///   - maxConcurrentTransfers: how many files go at once each way: up, down and away.
    public init(
        db: any PowerSyncDatabaseProtocol, remoteStorage: any RemoteStorageAdapter,
        attachmentsDirectory: String,
        watchAttachments:
            @Sendable @escaping () throws -> AsyncThrowingStream<[WatchedAttachmentItem], any Error>,
        localStorage: any LocalStorageAdapter = FileManagerStorageAdapter(),
        attachmentsQueueTableName: String = defaultAttachmentsTableName,
        errorHandler: (any SyncErrorHandler)? = nil, syncInterval: TimeInterval = 30.0,
        archivedCacheLimit: Int64 = 100, syncThrottleDuration: TimeInterval = 1.0,
        subdirectories: [String]? = nil, downloadAttachments: Bool = true,
        logger: (any LoggerProtocol)? = nil,
        getLocalUri: (@Sendable (_ filename: String) async -> String)? = nil,
        maxConcurrentTransfers: Int
    ) {
        let plainFolder = AttachmentFolder(
            attachmentsDirectory,
            LocalFiles(storage: localStorage, subdirectories: subdirectories ?? [], path: { $0 }))
        let path: @Sendable (String) async -> String = getLocalUri ?? { plainFolder.path(of: $0) }
        let local = LocalFiles(storage: localStorage, subdirectories: subdirectories ?? [], path: path)
        let logger = logger ?? db.logger
        let environment = SyncEnvironment.of(db)
        let progress = AttachmentProgress(environment)
        let service = AttachmentService(
            AttachmentContext(
                db: db, tableName: attachmentsQueueTableName, logger: logger,
                maxArchivedCount: archivedCacheLimit))
        self.db = db
        self.remoteStorage = remoteStorage
        self.localStorage = localStorage
        self.downloadAttachments = downloadAttachments
        self.logger = logger
        self.subdirectories = subdirectories ?? []
        self.progress = progress
        self.environment = environment
        self.watchAttachments = watchAttachments
        interval = syncInterval
        attachmentsService = service
        let folder = AttachmentFolder(attachmentsDirectory, local)
        self.folder = folder
        syncingService = SyncingService(
            TransferSetup(
                remote: remoteStorage, local: local, service: service, errorHandler: errorHandler,
                logger: logger, progress: progress, environment: environment),
            mostAtOnce: maxConcurrentTransfers, throttle: syncThrottleDuration)
        // It belongs to no call of the app in which the queue is made.
        verification = Task.detached {
            try await service.withContext { try await folder.settleCleared($0.rows, logger) }
            try await AttachmentVerification(service: service, local: local).run()
        }
    }

    deinit {
        verification.cancel()
        tasks?.end()
        progress.close()
    }

    /// Waits for the first look for the files of all rows; throws what that threw.
    public func waitForInit() async throws {
        try await verification.value
    }

    /// Begins to watch rows of the app, and to transfer files; begins anew where it has begun already.
    ///
    /// The files of all rows are looked for first: of what is missing the path is repaired, or the file downloaded
    /// again.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, what the database and the storage on this device throw;
    ///   nothing is begun then.
    public func startSync() async throws {
        try checkOpen()
        wish += 1
        let mine = wish
        await endTasks()
        try await attachmentsService.withContext { [folder, logger] in
            try await folder.settleCleared($0.rows, logger)
        }
        try await folder.make()
        try await folder.sweep(attachmentsService.withContext { $0.rows }, logger)
        try await AttachmentVerification(service: attachmentsService, local: folder.local).run()
        try checkOpen()
        guard wish == mine else { return }
        let tasks = AttachmentTasks()
        self.tasks = tasks
        try await syncingService.startSync(period: interval) { tasks.isOver }
        AttachmentJobs(
            db: db,
            watched: WatchedAttachments(
                service: attachmentsService, downloads: downloadAttachments,
                subdirectories: subdirectories,
                verification: AttachmentVerification(service: attachmentsService, local: folder.local),
                filename: { WatchedAttachments.standardName($0, $1) }, logger: logger),
            watch: watchAttachments, syncing: syncingService, environment: environment, logger: logger,
            tasks: tasks
        ).begin()
    }

    /// Stops what was begun with ``startSync()``, and returns within half a second.
    ///
    /// Transfers are cancelled. One that does not end by that is left alone, and what it brings later is dropped.
    public func stopSyncing() async throws {
        wish += 1
        await endTasks()
    }

    /// Stops for good; any number of calls count as one.
    public func close() async throws {
        closed = true
        try await stopSyncing()
        try await syncingService.close()
        progress.close()
    }

    /// Returns the path of a file by its name.
    @Sendable public nonisolated func getLocalUri(_ filename: String) async -> String {
        await folder.local.path(filename)
    }

    /// Removes all archived rows that are too many, and their files.
    ///
    /// Where a file cannot be removed its row stays, and keeps no other; what is thrown then is of the first of them.
    public func expireCache() async throws {
        let outcome = try await AttachmentExpiry(service: attachmentsService, local: folder.local).run()
        if let error = outcome.first { throw error }
    }

    /// Removes all rows of the table, and the folder of the files.
    ///
    /// What is under way is cancelled. Where all data is to go, as when somebody signs out, it is
    /// ``disconnectAndClear(soft:)`` that removes both, or none of it.
    ///
    /// Once it has begun it goes on to its end, also where the task is cancelled; what a crash leaves of it goes with the next
    /// queue.
    public func clearQueue() async throws {
        // In one go, so that nobody saves a row between the two whose file goes.
        try await attachmentsService.withContext { [folder, logger] context in
            // Shielded: no rows may go without their files.
            try await Task {
                let rows = context.rows
                try await folder.clear(rows, logger) { try await rows.clear($0) }
            }.value
        }
    }

    /// Looks for the files of all rows: of what is missing the path is repaired, or the file downloaded again.
    public func verifyAttachments() async throws {
        try await AttachmentVerification(service: attachmentsService, local: folder.local).run()
    }

    private func checkOpen() throws {
        if closed { throw PowerSyncAttachmentError.closed("The attachment queue is closed.") }
    }

    private func endTasks() async {
        let ended = tasks.take()
        ended?.end()
        await withTaskGroup(of: Void.self) { [syncingService, environment] group in
            group.addTask { _ = await ended?.wait(environment) }
            group.addTask { await syncingService.stop() }
        }
    }
}
