import PowerSyncSQLite

/// Performs an event of a sync iteration within one transaction of the caller.
package enum SyncTransaction {
    /// Feeds an event to the reducer, does what it asks of the store, and feeds the outcomes back.
    ///
    /// Nothing changes when it throws, if the caller rolls back and keeps the old value of the state.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - state: the iteration before.
    ///   - store: the database, in a transaction.
    /// - Returns: the iteration after, and the effects that are left for the caller.
    /// - Throws: `SyncError` and `SQLiteError`.
    package static func run(
        _ event: SyncEvent, from state: SyncState, on store: SyncStore
    ) throws -> (state: SyncState, effects: [SyncEffect]) {
        try run(event, from: state) { try store.perform($0) }
    }

    /// Does the same with another store.
    ///
    /// - Parameters:
    ///   - event: what happened.
    ///   - state: the iteration before.
    ///   - perform: does a task and returns the event that tells its outcome; nil for a task without one.
    /// - Returns: the iteration after, and the effects that are left for the caller.
    /// - Throws: `SyncError`, and what `perform` throws.
    package static func run(
        _ event: SyncEvent, from state: SyncState, perform: (SyncTask) throws -> SyncEvent?
    ) throws -> (state: SyncState, effects: [SyncEffect]) {
        var state = state
        var left: [SyncEffect] = []
        var waiting = try SyncReducer.reduce(&state, event)[...]
        while let effect = waiting.popFirst() {
            guard case .perform(let task) = effect else {
                left.append(effect)
                if case .close = effect { break }
                continue
            }
            guard let outcome = try perform(task) else { continue }
            waiting = try SyncReducer.reduce(&state, outcome)[...] + waiting
        }
        return (state, left)
    }
}
