import PowerSyncPostgres

/// Tells Postgres how far the log is safe with us; may be asked by several tasks.
actor StandbyReporter {
    private let connection: PostgresConnection
    private var position: LSN
    private var isSending = false
    private var isWanted = false
    private var wantsReply = false

    init(_ connection: PostgresConnection, position: LSN) {
        self.connection = connection
        self.position = position
    }

    /// Moves the position forward without sending it; everything before it must be durable.
    func advance(to lsn: LSN) { position = max(position, lsn) }

    /// Sends the position; if another task is sending, that one sends again.
    ///
    /// - Parameter requestsReply: Whether the source shall give a sign of life.
    /// - Throws: `PostgresError`.
    func report(requestsReply: Bool = false) async throws {
        isWanted = true
        if requestsReply { wantsReply = true }
        guard !isSending else { return }
        isSending = true
        defer { isSending = false }
        while isWanted {
            isWanted = false
            let wantsReply = wantsReply
            self.wantsReply = false
            try await connection.sendStandbyStatus(
                written: position, flushed: position, applied: position, requestsReply: wantsReply)
        }
    }
}
