import PowerSync
import PowerSyncStack

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A client's queue of attachments by itself: which files there are it is told, and no row is synced.
struct FileQueue: Sendable {
    /// The type of all files.
    static let mediaType = "application/octet-stream"
    /// How long all files may take.
    private static let patience = Duration.seconds(1800)

    private let database: any PowerSyncDatabaseProtocol
    private let queue: AttachmentQueue

    /// Makes a queue, which transfers nothing yet.
    ///
    /// - Parameters:
    ///   - folder: a folder of its own, which is made.
    ///   - world: has the backend.
    ///   - ids: the files that there are.
    ///   - transfers: how many of a kind are transferred at a time.
    /// - Throws: `StackError` if there is no backend.
    init(in folder: String, _ world: StackWorld, _ ids: [String], atOnce transfers: Int) async throws {
        let backend = try await world.stack.url(.backend)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let logger = DefaultLogger(minSeverity: .error)
        let items = ids.map { WatchedAttachmentItem(id: $0, fileExtension: "bin") }
        database = PowerSyncDatabase(
            schema: Schema(createAttachmentTable(name: defaultAttachmentsTableName)),
            dbFilename: folder + "/client.db", logger: logger)
        queue = AttachmentQueue(
            db: database,
            remoteStorage: SignedURLStorage(connector: BackendConnector(url: backend, user: StackApp.user)),
            attachmentsDirectory: folder + "/files",
            watchAttachments: { AsyncThrowingStream { continuation in continuation.yield(items) } },
            syncInterval: 1, syncThrottleDuration: 0.05, logger: logger, maxConcurrentTransfers: transfers)
        try await queue.waitForInit()
    }

    /// Saves a file that is in memory.
    func save(_ data: Data, as id: String) async throws {
        _ = try await queue.saveFile(
            data: data, mediaType: Self.mediaType, fileExtension: "bin", metaData: nil, id: id,
            updateHook: { _, _ in })
    }

    /// Takes a file over, which is moved.
    func take(_ path: String, as id: String) async throws {
        _ = try await queue.saveFileFromUri(
            localUri: path, mediaType: Self.mediaType, fileExtension: "bin", metaData: nil, id: id,
            updateHook: { _, _ in })
    }

    /// Transfers all files; returns how long it took until so many are in step.
    func transfer(_ count: Int) async throws -> Duration {
        try await Phase.run("\(count) files to be in step", within: Self.patience) {
            let start = ContinuousClock.now
            try await queue.startSync()
            let synced = WatchOptions(
                sql: "SELECT count(*) FROM attachments WHERE state = ?",
                parameters: [AttachmentState.synced.rawValue], throttle: 0.005,
                mapper: { try $0.getInt(index: 0) })
            for try await counts in try database.watch(options: synced) where counts == [count] {
                return ContinuousClock.now - start
            }
            throw CancellationError()
        }
    }

    /// Ends it.
    func close() async throws {
        try await queue.close()
        try await database.close()
    }
}
