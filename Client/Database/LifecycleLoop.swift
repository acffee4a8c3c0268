import PowerSyncSQLite
import PowerSyncSystem

/// What the loop of a group keeps: the state that decides, what is to be done, and what the numbers stand for.
struct LifecycleLoop: Sendable {
    var reducer = LifecycleReducer()
    /// What is to be done, in this order.
    var effects: [LifecycleEffect] = []
    /// Whether a task does it.
    var isRunning = false
    private var lastID = 0
    var requests: [Int: LifecycleRequest] = [:]
    var waiters: [Int: Resumption<Void, any Error>] = [:]
    var calls: [Int: RunningCall] = [:]
    /// How to end the time that a call is given.
    var patience: [Int: AsyncFlag] = [:]
    var connections: OpenConnections?
    /// How to end the pause before another try to take over.
    var pause: AsyncFlag?
    /// The renewing of subscriptions while another process syncs.
    var keeping: SubscriptionKeeping?
    /// How to cancel the opening that is under way.
    var opening: AsyncFlag?
    var sync: RunningSync?
    /// The reading of what is stored behind the end of syncing, which did not wait for it.
    var showing: Task<Void, Never>?
    /// What is connected, from the claim of the right to sync to its release.
    var connected: ConnectedInstance?

    /// Returns a number for a wish or a call.
    mutating func nextID() -> Int {
        lastID += 1
        return lastID
    }
}

/// What is needed to fulfil a wish.
struct LifecycleRequest: Sendable {
    enum Work: Sendable {
        case none
        /// Makes what is to sync; the number is that of the wish.
        case connect(@Sendable (any ConnectionPool, _ connection: Int) async throws -> SyncCoordinator)
        case change(@Sendable (any ConnectionPool) async throws -> Void)
    }

    let database: LocalDatabase
    let work: Work
}

/// The connections of a file while they are open.
struct OpenConnections: Sendable {
    let pool: any ConnectionPool
    /// What instances wanted to run first on each of them.
    var initialStatements: [String]
}

/// What is connected, whether this process syncs or waits for its turn.
struct ConnectedInstance: Sendable {
    let request: LifecycleRequest
    /// Changes of other processes may have to be uploaded, and show what these have synced.
    let observation: ExternalChanges.Observation?
    /// What tells whether the data was removed since it connected.
    let clearMark: String?
}

/// What syncs, and how to end it.
struct RunningSync: Sendable {
    let coordinator: SyncCoordinator
    /// What runs it, once it has begun; returns the database if its end has left something there to be shown.
    var running: Task<SyncDatabase?, Never>?
}

/// The renewing of what is held while another process syncs, how to end it, and how to tell it of the first handle.
struct SubscriptionKeeping: Sendable {
    let end = AsyncFlag()
    let subscribed = AsyncFlag()
}

/// A call of the connector, and what runs in it.
struct RunningCall: Sendable {
    let call: ConnectorCall
    let body: @Sendable () async -> Void
    /// Lets whoever has called go without what the call returns.
    let leave: @Sendable () -> Void
    var isStarted = false
}

/// Runs a body to its end, and cancels it when a signal is raised.
func withCancellation(by signal: AsyncFlag, _ body: @escaping @Sendable () async -> Void) async {
    await withTaskGroup(of: Void.self) { tasks in
        tasks.addTask { await body() }
        tasks.addTask {
            // It throws when the body is over, which is no failure.
            try? await signal.wait()
        }
        _ = await tasks.next()
        tasks.cancelAll()
    }
}
