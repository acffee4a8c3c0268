#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Transfers the files of one table of attachments.
public protocol SyncingServiceProtocol: Sendable {
    /// Begins to transfer files, and tries again what has failed in each period; 0 seconds or less are no period.
    func startSync(period: TimeInterval) async throws

    /// Stops transferring files.
    func stopSync() async throws

    /// Stops for good.
    func close() async throws

    /// Tries all files now that wait to be transferred.
    func triggerSync() async throws

    /// Removes a page of the archived rows that are too many, and their files; returns whether it was the last one.
    func deleteArchivedAttachments(_ context: AttachmentContext) async throws -> Bool
}

/// Transfers the files of one table of attachments; an ``AttachmentQueue`` has one.
///
/// Uploads, downloads and deletes do not wait for each other. Each takes the files in the order in which they were
/// saved.
public actor SyncingService: SyncingServiceProtocol {
    private let parts: TransferSetup
    private let mostAtOnce: Int
    private let throttle: Duration
    private var run: TransferRun?
    /// Counts what was asked for: who was overtaken while it waited begins nothing.
    private var wish = 0
    private var isClosed = false

    /// Makes a service that transfers nothing yet.
    ///
    /// - Parameters:
    ///   - remoteStorage: the storage.
    ///   - localStorage: the place of the files on this device.
    ///   - attachmentsService: gives access to the rows.
    ///   - logger: where is logged.
    ///   - getLocalUri: returns the path of a file by its name.
    ///   - errorHandler: decides what becomes of a file whose transfer failed; nil to try again for ever.
    ///   - syncThrottle: the least time in seconds between the beginnings of two tries of all files.
    public init(
        remoteStorage: any RemoteStorageAdapter, localStorage: any LocalStorageAdapter,
        attachmentsService: any AttachmentServiceProtocol, logger: any LoggerProtocol,
        getLocalUri: @Sendable @escaping (String) async -> String,
        errorHandler: (any SyncErrorHandler)? = nil, syncThrottle: TimeInterval = 5.0
    ) {
        self.init(
            TransferSetup(
                remote: remoteStorage,
                local: LocalFiles(storage: localStorage, subdirectories: [], path: getLocalUri),
                service: attachmentsService, errorHandler: errorHandler, logger: logger, progress: nil,
                environment: nil),
            mostAtOnce: 1, throttle: syncThrottle)
    }

    /// Makes a service of its parts.
    init(_ parts: TransferSetup, mostAtOnce: Int, throttle: TimeInterval) {
        self.parts = parts
        self.mostAtOnce = mostAtOnce
        self.throttle = Duration(waiting: throttle)
    }

    deinit { run?.end() }

    /// Begins to transfer files, and tries again what has failed in each period; 0 seconds or less are no period.
    ///
    /// Where it has begun already it begins anew. Where another process transfers the files of the table this one
    /// waits until that is over.
    ///
    /// - Parameter period: the period in seconds.
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, what the database throws.
    public func startSync(period: TimeInterval) async throws {
        try await startSync(period: period) { false }
    }

    /// Begins as ``startSync(period:)``, unless that is not wanted any more when everything is ready.
    func startSync(period: TimeInterval, unless isUnwanted: @Sendable () -> Bool) async throws {
        try checkOpen()
        wish += 1
        let mine = wish
        await endRun()
        // The database is open then, and has the table.
        let rows = try await parts.service.withContext { $0.rows }
        _ = try await rows.page(of: .upload, behind: nil, limit: 1)
        try checkOpen()
        guard wish == mine, !isUnwanted() else { return }
        let environment = parts.environment ?? rows.environment
        let run = TransferRun(
            TransferParts(
                remote: parts.remote, local: parts.local, service: parts.service,
                errorHandler: parts.errorHandler, logger: parts.logger,
                progress: parts.progress ?? AttachmentProgress(environment), environment: environment),
            right: TransferRight(of: rows.db, table: rows.sql.name), mostAtOnce: mostAtOnce,
            throttle: throttle)
        self.run = run
        run.begin(period: Duration(waiting: period))
    }

    /// Stops transferring files, and returns within half a second.
    ///
    /// Transfers are cancelled. One that does not end by that is left alone, and what it brings later is dropped.
    public func stopSync() async throws {
        await stop()
    }

    /// Stops for good; any number of calls count as one.
    public func close() async throws {
        isClosed = true
        await stop()
    }

    /// Tries all files now that wait to be transferred, also those that have failed; returns at once.
    ///
    /// Does nothing unless it was begun to transfer files. Tries of all files begin at least as far apart as the
    /// throttle says.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``.
    public func triggerSync() async throws {
        try checkOpen()
        run?.askForPass()
    }

    /// Removes a page of the archived rows that are too many, and their files; returns whether it was the last one.
    public func deleteArchivedAttachments(_ context: AttachmentContext) async throws -> Bool {
        try await context.expire(parts.local)
    }

    /// Tries all files now that wait to be transferred, and waits until each was tried, or syncing is stopped, or
    /// another process transfers them.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, what the database throws, `CancellationError`.
    func syncOnce() async throws {
        try checkOpen()
        if let run { return try await run.pass() }
        try await startSync(period: 0)
        guard let run else { return }
        let result: Result<Void, any Error>
        do {
            result = .success(try await run.pass())
        } catch {
            result = .failure(error)
        }
        // It stays if somebody has begun it for good meanwhile.
        if self.run === run { await stop() }
        try result.get()
    }

    /// Stops as ``stopSync()``.
    func stop() async {
        wish += 1
        await endRun()
    }

    /// Cancels what is under way, whose rows are gone.
    func cancelTransfers() { run?.cancelTransfers() }

    /// How many wait until all files were tried.
    var waiterCount: Int { run?.waiterCount ?? 0 }

    /// How many rows are held in memory.
    var heldRows: Int { run?.heldRows ?? 0 }

    private func endRun() async {
        guard let run else { return }
        self.run = nil
        run.end()
        await run.wait()
    }

    private func checkOpen() throws {
        if isClosed { throw PowerSyncAttachmentError.closed("The attachment queue is closed.") }
    }
}

/// What a ``SyncingService`` makes the parts of its transfers of, once it knows the database.
struct TransferSetup: Sendable {
    let remote: any RemoteStorageAdapter
    let local: LocalFiles
    let service: any AttachmentServiceProtocol
    let errorHandler: (any SyncErrorHandler)?
    let logger: any LoggerProtocol
    /// Where is shown how far files are; nil for nowhere.
    let progress: AttachmentProgress?
    /// The clock; nil for that of the database.
    let environment: SyncEnvironment?
}
