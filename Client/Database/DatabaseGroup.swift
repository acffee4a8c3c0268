import PowerSyncSQLite
import PowerSyncSystem

/// What all instances of one database file share: connections, syncing, its status and stream subscriptions.
///
/// It lives as long as one of its instances; the connections close with it at the latest.
final class DatabaseGroup: Sendable {
    let location: DatabaseLocation
    let streams = StreamRegistry()
    let sync = GroupSync()
    let status = SharedStatus()
    private let opening = SingleFlight<SQLitePool>()
    private let state = Lock(State())

    private struct State {
        var members: [ObjectIdentifier: WeakMember] = [:]
    }

    private struct WeakMember {
        weak var value: DatabaseMember?
    }

    init(location: DatabaseLocation) {
        self.location = location
    }

    // MARK: Members

    /// Adds an instance; returns whether there are others.
    func join(_ member: DatabaseMember) -> Bool {
        state.withLock { state in
            let hasOthers = !state.members.isEmpty
            state.members[ObjectIdentifier(member)] = WeakMember(value: member)
            return hasOthers
        }
    }

    /// Removes an instance; returns the connections if nobody else needs them.
    @discardableResult
    func leave(_ member: DatabaseMember) -> SQLitePool? {
        let isLast = state.withLock { state in
            state.members[ObjectIdentifier(member)] = nil
            return state.members.isEmpty
        }
        return isLast ? opening.take() : nil
    }

    /// Whether an instance beside this one is in use.
    func hasOthers(than member: DatabaseMember) -> Bool {
        state.withLock { state in state.members.keys.contains { $0 != ObjectIdentifier(member) } }
    }

    /// Tells all instances of changed tables, and syncing of changes that may have to be uploaded.
    ///
    /// Called on the writer's thread before a write returns: whoever starts to watch after it reads what it wrote, and is
    /// not told of it again.
    func changed(_ tables: Set<String>) {
        let members = state.withLock { $0.members.values.compactMap(\.value) }
        for member in members { member.changes.send(tables) }
        if tables.contains("ps_crud") || tables.contains(TableChanges.external) { sync.triggerUpload() }
    }

    // MARK: Connections

    /// Returns the connections, opening them at the first call.
    func pool(_ opener: DatabaseOpener) async throws -> SQLitePool {
        try await opening.value { [weak self] in
            let pool = try await opener.open { [weak self] tables in self?.changed(tables) }
            try await opener.log(pool)
            if let path = opener.location.resolved {
                let external = try await ExternalChanges(path: path, pool: pool)
                self?.follow(external, of: pool)
            }
            return pool
        }
    }

    /// Whether anybody cares for changes.
    private var isObserved: Bool {
        sync.isRunning
            || state.withLock { $0.members.values.contains { $0.value?.changes.watcherCount ?? 0 > 0 } }
    }

    /// Tells what other processes change, until the connections are closed.
    private func follow(_ external: ExternalChanges, of pool: SQLitePool) {
        Task { [weak self, weak pool] in
            var external = external
            while true {
                try await ContinuousClock().sleep(for: ExternalChanges.interval)
                // Whoever starts to watch later reads what is there then.
                guard let group = self, let pool else { return }
                guard group.isObserved else { continue }
                if try await external.look(pool) { group.changed([TableChanges.external]) }
            }
        }
    }
}
