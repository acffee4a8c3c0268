/// Keeps a database in sync: streams down, uploads up, as long as it runs (client-api 2.3, 3).
///
/// One loop handles everything that happens to a stream, one after the other; uploading runs beside it.
package actor SyncCoordinator {
    /// What it says of itself; shows the status also after the end.
    package nonisolated let status: SyncStatusHub
    nonisolated let database: SyncDatabase
    nonisolated let transport: any SyncTransport
    nonisolated let options: SyncOptions
    nonisolated let environment: SyncEnvironment
    nonisolated let log: SyncLog
    nonisolated let credentials: CredentialsCache
    nonisolated let http: SyncHTTP
    nonisolated let checkpointRequests: CheckpointRequests
    nonisolated let mailbox = SyncMailbox()
    nonisolated let uploads = AsyncFlag()
    /// Raised by each checkpoint that is complete.
    nonisolated let completion = AsyncFlag()
    nonisolated let activeStreams: @Sendable () -> [StreamKey]
    nonisolated private let backend: SyncBackend
    var iteration = SyncState()
    /// Data lines that wait for others to be stored with.
    var batch = LineBatch()
    /// How many of them are stored at once.
    var pace: BatchPace
    /// How long storing took the last time.
    var storingTime = Duration.zero
    /// How often the app had asked for the writer when we looked last.
    var appWrites = 0
    /// Before that no credentials are fetched ahead of their end.
    var nextRefresh = Duration.zero
    /// Whether a stream is being opened in the place of one that is still shown as connected.
    var isReplacing = false
    /// Whether what was stored when it ended is not shown: it did not wait to read that.
    private(set) var isStale = false
    var retry: RetryPolicy

    /// Makes a coordinator, which does nothing until it runs.
    ///
    /// - Parameters:
    ///   - database: where rows go.
    ///   - backend: the app's connector.
    ///   - transport: the way to the service.
    ///   - options: how to sync.
    ///   - status: where it says how it goes.
    ///   - activeStreams: returns the streams that the app holds; must not block.
    ///   - environment: time and chance.
    ///   - log: receives log lines; must not block.
    package init(
        database: SyncDatabase, backend: SyncBackend, transport: any SyncTransport, options: SyncOptions,
        status: SyncStatusHub, activeStreams: @escaping @Sendable () -> [StreamKey] = { [] },
        environment: SyncEnvironment, log: @escaping SyncLog = { _, _ in }
    ) {
        self.database = database
        self.backend = backend
        self.transport = transport
        self.options = options
        self.status = status
        self.activeStreams = activeStreams
        self.environment = environment
        self.log = log
        credentials = CredentialsCache(executor: environment.executor, fetch: backend.fetchCredentials)
        http = SyncHTTP(
            userAgent: options.userAgent, prefersBinaryLines: options.prefersBinaryLines,
            acceptsCompression: options.acceptsCompression)
        let mailbox = mailbox
        checkpointRequests = CheckpointRequests(
            database: database, credentials: credentials, transport: transport, http: http, options: options,
            environment: environment, log: log, custom: backend.postCheckpointRequest,
            progress: status.progress, session: status.session, reconnect: { mailbox.post(.pauseEnded) })
        retry = RetryPolicy(base: options.retryDelay)
        pace = BatchPace(options.tuning)
        // Not only when it runs: who has connected may ask at once.
        beginSession()
    }

    /// Says that the upload queue may have something to do; never blocks.
    package nonisolated func triggerUpload() { uploads.raise() }

    /// Says that the app holds other streams, or subscribed to others, than before; never blocks.
    package nonisolated func subscriptionsChanged() { mailbox.post(.subscriptionsChanged) }

    /// Asks for a checkpoint that includes everything written to the service so far (client-api 1.20).
    ///
    /// - Returns: the number of the request in ``SyncStatusHub/progress``.
    /// - Throws: `CheckpointRequestError`, `CancellationError`.
    nonisolated func requestCheckpoint() async throws -> Int {
        guard options.start.checkpointMode == .requests else {
            throw CheckpointRequestError.checkpointRequestsNotEnabled
        }
        return try await checkpointRequests.request()
    }

    /// Syncs until the task is cancelled; returns when the last of it is over.
    ///
    /// It waits for the callbacks of the backend that are under way then; one after the other it can run again.
    package func run() async {
        let uploader = Uploader(
            database: database, upload: backend.uploadData, credentials: credentials, transport: transport,
            http: http, checkpointRequests: checkpointRequests, options: options, status: status,
            environment: environment, log: log, trigger: uploads,
            roundEnded: { [mailbox] in mailbox.post(.uploadCompleted) })
        beginSession()
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await uploader.run() }
            if options.uploadsWhileDisconnected { uploads.raise() }
            while !Task.isCancelled { await pause(after: await iterate()) }
            status.endSession()
            group.cancelAll()
        }
        // A stream that closed to be opened again at once is still shown as connected.
        isReplacing = false
        status.disconnect()
        // What was subscribed to while it stopped no stream has shown. Shielded, as the end of an iteration is.
        let isShown = await Task(executorPreference: environment.executor) { await self.showIfFree() }.value
        isStale = !isShown
        await credentials.invalidate()
    }

    private nonisolated func beginSession() {
        status.beginSession(requestsCheckpoints: options.start.checkpointMode == .requests)
    }

    /// Waits between two iterations; what the app subscribes to meanwhile is shown at once.
    private func pause(after end: IterationEnd) async {
        let delay: Duration
        switch end {
        case .closed(let reason) where reason.reconnectsAtOnce: return
        case .closed(.checksumMismatch): delay = retry.delayAfterMismatch(random: environment.random())
        case .closed, .failed: delay = retry.delay(random: environment.random())
        case .silent, .cancelled: return
        }
        let environment = environment
        let mailbox = mailbox
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // Who does not sleep to the end is not needed any more: the pause is over, or syncing is to end.
                guard (try? await environment.sleep(delay)) != nil else { return }
                mailbox.post(.pauseEnded)
            }
            while let item = try? await mailbox.next() {
                switch item {
                case .control(.pauseEnded): return group.cancelAll()
                case .control(.subscriptionsChanged): await showSubscriptions()
                case .control, .input: continue
                }
            }
        }
        // The end may have come twice, by the clock and by somebody who waits: it is that of no other pause.
        mailbox.withdraw(.pauseEnded)
    }

    /// Reads the subscriptions anew while no stream could report them.
    private func showSubscriptions() async {
        let database = database
        do {
            try await status.refresh { try await database.read { try $0.offlineStatus() } }
        } catch {
            // The end shows them.
            if Task.isCancelled { return }
            log(.warning, "Could not read the stream subscriptions: \(error)")
        }
    }

    /// Does so without waiting for the app, whose reads may take any time; returns whether nothing is left to show.
    private func showIfFree() async -> Bool {
        let database = database
        do {
            try await status.refresh {
                guard let stored = try await database.readIfFree({ try $0.offlineStatus() }) else {
                    throw NoneIsFree()
                }
                return stored
            }
        } catch is NoneIsFree {
            return false
        } catch {
            log(.warning, "Could not read the stream subscriptions: \(error)")
        }
        return true
    }
}

/// All that reads is in use.
private struct NoneIsFree: Error {}

/// How an iteration ended.
enum IterationEnd: Sendable {
    /// The reducer closed it.
    case closed(SyncCloseReason)
    /// Something failed; the status shows it.
    case failed
    /// The connection was silent for too long, and a new one is to be tried without a pause; the status shows it.
    case silent
    /// The coordinator is to stop.
    case cancelled
}
