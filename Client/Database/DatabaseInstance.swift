import PowerSyncSQLite
import PowerSyncSystem

/// One instance as its group knows it.
final class DatabaseInstance: Sendable {
    private struct State {
        /// The connections, once they are ready for this instance.
        var pool: (any ConnectionPool)?
        var isClosed = false
        var uses = 0
        var waiter: Resumption<Void, Never>?
    }

    /// The instance's status.
    let status: StatusFeed
    /// The instance's watches.
    let changes = TableChanges()
    /// The pool that the app has brought with the instance.
    let appPool: (any SQLiteConnectionPoolProtocol)?
    private let state = Lock(State())

    init(of group: DatabaseGroup, appPool: (any SQLiteConnectionPoolProtocol)? = nil) {
        self.appPool = appPool
        status = StatusFeed(of: group.status, changedBy: group.external)
    }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    var pool: (any ConnectionPool)? { state.withLock { $0.pool } }

    /// Begins a use, whose end closing waits for; false once the instance is closed.
    func beginUse() -> Bool {
        state.withLock { state in
            if !state.isClosed { state.uses += 1 }
            return !state.isClosed
        }
    }

    func endUse() {
        let waiter = state.withLock { state -> Resumption<Void, Never>? in
            state.uses -= 1
            return state.uses == 0 ? state.waiter.take() : nil
        }
        waiter?.resume()
    }

    /// Gives the instance its connections.
    func open(_ pool: any ConnectionPool) { state.withLock { $0.pool = pool } }

    /// Refuses further uses.
    func refuseUse() { state.withLock { $0.isClosed = true } }

    /// Ends watches and waits, and returns when the last use is over.
    func leave() async {
        refuseUse()
        changes.finish()
        status.close()
        await withResumption { (continuation: Resumption<Void, Never>) in
            let isUnused = state.withLock { state in
                if state.uses > 0 { state.waiter = continuation }
                return state.uses == 0
            }
            if isUnused { continuation.resume() }
        }
        // Out of the lock: connections that nobody else holds close with it.
        _ = state.withLock { $0.pool.take() }
    }
}
