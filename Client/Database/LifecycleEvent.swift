/// What is asked of the life cycle of a database file.
enum LifecycleWish: Sendable, Hashable {
    /// To have the connections open, with the tables of the instance.
    case open
    /// To sync, or to sync with another connector or other options.
    case connect
    /// To end syncing.
    case disconnect
    /// To end syncing and remove the data.
    case clear
    /// To replace the tables.
    case updateSchema
    /// To give the instance up.
    case close(deletingFiles: Bool)

    /// Whether it needs open connections.
    var needsConnections: Bool {
        switch self {
        case .open, .connect, .clear, .updateSchema: true
        case .disconnect, .close: false
        }
    }

    /// Whether calls of the connector have ended when it is fulfilled.
    var endsCalls: Bool {
        switch self {
        case .connect, .disconnect, .clear, .close: true
        case .open, .updateSchema: false
        }
    }

    /// Whether it is fulfilled although its caller was cancelled before it began: signing out must not get lost.
    var outlivesItsCaller: Bool {
        switch self {
        case .disconnect, .clear, .close: true
        case .open, .connect, .updateSchema: false
        }
    }

    var isClose: Bool { if case .close = self { true } else { false } }
}

/// A wish and who has it.
struct LifecycleTicket: Sendable, Hashable {
    let id: Int
    let wish: LifecycleWish
    /// The number of the instance.
    let instance: Int
    /// The call of the connector that waits for the wish, and whose end is not waited for.
    var call: Int?
}

/// What becomes of a wish.
enum LifecycleAnswer: Sendable {
    case done
    /// The instance is closed.
    case closed
    /// The tables must not be replaced: syncing is wished.
    case connected
    /// The files must not be removed: another instance is there.
    case inUse
    case failed(any Error)
}

/// Work that takes its time; there is one at a time.
enum LifecycleWork: Sendable, Hashable {
    /// Opens the connections.
    case open(ticket: Int)
    /// Applies the schema of the instance, and reads the status.
    case prepare(ticket: Int)
    /// Claims the right to sync; it ends with ``LifecycleEvent/claimed(_:)``.
    case claim(ticket: Int)
    /// Makes what the wish that has claimed the right wants to sync, and does not start it.
    case make(ticket: Int)
    /// Claims the right to sync and clears, or throws without it.
    case clear(ticket: Int)
    case applySchema(ticket: Int)
    /// Ends the watches of the instance and waits for its callbacks.
    case leave(ticket: Int)
    case closeConnections
    case removeFiles(ticket: Int)
}

/// Another process has removed the data while this one waited to sync: who is signed in there is nobody's to guess.
struct ClearedElsewhere: Error {}

/// What happens to a database file.
enum LifecycleEvent: Sendable {
    /// An instance was made.
    case joined(instance: Int)
    /// The last reference to an instance went, and nobody has closed it; `ticket` is the number of the wish that closes
    /// what it leaves behind.
    case dropped(instance: Int, ticket: Int)
    case wished(LifecycleTicket)
    /// The caller of a wish does not wait any more.
    case abandoned(ticket: Int)
    /// The work that was under way is over.
    case finished((any Error)?)
    /// Who has the right to sync that was to be claimed.
    case claimed(SyncLock.Holder)
    /// Somebody else has the right than before, heard by the claim of a wish; that of an earlier wish counts for nothing.
    case holderChanged(SyncLock.Holder, ticket: Int)
    /// What syncs has come to its end.
    case syncEnded
    /// The pause before another try to take over is over.
    case pauseOver(number: Int)
    /// The connector is to be called; `connection` is the wish to connect that has brought the connector.
    case called(Int, ConnectorCall.Kind, instance: Int, connection: Int)
    /// A call of the connector is over.
    case callEnded(Int)
    /// A call has been waited for long enough.
    case patienceOver(call: Int, number: Int)
}

/// What is to be done.
enum LifecycleEffect: Sendable {
    case work(LifecycleWork)
    case cancelOpening
    /// Starts what was made, and shows that nobody else syncs.
    case startSync
    case stopSync
    /// Forgets what was made, and was not started.
    case discardSync
    /// Shows that another process syncs.
    case showElsewhere
    /// Gives the right to sync, or the wait for it, up, and shows that nobody else syncs.
    case release
    /// Shows, and tells the log, why what waited could not begin: nobody else waits for it.
    case tellFailure(any Error)
    /// Begins to wait before another try; `number` tells this time from earlier ones.
    case startPause(number: Int)
    case endPause
    case startCall(Int)
    /// Cancels a call and lets whoever has called go; one that has not begun never does.
    case cancelCall(Int)
    /// Begins to wait for the end of a call; `number` tells this time from earlier ones.
    case startPatience(call: Int, number: Int)
    case endPatience(call: Int)
    /// Stops waiting for a call, and refuses what it may still do.
    case cutOff(call: Int)
    case answer(ticket: Int, LifecycleAnswer)
}
