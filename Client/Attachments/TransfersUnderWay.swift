import PowerSyncSystem
import PowerSyncWire

/// The rows of a table whose transfers have not ended, whichever queue of the process has begun them.
///
/// A transfer that ignores its cancellation outlives its run, and its queue. Until it ends nobody else may touch the row: an
/// upload that is done behind a delete would leave bytes that no row knows.
final class TransfersUnderWay: Sendable {
    private struct State {
        var ids: Set<String> = []
        /// Who is told, each once.
        var told: [ObjectIdentifier: @Sendable (String) -> Void] = [:]
    }

    private let state = Lock(State())

    /// The ids of the rows whose transfers have not ended.
    var ids: Set<String> { state.withLock { $0.ids } }

    /// Notes that a transfer begins.
    func begin(_ id: String) {
        state.withLock { _ = $0.ids.insert(id) }
    }

    /// Notes that a transfer has ended.
    func end(_ id: String) {
        let told = state.withLock { state in
            state.ids.remove(id)
            return Array(state.told.values)
        }
        for tell in told { tell(id) }
    }

    /// Tells a run of each end from now on.
    ///
    /// - Parameters:
    ///   - run: the run.
    ///   - told: called with the id of the row; must not block.
    func follow(_ run: ObjectIdentifier, _ told: @escaping @Sendable (String) -> Void) {
        state.withLock { $0.told[run] = told }
    }

    /// Tells a run nothing more.
    func leave(_ run: ObjectIdentifier) {
        state.withLock { $0.told[run] = nil }
    }
}

/// The transfers of each table of a database that have not ended.
final class TablesUnderWay: Sendable {
    private let tables = Lock<[ExactText: TransfersUnderWay]>([:])

    /// Returns those of a table, one for all who ask.
    func transfers(of table: ExactText) -> TransfersUnderWay {
        tables.withLock { tables in
            if let known = tables[table] { return known }
            let new = TransfersUnderWay()
            tables[table] = new
            return new
        }
    }
}
