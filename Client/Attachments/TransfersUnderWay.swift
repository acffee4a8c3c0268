import PowerSyncSystem

/// The rows whose transfers have not ended, whichever run of a service has begun them.
///
/// A transfer that ignores its cancellation outlives its run. Until it ends nobody else may touch the row: an upload that
/// is done behind a delete would leave bytes that no row knows.
final class TransfersUnderWay: Sendable {
    private struct State {
        var ids: Set<String> = []
        var told: (@Sendable (String) -> Void)?
    }

    private let state = Lock(State())

    /// Notes that a transfer begins.
    func begin(_ id: String) {
        state.withLock { _ = $0.ids.insert(id) }
    }

    /// Notes that a transfer has ended.
    func end(_ id: String) {
        let told = state.withLock { state in
            state.ids.remove(id)
            return state.told
        }
        told?(id)
    }

    /// Tells a run of each end from now on, in place of the run before.
    ///
    /// - Parameter told: called with the id of the row; must not block.
    /// - Returns: the ids of the rows whose transfers have not ended.
    func follow(_ told: @escaping @Sendable (String) -> Void) -> Set<String> {
        state.withLock { state in
            state.told = told
            return state.ids
        }
    }
}
