import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSystem

/// A source that commits the transactions of a script one after the other, and tells again whatever it is asked for.
final class ScriptedSource: Sendable {
    /// What a statement sees.
    struct Sight: Sendable {
        /// The last transaction that was committed.
        let last: Int
        /// The rows behind it, by id.
        let rows: [String: StoreScript.Row]

        /// The position of the log.
        var position: LSN { StoreScript.position(of: last) }
    }

    private struct State {
        var rows: ScriptRows
        /// What each transaction tells, the first one first.
        var log: [[StoreScript.Change]] = []

        init(_ script: StoreScript) { rows = ScriptRows(script) }

        mutating func commit() { log.append(rows.commit()) }
    }

    private let state: Lock<State>
    private let commits = StageSignal()

    /// Begins behind the transactions that it had committed before.
    init(_ script: StoreScript, committed: Int) {
        var first = State(script)
        for _ in 0..<committed { first.commit() }
        state = Lock(first)
    }

    /// What there is now.
    var now: Sight { state.withLock { Sight(last: $0.rows.last, rows: $0.rows.rows) } }

    /// Commits the next transaction.
    ///
    /// - Parameter journal: Is told first: what is committed is not taken back.
    /// - Returns: Its number.
    @discardableResult
    func commit(_ journal: StoreJournal) -> Int {
        let number = now.last + 1
        journal.committed(number)
        state.withLock { $0.commit() }
        commits.ring()
        return number
    }

    /// Waits for a transaction.
    ///
    /// - Parameter number: Which.
    /// - Returns: What the log tells of it.
    /// - Throws: `CancellationError`.
    func transaction(_ number: Int) async throws -> [StoreScript.Change] {
        while true {
            let count = commits.count
            let told = state.withLock { number <= $0.log.count ? $0.log[number - 1] : nil }
            if let told { return told }
            try await commits.next(after: count)
        }
    }
}
