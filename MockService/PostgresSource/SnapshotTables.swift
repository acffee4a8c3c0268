import PowerSyncServiceEngine
import PowerSyncSystem

/// The tables that a first snapshot has yet to read, for whoever reads (DESIGN.md, 3).
final class SnapshotTables: Sendable {
    private struct State {
        var waiting: ArraySlice<(schema: String, name: String)>
        /// Whether one of those that are read is large.
        var isHelpWanted = false
        var isOver = false
    }

    private let state: Lock<State>
    private let signal = StageSignal()

    /// Begins in front of the first one.
    ///
    /// - Parameter tables: The tables in the order in which they are read.
    init(_ tables: [(schema: String, name: String)]) { state = Lock(State(waiting: tables[...])) }

    /// Takes the next table; nil if there is none.
    func next() -> (schema: String, name: String)? { state.withLock { $0.waiting.popFirst() } }

    /// Notes that a table has brought a full piece: others need not wait for the rest of it.
    func askForHelp() {
        let isNew = state.withLock { state in
            defer { state.isHelpWanted = true }
            return !state.isHelpWanted
        }
        if isNew { signal.ring() }
    }

    /// Notes that whoever reads first has found no table any more, or has failed.
    func end() {
        state.withLock { $0.isOver = true }
        signal.ring()
    }

    /// Returns whether there is a table to read for one more, as soon as that is sure.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    func needsHelp() async throws -> Bool {
        while true {
            let count = signal.count
            let answer: Bool? = state.withLock { state in
                if state.isHelpWanted, !state.waiting.isEmpty { return true }
                return state.isOver || state.waiting.isEmpty ? false : nil
            }
            if let answer { return answer }
            try await signal.next(after: count)
        }
    }
}
