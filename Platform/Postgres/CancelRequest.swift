import CPowerSyncPQ
import Dispatch
import PowerSyncSystem

/// Stops the running statement of one connection, over another connection that libpq makes for it.
///
/// Safe because the PGcancel is used by the one closure that `send` starts, and freed by the last reference.
final class CancelRequest: @unchecked Sendable {
    private let cancel: OpaquePointer
    private let done = Lock(false)

    init(_ cancel: OpaquePointer) {
        self.cancel = cancel
    }

    deinit {
        PQfreeCancel(cancel)
    }

    /// True once the server has been told, or could not be: it does nothing more after that.
    var isDone: Bool { done.withLock { $0 } }

    /// Starts it and returns; libpq's call waits for the network, so it has a thread of its own.
    func send() {
        DispatchQueue(label: "powersync.postgres.cancel").async { [self] in
            var text = [CChar](repeating: 0, count: 256)
            // If it cannot be made the statement goes on, and whoever waits for its end has a deadline.
            _ = PQcancel(cancel, &text, Int32(text.count))
            done.withLock { $0 = true }
        }
    }
}
