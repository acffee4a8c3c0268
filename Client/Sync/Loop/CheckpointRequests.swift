import PowerSyncSystem
import PowerSyncWire

/// The ids with which this client asks for checkpoints, and their way to the service (client-core 8.4).
struct CheckpointRequests: Sendable {
    /// How long a request may take to show in a checkpoint before it is sent again.
    static let patience = Duration.seconds(10)

    let database: SyncDatabase
    let credentials: CredentialsCache
    let transport: any SyncTransport
    let http: SyncHTTP
    let environment: SyncEnvironment
    let log: SyncLog
    /// Whether ids may be allocated: only after the service has answered the request of the open stream.
    let seed = CheckpointSeed()
    /// Raised when a request was sent whose checkpoint is to be waited for.
    let sent = AsyncFlag()

    /// Sends the request that a stream begins with, and later ones again until they are applied.
    ///
    /// - Parameter first: the request of the stream.
    /// - Throws: what makes it impossible to ask for checkpoints, which is the end of the iteration: a service before
    ///   1.24 has no such endpoint and answers 404. `CancellationError`.
    func run(from first: CheckpointRequest) async throws {
        let answer = try await send(first)
        try await database.write { store in
            let current = try store.currentCheckpointRequest() ?? 0
            // An upload of the stream before may have taken an id meanwhile, which must not be given out again.
            try store.seedCheckpointRequest(current > first.id ? max(current, answer) : answer)
        }
        seed.set(.seeded)
        while true {
            guard let waiting = try await database.read({ try $0.unappliedCheckpointRequest() }) else {
                try await sent.wait()
                continue
            }
            try await environment.sleep(Self.patience)
            guard try await database.read({ try $0.unappliedCheckpointRequest() }) == waiting else {
                continue
            }
            do {
                _ = try await send(CheckpointRequest(clientID: first.clientID, id: waiting))
            } catch {
                try Task.checkCancellation()
                log(.warning, "Repeating a checkpoint request has failed: \(error)")
            }
        }
    }

    /// Asks for a checkpoint that includes everything uploaded so far.
    ///
    /// - Parameter clientID: the id of this client.
    /// - Returns: the write checkpoint to wait for; nil when no stream is open, where ids cannot be allocated.
    /// - Throws: what fails on the way; `CancellationError`.
    func next(clientID: String) async throws -> Int64? {
        guard try await seed.wait() else { return nil }
        let id = try await database.write { try $0.nextCheckpointRequest() }
        let answer = try await send(CheckpointRequest(clientID: clientID, id: id))
        if answer > id {
            // Somebody else counts for this client: later ids must be above what the service has stored.
            try await database.write { store in
                if try store.currentCheckpointRequest() ?? 0 < answer {
                    try store.seedCheckpointRequest(answer)
                }
            }
        }
        return answer
    }

    private func send(_ request: CheckpointRequest) async throws -> Int64 {
        let credentials = try await credentials.credentials()
        let response = try await transport.send(http.checkpointRequest(request, with: credentials))
        if response.status == 401 { await self.credentials.invalidate(credentials) }
        return try SyncHTTP.checkpointRequest(from: response)
    }
}

/// Whether ids of checkpoint requests may be allocated.
final class CheckpointSeed: Sendable {
    enum Phase: Sendable {
        /// No stream is open that asks for checkpoints.
        case closed
        /// The request of the stream is under way.
        case waiting
        /// The service has answered.
        case seeded
    }

    private let phase = Lock(Phase.closed)
    private let changed = AsyncFlag()

    /// Never blocks.
    func set(_ phase: Phase) {
        self.phase.withLock { $0 = phase }
        changed.raise()
    }

    /// Waits for the answer; for one task at a time.
    ///
    /// - Returns: false when no stream is open, or no longer.
    /// - Throws: `CancellationError`.
    func wait() async throws -> Bool {
        while true {
            switch phase.withLock({ $0 }) {
            case .closed: return false
            case .waiting: try await changed.wait()
            case .seeded: return true
            }
        }
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
