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
    /// Whether the run lasts until it is stopped; one that was begun for ``syncOnce()`` ends with the last call of that.
    private var isLasting = false
    /// How many calls of ``syncOnce()`` are under way.
    private var callsOnce = 0
    /// Counts what was asked for: who was overtaken while it waited begins nothing.
    private var wish = 0
    /// How often it was stopped.
    private var stops = 0
    /// How many calls are about to begin a run that lasts.
    private let starts = AsyncValue(0)
    /// How many runs are about to end.
    private let ends = AsyncValue(0)
    /// The transfers that have not ended, where those of others are not known: of a database of another making.
    private let underWay = TransfersUnderWay()
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

    deinit {
        run?.end()
        run?.release()
    }

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
        // From here to its end no other run begins.
        starts.change { $0 += 1 }
        defer { starts.change { $0 -= 1 } }
        await endRun()
        let rows = try await prepared()
        try checkOpen()
        guard wish == mine, !isUnwanted() else { return }
        begin(rows, period: Duration(waiting: period), isLasting: true)
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
    ///
    /// Where a file cannot be removed its row stays, and keeps no other; what is thrown then is of the first of them.
    public func deleteArchivedAttachments(_ context: AttachmentContext) async throws -> Bool {
        let page = try await context.expire(parts.local)
        if let error = page.first { throw error }
        return page.isLast
    }

    /// Tries all files now that wait to be transferred, and waits until each was tried, or syncing is stopped, or
    /// another process transfers them.
    ///
    /// Where nothing has begun to transfer files it does for as long as this is called by somebody.
    ///
    /// - Throws: ``PowerSyncAttachmentError/closed(_:)``, what the database throws, `CancellationError`.
    func syncOnce() async throws {
        callsOnce += 1
        let result: Result<Void, any Error>
        do {
            result = .success(try await passOnce())
        } catch {
            result = .failure(error)
        }
        callsOnce -= 1
        if callsOnce == 0, !isLasting { await endRun() }
        try result.get()
    }

    /// Stops as ``stopSync()``.
    func stop() async {
        wish += 1
        stops += 1
        await endRun()
    }

    /// How many wait until all files were tried, or until somebody has begun or ended a run.
    var waiterCount: Int { (run?.waiterCount ?? 0) + starts.waiterCount + ends.waiterCount }

    /// How many rows are held in memory.
    var heldRows: Int { run?.heldRows ?? 0 }

    // MARK: Steps

    /// Waits for a full pass of whichever run there is, until something stops it.
    private func passOnce() async throws {
        let before = stops
        repeat {
            try checkOpen()
            if let run {
                if try await run.wait(forPass: run.askForPass()) { return }
                // It was ended: by a stop, or in favour of another one, which tries all files, too.
                continue
            }
            // Who is about to begin one, or to end one, comes first.
            _ = try await starts.wait { $0 == 0 }
            _ = try await ends.wait { $0 == 0 }
            guard run == nil, stops == before else { continue }
            let rows = try await prepared()
            // Somebody else may have done something meanwhile.
            guard run == nil, stops == before, starts.current == 0, ends.current == 0, !isClosed else {
                continue
            }
            let (run, first) = begin(rows, period: .zero, isLasting: false)
            if try await run.wait(forPass: first) { return }
        } while stops == before
    }

    /// Returns the rows, once the database is open and is known to have the table.
    private func prepared() async throws -> AttachmentRows {
        let rows = try await parts.service.withContext { $0.rows }
        _ = try await rows.page(of: .upload, behind: nil, limit: 1)
        return rows
    }

    /// Begins a run; returns it with the number of its first pass.
    @discardableResult
    private func begin(
        _ rows: AttachmentRows, period: Duration, isLasting: Bool
    ) -> (run: TransferRun, pass: Int) {
        let environment = parts.environment ?? rows.environment
        let group = (rows.db as? LocalDatabase)?.group
        let run = TransferRun(
            TransferParts(
                remote: parts.remote, local: parts.local, service: parts.service,
                errorHandler: parts.errorHandler, logger: parts.logger,
                progress: parts.progress ?? AttachmentProgress(environment), environment: environment),
            right: TransferRight(of: rows.db, table: rows.sql.name),
            underWay: group?.tablesUnderWay.transfers(of: SQLText.folded(rows.sql.name)) ?? underWay,
            mostAtOnce: mostAtOnce, throttle: throttle)
        self.run = run
        self.isLasting = isLasting
        return (run, run.begin(period: period))
    }

    /// Ends the run, and returns when no other one is about to end either.
    private func endRun() async {
        if let run {
            self.run = nil
            isLasting = false
            ends.change { $0 += 1 }
            run.end()
            await run.wait()
            run.release()
            ends.change { $0 -= 1 }
        }
        // Only cancellation ends the wait before.
        _ = try? await ends.wait { $0 == 0 }
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
