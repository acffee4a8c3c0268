import PowerSyncSystem

/// Whether a sync iteration counts on what is stored: known to each connection on which it has written.
///
/// Whoever runs the iteration lowers it, which needs no connection: there may be none to be had.
final class IterationMark: Sendable {
    private let state = Lock(false)

    /// Whether the iteration goes on.
    var isActive: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
