import PowerSyncHTTPClient
import PowerSyncSystem

/// Keeps the credentials of one connection, and asks the app for new ones one call at a time (client-api 3.7).
actor CredentialsCache {
    private struct Fetch {
        let id: Int
        let task: Task<Void, Never>
        var waiters: [Int: Resumption<SyncCredentials, any Error>] = [:]
    }

    private let fetch: @Sendable () async throws -> SyncCredentials?
    private let executor: (any TaskExecutor)?
    private var cached: SyncCredentials?
    private var current: Fetch?
    private var nextID = 0

    init(
        executor: (any TaskExecutor)? = nil, fetch: @escaping @Sendable () async throws -> SyncCredentials?
    ) {
        self.executor = executor
        self.fetch = fetch
    }

    /// Whether there are credentials for which the app need not be asked.
    var areCached: Bool { cached != nil }

    /// Returns the credentials, asking the app if there are none.
    ///
    /// - Throws: the app's error; `SyncError` with `.noCredentials`; `CancellationError` at once when the caller is
    ///   cancelled, even if the app does not notice.
    func credentials() async throws -> SyncCredentials {
        if let cached { return cached }
        return try await fetched()
    }

    /// Asks the app for newer credentials and returns them; those in use stay until they are there.
    ///
    /// - Throws: as `credentials()`.
    @discardableResult
    func refresh() async throws -> SyncCredentials { try await fetched() }

    /// Drops credentials that must not be used again; newer ones stay.
    func invalidate(_ credentials: SyncCredentials? = nil) {
        if credentials == nil || credentials == cached { cached = nil }
    }

    /// Does something with the credentials, and drops them if they are what fails.
    ///
    /// - Parameter body: gets the credentials.
    /// - Returns: what the body returns.
    /// - Throws: what the body throws; as `credentials()`.
    nonisolated func using<T>(_ body: (SyncCredentials) async throws -> T) async throws -> T {
        let current = try await credentials()
        do {
            return try await body(current)
        } catch {
            if error.isOfCredentials { await invalidate(current) }
            throw error
        }
    }

    private func fetched() async throws -> SyncCredentials {
        nextID += 1
        let id = nextID
        return try await withTaskCancellationHandler {
            try await withThrowingResumption { continuation in
                if Task.isCancelled { return continuation.resume(throwing: CancellationError()) }
                if current == nil { current = begin() }
                current?.waiters[id] = continuation
            }
        } onCancel: {
            Task(executorPreference: executor) { await self.forget(id) }
        }
    }

    private func begin() -> Fetch {
        nextID += 1
        let id = nextID
        let fetch = fetch
        return Fetch(
            id: id,
            task: Task(executorPreference: executor) {
                let result: Result<SyncCredentials, any Error>
                do {
                    if let credentials = try await fetch() {
                        result = .success(credentials)
                    } else {
                        result = .failure(SyncError(.noCredentials, "fetchCredentials() returned nil"))
                    }
                } catch {
                    result = .failure(error)
                }
                await self.finish(id, result)
            })
    }

    private func finish(_ id: Int, _ result: Result<SyncCredentials, any Error>) {
        // A call that everybody gave up on may still answer; somebody newer is asked already.
        guard let done = current, done.id == id else { return }
        current = nil
        if case .success(let credentials) = result { cached = credentials }
        for waiter in done.waiters.values { waiter.resume(with: result) }
    }

    private func forget(_ id: Int) {
        guard let waiter = current?.waiters.removeValue(forKey: id) else { return }
        waiter.resume(throwing: CancellationError())
        if let current, current.waiters.isEmpty {
            current.task.cancel()
            self.current = nil
        }
    }
}

extension Error {
    /// Whether the same credentials would fail again: the service refuses the token, or no request can be made of the
    /// address or the token.
    fileprivate var isOfCredentials: Bool {
        switch self {
        case let error as SyncError: error.status == 401
        case let error as HTTPClientError: error.code == .badURL || error.code == .badRequest
        default: false
        }
    }
}
