import CPowerSyncPQ
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
    ///
    /// A server that stands still takes the request and never answers; the threads that wait for that are bounded.
    ///
    /// - Parameter poller: Has the threads.
    /// - Returns: False if so many requests do not come to an end that this one cannot begin.
    func send(_ poller: Poller) -> Bool {
        do {
            try poller.calls.start { [self] in
                var text = [CChar](repeating: 0, count: 256)
                // If it cannot be made the statement goes on, and whoever waits for its end has a deadline.
                _ = PQcancel(cancel, &text, Int32(text.count))
                done.withLock { $0 = true }
            }
            return true
        } catch {
            return false
        }
    }
}
