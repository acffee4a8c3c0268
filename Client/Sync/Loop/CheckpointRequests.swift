import PowerSyncSQLite
import PowerSyncSystem
import PowerSyncWire

/// The ids with which this client asks for checkpoints, and their way to the service (client-core 8.4).
struct CheckpointRequests: Sendable {
    private let database: SyncDatabase
    private let credentials: CredentialsCache
    private let transport: any SyncTransport
    private let http: SyncHTTP
    private let options: SyncOptions
    private let environment: SyncEnvironment
    private let log: SyncLog
    /// What takes the place of the service's endpoint; nil for that.
    private let custom: SyncBackend.CheckpointRequestPost?
    /// Where it says how far it is.
    let progress: SessionProgress
    /// The number of the sync session.
    private let session: Int
    /// Ends the pause after a failure: somebody waits for a stream.
    private let reconnect: @Sendable () -> Void
    /// Raised when a request was sent whose checkpoint is to be waited for.
    let sent = AsyncFlag()
    /// The last local write for which a pause was ended.
    private let impatience = Lock<Int64>(0)

    init(
        database: SyncDatabase, credentials: CredentialsCache, transport: any SyncTransport, http: SyncHTTP,
        options: SyncOptions, environment: SyncEnvironment, log: @escaping SyncLog,
        custom: SyncBackend.CheckpointRequestPost?, progress: SessionProgress, session: Int,
        reconnect: @escaping @Sendable () -> Void
    ) {
        self.database = database
        self.credentials = credentials
        self.transport = transport
        self.http = http
        self.options = options
        self.environment = environment
        self.log = log
        self.custom = custom
        self.progress = progress
        self.session = session
        self.reconnect = reconnect
    }

    /// Sends the request that a stream begins with, and later ones again until they are applied.
    ///
    /// - Parameter first: the request of the stream.
    /// - Throws: what makes it impossible to ask for checkpoints, which is the end of the iteration: a service before
    ///   1.24 has no such endpoint and answers 404. `CancellationError`.
    func run(from first: CheckpointRequestBody) async throws {
        let answer: Int64
        do {
            // What is stored may begin anew, and then be lower.
            answer = try await send(first, expecting: 1)
        } catch {
            if Self.isUnsupported(error) { progress.seed(.refused) }
            throw error
        }
        try await database.write { store in
            let current = try store.currentCheckpointRequest() ?? 0
            // An upload of the stream before may have taken an id meanwhile, which must not be given out again.
            try store.seedCheckpointRequest(current > first.id ? max(current, answer) : answer)
        }
        progress.seed(.answered)
        while true {
            guard let waiting = try await unapplied() else {
                try await sent.wait()
                continue
            }
            try await environment.sleep(options.checkpointRequestPatience)
            guard try await unapplied() == waiting else { continue }
            do {
                let request = CheckpointRequestBody(clientID: first.clientID, id: waiting)
                _ = try await send(request, expecting: waiting)
            } catch {
                try Task.checkCancellation()
                log(.warning, "Repeating a checkpoint request has failed: \(error)")
            }
        }
    }

    /// Asks for a checkpoint that includes everything uploaded so far.
    ///
    /// - Parameters:
    ///   - clientID: the id of this client.
    ///   - write: the number of the last local write. If no stream is open, each one ends one pause before the next.
    /// - Returns: the write checkpoint to wait for; nil when no stream is open, where ids cannot be allocated.
    /// - Throws: what fails on the way; `CancellationError`.
    func next(clientID: String, after write: Int64) async throws -> Int64? {
        if progress.state.current.seed == .closed, impatience.withLock({ $0 < write }) {
            impatience.withLock { $0 = write }
            reconnect()
        }
        guard try await progress.state.wait(until: { $0.seed != .waiting }).seed == .answered else {
            return nil
        }
        let id = try await database.write { try $0.nextCheckpointRequest() }
        let answer = try await send(CheckpointRequestBody(clientID: clientID, id: id), expecting: id)
        try await takeIn(answer, to: id)
        return answer
    }

    /// Asks for a checkpoint on behalf of the app, and waits as long as the service cannot be reached.
    ///
    /// It runs in a task of the app, which nobody cancels when syncing ends. So it looks itself for the end of the session,
    /// and then cancels what it has begun: the wait for the writer, for credentials, for the service or the connector. What
    /// comes of that all the same counts for nothing: the data may have been cleared, and be of another user.
    ///
    /// - Returns: the number of the request in ``SessionProgress``.
    /// - Throws: `CheckpointRequestError`, `CancellationError`.
    func request() async throws -> Int {
        let id = try await withThrowingTaskGroup(of: Int64?.self) { group -> Int64? in
            group.addTask { try await answer() }
            group.addTask { [progress, session] in
                _ = try await progress.state.wait { $0.session != session }
                return nil
            }
            defer { group.cancelAll() }
            return try await group.next() ?? nil
        }
        // Not within the group, where the end of the session could come before the number is returned: whoever gets it
        // lets go of the request.
        guard let id, let number = progress.add(id, in: session) else {
            throw CheckpointRequestError.notConnecting
        }
        sent.raise()
        return number
    }

    /// Sends a request until it is answered; returns the id that the service will show.
    private func answer() async throws -> Int64 {
        var id: Int64?
        if progress.state.current.seed == .closed { reconnect() }
        while true {
            let state = try await progress.state.wait { [session] state in
                state.session != session || state.seed == .answered || state.seed == .refused
            }
            guard state.session == session else { throw CheckpointRequestError.notConnecting }
            guard state.seed == .answered else { throw CheckpointRequestError.instanceNotSupported }
            do {
                let request = try await lasting { try await allocate(id) }
                id = request.id
                let answer = try await send(request, expecting: request.id)
                try await lasting { try await takeIn(answer, to: request.id) }
                return answer
            } catch {
                try Task.checkCancellation()
                // Whatever fails behind the end of the session fails for that.
                if error is SyncStopped || isOver { throw CheckpointRequestError.notConnecting }
                guard Self.isTemporary(error) else { throw Self.shown(error) }
                log(.info, "A checkpoint request has failed and is sent again: \(error)")
            }
            try await environment.waitToRetry(options.retryDelay) { [progress] in
                _ = try await progress.state.wait { $0.seedChanges != state.seedChanges }
            }
        }
    }

    /// Returns the id to repeat: that was allocated last, while something waits for one that does not show in a checkpoint.
    private func unapplied() async throws -> Int64? {
        let isAwaited = progress.state.current.awaited != nil
        return try await database.read { store in
            try isAwaited ? store.currentCheckpointRequest() : store.unappliedCheckpointRequest()
        }
    }

    /// Whether the session is over.
    ///
    /// As long as it is not, nothing is cleared: asked within a transaction, it tells for all of that.
    private var isOver: Bool { progress.state.current.session != session }

    /// Returns a request with the next id, or with one that was allocated for it before.
    private func allocate(_ known: Int64?) async throws -> CheckpointRequestBody {
        try await database.write { store in
            // A pool of the app's own may come to it long after it was given up.
            if isOver { throw CheckpointRequestError.notConnecting }
            return CheckpointRequestBody(
                clientID: try CoreExtension.of(store.connection).clientID(),
                id: try known ?? store.nextCheckpointRequest())
        }
    }

    /// Takes in the answer to a request with an id that was just allocated.
    private func takeIn(_ answer: Int64, to id: Int64) async throws {
        guard answer > id else { return }
        // Somebody else counts for this client: later ids must be above what the service has stored.
        try await database.write { store in
            if !isOver, try store.currentCheckpointRequest() ?? 0 < answer {
                try store.seedCheckpointRequest(answer)
            }
        }
    }

    /// Does something whose failure no other try mends, and that is to be told at once: an error of the database, also of
    /// a pool of the app's own, of whatever type.
    private func lasting<T>(_ body: () async throws -> T) async throws -> T {
        do {
            return try await body()
        } catch {
            throw Self.shown(error)
        }
    }

    /// Sends a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - least: the least answer that makes sense.
    /// - Returns: the greatest id that is stored for this client.
    /// - Throws: what fails on the way; `SyncError`, or `CheckpointRequestError` for a custom connector, for another answer;
    ///   `CancellationError`.
    private func send(_ request: CheckpointRequestBody, expecting least: Int64) async throws -> Int64 {
        let answer = try await post(request)
        guard answer < least else { return answer }
        // With a checkpoint of before the request, whatever was uploaded for it would count as seen.
        let message = "The checkpoint request \(request.id) was answered \(answer)"
        if custom == nil { throw SyncError(.unexpectedResponse, message) }
        throw CheckpointRequestError.operationFailed(message: message)
    }

    private func post(_ request: CheckpointRequestBody) async throws -> Int64 {
        if let custom {
            do {
                return try await custom(request.id, request.clientID)
            } catch {
                try Task.checkCancellation()
                if error is CheckpointRequestError || error is SyncStopped { throw error }
                throw CheckpointRequestError.operationFailed(
                    message: "Custom checkpoint request failed.", underlyingError: error)
            }
        }
        return try await credentials.using { credentials in
            let request = http.checkpointRequest(request, with: credentials)
            return try SyncHTTP.checkpointRequest(from: try await transport.send(request))
        }
    }

    // MARK: Errors

    private static func isUnsupported(_ error: any Error) -> Bool {
        if case CheckpointRequestError.instanceNotSupported? = error as? CheckpointRequestError {
            return true
        }
        return (error as? SyncError)?.status == 404
    }

    /// Whether a request that failed is worth another try without anybody doing something about it.
    private static func isTemporary(_ error: any Error) -> Bool {
        switch error {
        case is CheckpointRequestError: false
        case let error as SyncError:
            // 401: the next try brings new credentials.
            error.status.map { [401, 408, 429].contains($0) || $0 >= 500 } ?? true
        default: true
        }
    }

    private static func shown(_ error: any Error) -> any Error {
        if error is CheckpointRequestError { return error }
        if isUnsupported(error) { return CheckpointRequestError.instanceNotSupported }
        return CheckpointRequestError.operationFailed(underlyingError: PowerSyncError.shown(error))
    }
}

extension SyncStore {
    /// Returns the id that was allocated last if the local writes up to it do not show in a checkpoint yet.
    func unappliedCheckpointRequest() throws -> Int64? {
        guard let target = try target(), target != Self.pendingTarget else { return nil }
        let applied = try key(.lastApplied) ?? 0
        guard applied < target else { return nil }
        return try currentCheckpointRequest()
    }
}
