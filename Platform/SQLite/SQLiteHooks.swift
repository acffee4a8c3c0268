import CPowerSyncSQLite

/// The observers of one connection; SQLite has room for one hook of each kind, this shares it.
final class SQLiteHooks {
    var updates: [(String) -> Void] = []
    var commits: [() -> Void] = []
    var rollbacks: [() -> Void] = []
    var commitsDone: [() -> Void] = []
    /// A commit was tried, and it is not known yet what came of it.
    fileprivate var commitWasTried = false
    fileprivate var isInstalled = false

    fileprivate func tellOfCommit() {
        commitWasTried = false
        for body in commitsDone { body() }
    }
}

extension SQLiteConnection {
    /// Calls `body` with the table's name for every row that is inserted, updated or deleted here.
    ///
    /// As SQLite's update hook: not for tables without rowid. `body` must not use the connection.
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

    /// Calls `body` after each transaction that was committed, when the statement that committed it is over.
    ///
    /// `body` must not use the connection.
    package func onCommitDone(_ body: @escaping () -> Void) {
        installHooks()
        hooks.commitsDone.append(body)
    }

    /// Calls `body` after each rollback of a transaction, also of one that changed nothing.
    ///
    /// `body` must not use the connection.
    package func onRollback(_ body: @escaping () -> Void) {
        installHooks()
        hooks.rollbacks.append(body)
    }

    /// Tells of a transaction that the statement that is now over has committed.
    ///
    /// SQLite calls no hook after a commit, and the one before it is also called for a commit that fails. That has
    /// failed when the transaction is still open, or was rolled back.
    func statementEnded() {
        guard hooks.commitWasTried, !isClosed else { return }
        guard sqlite3_get_autocommit(pointer) != 0 else {
            hooks.commitWasTried = false
            return
        }
        hooks.tellOfCommit()
    }

    /// Deletes all rows of a table at once, of which observers are not told.
    ///
    /// - Parameter table: The table's name as it stands in SQL.
    /// - Throws: SQLite's error.
    package func deleteWithoutNotice(from table: String) throws(SQLiteError) {
        if hooks.isInstalled { sqlite3_preupdate_hook(pointer, nil, nil) }
        defer { if hooks.isInstalled { noticeEveryRow() } }
        // Compiled for this run alone: what SQLite tells of a DELETE is decided when it is compiled.
        try prepare("DELETE FROM \(table)").run()
    }

    /// With an observer before each change SQLite deletes row by row, and tells of each.
    private func noticeEveryRow() { sqlite3_preupdate_hook(pointer, { _, _, _, _, _, _, _ in }, nil) }

    /// Ends the callbacks of a connection that lives on.
    func removeHooks() {
        guard hooks.isInstalled else { return }
        hooks.isInstalled = false
        sqlite3_preupdate_hook(pointer, nil, nil)
        sqlite3_update_hook(pointer, nil, nil)
        sqlite3_commit_hook(pointer, nil, nil)
        sqlite3_rollback_hook(pointer, nil, nil)
    }

    private func installHooks() {
        guard !hooks.isInstalled, !isClosed else { return }
        hooks.isInstalled = true
        noticeEveryRow()
        // Safe because the hooks live as long as the connection, and close ends the callbacks.
        let context = Unmanaged.passUnretained(hooks).toOpaque()
        sqlite3_update_hook(
            pointer,
            { context, _, _, table, _ in
                guard let context, let table else { return }
                let hooks = Unmanaged<SQLiteHooks>.fromOpaque(context).takeUnretainedValue()
                // Only where statements of a borrowed connection run that are none of ours: nobody told of their end.
                if hooks.commitWasTried { hooks.tellOfCommit() }
                let name = String(cString: table)
                for body in hooks.updates { body(name) }
            }, context)
        sqlite3_commit_hook(
            pointer,
            { context in
                guard let context else { return 0 }
                let hooks = Unmanaged<SQLiteHooks>.fromOpaque(context).takeUnretainedValue()
                hooks.commitWasTried = true
                for body in hooks.commits { body() }
                return 0
            }, context)
        sqlite3_rollback_hook(
            pointer,
            { context in
                guard let context else { return }
                let hooks = Unmanaged<SQLiteHooks>.fromOpaque(context).takeUnretainedValue()
                hooks.commitWasTried = false
                for body in hooks.rollbacks { body() }
            }, context)
    }
}

/// Collects the names of tables that committed transactions of one connection changed.
package final class SQLiteCommittedTables {
    private var changed: Set<String> = []
    private var committed: Set<String> = []
    private var last = ""
    private weak var connection: SQLiteConnection?

    /// Starts collecting.
    package init(of connection: SQLiteConnection) {
        self.connection = connection
        connection.onUpdate { [weak self] in self?.update($0) }
        connection.onCommitDone { [weak self] in self?.commit() }
        connection.onRollback { [weak self] in self?.forget() }
    }

    /// Returns the tables changed by transactions committed since the last call.
    package func drain() -> Set<String> {
        connection?.statementEnded()
        defer { committed = [] }
        return committed
    }

    private func update(_ table: String) {
        // Most updates hit the table of the one before.
        guard table != last else { return }
        last = table
        changed.insert(table)
    }

    private func commit() {
        committed.formUnion(changed)
        forget()
    }

    private func forget() {
        changed = []
        last = ""
    }
}
