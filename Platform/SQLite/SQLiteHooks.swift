import CPowerSyncSQLite

/// The observers of one connection; SQLite has room for one hook of each kind, this shares it.
final class SQLiteHooks {
    var updates: [(String) -> Void] = []
    var commits: [() -> Void] = []
    var rollbacks: [() -> Void] = []
    fileprivate var isInstalled = false
}

extension SQLiteConnection {
    /// Calls `body` with the table's name for every row that is inserted, updated or deleted here.
    ///
    /// As SQLite's update hook: not for tables without rowid, not for rows that a DELETE without WHERE drops
    /// at once. `body` must not use the connection.
    package func onUpdate(_ body: @escaping (String) -> Void) {
        installHooks()
        hooks.updates.append(body)
    }

    /// Calls `body` before each commit.
    ///
    /// The commit may still fail. `body` must not use the connection.
    package func onCommit(_ body: @escaping () -> Void) {
        installHooks()
        hooks.commits.append(body)
    }

    /// Calls `body` after each rollback of a transaction.
    ///
    /// `body` must not use the connection.
    package func onRollback(_ body: @escaping () -> Void) {
        installHooks()
        hooks.rollbacks.append(body)
    }

    private func installHooks() {
        guard !hooks.isInstalled, !isClosed else { return }
        hooks.isInstalled = true
        // Safe because the hooks live as long as the connection, and close ends the callbacks.
        let context = Unmanaged.passUnretained(hooks).toOpaque()
        sqlite3_update_hook(
            pointer,
            { context, _, _, table, _ in
                guard let context, let table else { return }
                let name = String(cString: table)
                for body in Unmanaged<SQLiteHooks>.fromOpaque(context).takeUnretainedValue().updates {
                    body(name)
                }
            }, context)
        sqlite3_commit_hook(
            pointer,
            { context in
                guard let context else { return 0 }
                for body in Unmanaged<SQLiteHooks>.fromOpaque(context).takeUnretainedValue().commits {
                    body()
                }
                return 0
            }, context)
        sqlite3_rollback_hook(
            pointer,
            { context in
                guard let context else { return }
                for body in Unmanaged<SQLiteHooks>.fromOpaque(context).takeUnretainedValue().rollbacks {
                    body()
                }
            }, context)
    }
}

/// Collects the names of tables that committed transactions of one connection changed.
package final class SQLiteCommittedTables {
    private var changed: Set<String> = []
    private var committed: Set<String> = []
    private var commitWasTried = false
    private var last = ""

    /// Starts collecting.
    package init(of connection: SQLiteConnection) {
        connection.onUpdate { [weak self] in self?.update($0) }
        connection.onCommit { [weak self] in self?.commitWasTried = true }
        connection.onRollback { [weak self] in self?.rollBack() }
    }

    /// Returns the tables changed by transactions committed since the last call.
    package func drain() -> Set<String> {
        settle()
        defer { committed = [] }
        return committed
    }

    private func update(_ table: String) {
        settle()
        // Most updates hit the table of the one before.
        guard table != last else { return }
        last = table
        changed.insert(table)
    }

    private func rollBack() {
        changed = []
        commitWasTried = false
        last = ""
    }

    /// A commit that failed ends in a rollback; without one, it took place.
    private func settle() {
        guard commitWasTried else { return }
        commitWasTried = false
        committed.formUnion(changed)
        changed = []
        last = ""
    }
}
