import CPowerSyncPQ

/// What somebody said by NOTIFY on a channel that a connection listens on.
package struct PostgresNotification: Sendable, Hashable {
    /// The channel.
    package let channel: String
    /// What was said; empty if nothing.
    package let payload: String
    /// The process id of the session that said it.
    package let processID: Int32

    /// Makes a notification of its parts.
    package init(channel: String, payload: String = "", processID: Int32) {
        self.channel = channel
        self.payload = payload
        self.processID = processID
    }

    init(_ notification: PGnotify) {
        channel = notification.relname.map { String(cString: $0) } ?? ""
        payload = notification.extra.map { String(cString: $0) } ?? ""
        processID = notification.be_pid
    }
}

extension PostgresConnection {
    /// Returns the notifications that have arrived, waiting for the first (SQL LISTEN; not behind a pooler of transactions).
    ///
    /// Those that arrive with the answers to statements are kept until this is called. A statement on the connection has to
    /// wait meanwhile, it is `busy`; cancelling the task ends the wait and harms nothing. That the connection is silent
    /// tells nothing about the server: ask it now and then.
    ///
    /// - Parameter deadline: How long to wait; nil is for ever.
    /// - Returns: In the order of their transactions; none when the deadline has passed.
    /// - Throws: `PostgresError` when the connection is gone, and what was said meanwhile is lost; `CancellationError`.
    package func notifications(
        until deadline: ContinuousClock.Instant? = nil
    ) async throws -> [PostgresNotification] {
        try await exclusively {
            while true {
                let notifications = handle.takeNotifications()
                if !notifications.isEmpty { return notifications }
                guard try await waitReadable(until: deadline) else { return [] }
                guard handle.consumeInput() else {
                    // What had arrived before the loss is still to be told; the next call reports it.
                    let last = handle.takeNotifications()
                    if !last.isEmpty { return last }
                    throw handle.lost()
                }
            }
        }
    }
}
