import PowerSyncCommandLine
import PowerSyncPostgresValues
import PowerSyncSyncRules

/// A database whose changes become operations (DESIGN.md, 4).
package protocol ChangeSource: Sendable {
    /// The configuration's words for it, hashed and without user and password.
    var address: String { get }

    /// Asks the source whether a state is its own, again and again while it refuses to answer.
    ///
    /// - Parameters:
    ///   - store: The state, which was made from some source.
    ///   - end: When the answer is no longer waited for.
    /// - Returns: What it says.
    /// - Throws: `CancellationError`.
    func claims(_ store: ServiceStore, until end: ContinuousClock.Instant) async throws -> StateClaim

    /// Keeps the state of one configuration equal to the source, until the task is cancelled or a former configuration
    /// replaced, and again from where it was after every failure.
    ///
    /// - Parameter work: The configuration, and who is told of what.
    /// - Throws: `CancellationError`; `OtherSource` if the state is no more to be served.
    func replicate(_ work: ReplicationWork) async throws

    /// A position of the log behind all that was committed before the call.
    ///
    /// - Returns: The position.
    /// - Throws: If the source is away.
    func head() async throws -> LSN

    /// Moves the log past every head that was read before the call.
    ///
    /// - Throws: If the source is away.
    func mark() async throws

    /// Ends what requests wait for; what replicates ends with its task.
    func close() async
}

/// What a source says of a state.
package enum StateClaim: Sendable, Hashable {
    /// It was made from it.
    case itsOwn
    /// It was made from another one, or from this one before it was restored.
    case anothers
    /// It cannot be reached, starts or stops, or a standby answers for it: a state of the same address may be served meanwhile.
    case away
    /// It is there and does not say who it is: it may have been set back, and what the state has never have been.
    case nothing
}

/// The state was made from another source, or from this one before it was restored.
package struct OtherSource: Error {
    /// Makes the error.
    package init() {}
}

/// One configuration that is replicated, and who is told of what.
package struct ReplicationWork: Sendable {
    /// What the configuration comes to.
    package let plan: SyncPlan
    /// Its text.
    package let configText: String
    /// The digest of the text.
    package let configHash: String
    /// The stream that clients are served from until the one of another configuration is built, if this is a former
    /// configuration: nothing is built anew for it, and it ends with the switch.
    package let formerStream: StreamNumber?
    /// The state.
    package let store: ServiceStore
    /// Publishes what is on the disk.
    package let publisher: Publisher
    /// Gets the operations that streams hold.
    package let frames: FrameStore
    /// Counts.
    package let metrics: ServiceMetrics
    /// Is told of each step.
    package let health: ServiceHealth.Link
    /// Gets what an operator should know.
    package let log: Log
    /// Gets what is wrong with rows.
    package let warnings: RowWarningLog

    /// Makes work of its parts.
    package init(
        plan: SyncPlan, configText: String, configHash: String, formerStream: StreamNumber?,
        store: ServiceStore, publisher: Publisher, frames: FrameStore, metrics: ServiceMetrics,
        health: ServiceHealth.Link, log: Log, warnings: RowWarningLog
    ) {
        self.plan = plan
        self.configText = configText
        self.configHash = configHash
        self.formerStream = formerStream
        self.store = store
        self.publisher = publisher
        self.frames = frames
        self.metrics = metrics
        self.health = health
        self.log = log
        self.warnings = warnings
    }
}
