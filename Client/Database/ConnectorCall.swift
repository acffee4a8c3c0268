import PowerSyncSystem

/// One call of the app's connector, known by a task-local to all that runs in it.
final class ConnectorCall: Sendable {
    enum Kind: String, Sendable { case fetchCredentials, uploadData, postCheckpointRequest }

    /// How long a call may go on after it was cancelled, while somebody waits for its end (client-api 2.3).
    static let patience = Duration.seconds(5)

    /// The call in which the task runs; tasks that it began, and that nobody awaits, have it too.
    @TaskLocal static var current: ConnectorCall?

    private struct State {
        var isCancelled = false
        var isCutOff = false
    }

    let id: Int
    let kind: Kind
    let group: DatabaseGroup
    let environment: SyncEnvironment
    /// Raised when the SDK cancels the call.
    let cancellation = AsyncFlag()
    private let logger: any LoggerProtocol
    private let state = Lock(State())

    init(
        _ kind: Kind, id: Int, group: DatabaseGroup, environment: SyncEnvironment, logger: any LoggerProtocol
    ) {
        self.kind = kind
        self.id = id
        self.group = group
        self.environment = environment
        self.logger = logger
    }

    /// Whether the SDK has cancelled it, as opposed to the app.
    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func cancel() {
        state.withLock { $0.isCancelled = true }
        cancellation.raise()
    }

    /// Lets it go on alone.
    func cutOff() {
        state.withLock { $0.isCutOff = true }
        logger.warning(
            "\(kind.rawValue) has not ended within \(Self.patience) of being cancelled, it is not waited for any more",
            tag: LogTag.sync)
    }

    /// Throws if one of the calls was cut off: its part of the queue may have been uploaded, or cleared, by now.
    static func refuseIfCutOff(_ calls: [ConnectorCall?]) throws(PowerSyncError) {
        for case let call? in calls where call.state.withLock({ $0.isCutOff }) {
            throw PowerSyncError(
                .invalidState, "\(call.kind.rawValue) was cut off: it had not ended when syncing was stopped")
        }
    }
}

extension ConnectorCall: CustomReflectable {
    /// Nothing: the token in use is below, and synced rows.
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// What a call of the connector returns, for the one who waits for it, unless that one has gone.
final class ConnectorAnswer<Value: Sendable>: Sendable {
    private enum State {
        case new
        case waiting(Resumption<Value, any Error>)
        case over
    }

    private let state = Lock(State.new)

    /// Notes who waits; false if it is over already.
    func wait(_ continuation: Resumption<Value, any Error>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }

    /// Lets whoever waits go on; the first result counts.
    func give(_ result: Result<Value, any Error>) {
        let waiter = state.withLock { state -> Resumption<Value, any Error>? in
            defer { state = .over }
            guard case .waiting(let waiter) = state else { return nil }
            return waiter
        }
        waiter?.resume(with: result)
    }
}
