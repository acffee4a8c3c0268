import PowerSyncSystem

/// What all instances of one database file share: connections, syncing, its status and stream subscriptions.
///
/// The loop of its life cycle (LIFECYCLE.md) keeps it while the connections are open, an instance as long as it lives.
final class DatabaseGroup: Sendable {
    let location: DatabaseLocation
    let streams = StreamRegistry()
    let status = SharedStatus()
    /// The life cycle; see `DatabaseGroup+Loop`.
    let loop = Lock(LifecycleLoop())
    /// Raised when the loop may have something to do.
    let arrived = Signal()
    private let state = Lock(State())

    private struct State {
        var members: [Int: WeakMember] = [:]
        var lastNumber = 0
    }

    private struct WeakMember {
        weak var value: DatabaseMember?
    }

    init(location: DatabaseLocation) {
        self.location = location
    }

    // MARK: Members

    /// Adds an instance; returns its number, and whether there are others.
    func join(_ member: DatabaseMember) -> (number: Int, hasOthers: Bool) {
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

    /// Tells all instances of changed tables, and syncing of changes that may have to be uploaded.
    ///
    /// Called on the writer's thread before a write returns: whoever starts to watch after it reads what it wrote, and is
    /// not told of it again.
    func changed(_ tables: Set<String>) {
        let members = state.withLock { $0.members.values.compactMap(\.value) }
        for member in members { member.changes.send(tables) }
        if tables.contains("ps_crud") || tables.contains(TableChanges.external) { triggerUpload() }
    }

    /// Whether anybody cares for changes.
    var isObserved: Bool {
        loop.withLock { $0.reducer.isSyncing }
            || state.withLock { $0.members.values.contains { $0.value?.changes.watcherCount ?? 0 > 0 } }
    }
}
