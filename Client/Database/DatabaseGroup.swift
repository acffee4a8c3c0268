import PowerSyncSystem

/// What all instances of one database file share: connections, syncing, its status and stream subscriptions.
///
/// The loop of its life cycle (LIFECYCLE.md) keeps it while the connections are open, an instance as long as it lives.
final class DatabaseGroup: Sendable {
    let location: DatabaseLocation
    /// The files; nil for a database that has none, or whose files nobody knows.
    let files: DatabaseFiles?
    /// Who transfers the files of its tables of attachments, if nobody knows its own.
    let transferTurns = TransferTurns()
    /// The transfers of its tables of attachments that have not ended.
    let tablesUnderWay = TablesUnderWay()
    let streams = StreamRegistry()
    let status = SharedStatus()
    /// The right to sync the file; nil for a database that is ours alone.
    let lock: SyncLock?
    /// What other processes write; nil for a database that is ours alone.
    let external: ExternalChanges?
    /// The life cycle; see `DatabaseGroup+Loop`.
    let loop = Lock(LifecycleLoop())
    /// Raised when the loop may have something to do.
    let arrived = AsyncFlag()
    private let state = Lock(State())

    private struct State {
        var members: [Int: WeakMember] = [:]
        var lastNumber = 0
    }

    private struct WeakMember {
        weak var value: DatabaseInstance?
    }

    /// Makes the group of a place; `watcher` tells of changes of its files.
    init(location: DatabaseLocation, watcher: FileWatcher = FileWatcher()) {
        self.location = location
        // Whichever link leads to it, the files beside it are the same for all.
        let files = location.resolved.map { DatabaseFiles(path: $0, watcher: watcher) }
        self.files = files
        lock = files.map { SyncLock($0) }
        external = files.map { ExternalChanges($0) }
    }

    // MARK: Members

    /// Adds an instance; returns its number, and whether there are others.
    func join(_ member: DatabaseInstance) -> (number: Int, hasOthers: Bool) {
        let (number, hasOthers) = state.withLock { state in
            let hasOthers = !state.members.isEmpty
            state.lastNumber += 1
            state.members[state.lastNumber] = WeakMember(value: member)
            return (state.lastNumber, hasOthers)
        }
        post(.joined(instance: number))
        return (number, hasOthers)
    }

    /// Removes an instance.
    func leave(_ number: Int) {
        state.withLock { $0.members[number] = nil }
    }

    /// Takes in what has changed: tells all instances, and syncing of changes that may have to be uploaded.
    ///
    /// Called on the writer's thread before a write returns: whoever starts to watch after it reads what it wrote,
    /// and is not told of it again. A pool of the app's own tells of changes itself (``BorrowedPool``).
    func changed(_ tables: Set<String>) {
        let members = state.withLock { $0.members.values.compactMap(\.value) }
        for member in members { member.changes.send(tables) }
        if tables.contains("ps_crud") || tables.contains(TableChanges.external) { triggerUpload() }
    }

    /// Whether an instance has brought this pool, and is not closed.
    func hasBroughtElsewhere(_ pool: any SQLiteConnectionPoolProtocol) -> Bool {
        let members = state.withLock { $0.members.values.compactMap(\.value) }
        return members.contains { member in member.appPool.map { BorrowedPool.areSame($0, pool) } ?? false }
    }
}
