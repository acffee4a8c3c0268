import PowerSyncSystem
import PowerSyncWire

/// Who transfers the files of each table of a database that has no file to lock beside it: one queue at a time.
final class TransferTurns: Sendable {
    private struct Waiter {
        let id: UInt64
        let told: @Sendable () -> Void
    }

    private struct State {
        /// Those who want to transfer the files of a table; the first one does.
        var waiters: [ExactText: [Waiter]] = [:]
        var lastID: UInt64 = 0
    }

    private let state = Lock(State())

    /// Asks for a turn.
    ///
    /// - Parameters:
    ///   - table: the table.
    ///   - told: called when the turn comes, unless it is there at once; must not block.
    /// - Returns: what ``release(_:of:)`` takes, and whether the turn is there.
    func claim(_ table: ExactText, told: @escaping @Sendable () -> Void) -> (id: UInt64, isOurs: Bool) {
        state.withLock { state in
            state.lastID += 1
            state.waiters[table, default: []].append(Waiter(id: state.lastID, told: told))
            return (state.lastID, state.waiters[table]?.count == 1)
        }
    }

    /// Gives a turn up, or the wait for it.
    func release(_ id: UInt64, of table: ExactText) {
        let next = state.withLock { state -> Waiter? in
            let first = state.waiters[table]?.first?.id
            state.waiters[table]?.removeAll { $0.id == id }
            if state.waiters[table]?.isEmpty == true { state.waiters[table] = nil }
            return first == id ? state.waiters[table]?.first : nil
        }
        next?.told()
    }
}
