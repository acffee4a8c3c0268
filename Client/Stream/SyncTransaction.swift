import PowerSyncSQLite

/// Performs events of a sync iteration within one transaction of the caller.
package enum SyncTransaction {
    /// Feeds events to the reducer, does what it asks of the store, and feeds the outcomes back.
    ///
    /// Nothing changes when it throws, if the caller rolls back and keeps the old value of the state. Events behind
    /// one that closes the iteration are left out.
    ///
    /// - Parameters:
    ///   - events: what happened, in order.
    ///   - state: the iteration before.
    ///   - store: the database, in a transaction.
    /// - Returns: the iteration after, and the effects that are left for the caller.
    /// - Throws: `SyncError` and `SQLiteError`.
    package static func run(
        _ events: [SyncEvent], from state: SyncState, on store: SyncStore
    ) throws -> (state: SyncState, effects: [SyncEffect]) {
        var state = state
        var left: [SyncEffect] = []
        for event in events {
            var waiting = try SyncReducer.reduce(&state, event)[...]
            while let effect = waiting.popFirst() {
                guard case .perform(let task) = effect else {
                    left.append(effect)
                    if case .close = effect { return (state, left) }
                    continue
                }
                guard let outcome = try store.perform(task) else { continue }
                waiting = try SyncReducer.reduce(&state, outcome)[...] + waiting
            }
        }
        return (state, left)
    }
}
