import PowerSyncPostgres
import PowerSyncPostgresValues

/// Tells Postgres how far the log is safe with us; may be asked by several tasks.
actor StandbyReporter {
    private let connection: PostgresConnection
    private var position: LSN
    /// Up to where the state says that Postgres may have been told.
    private var stored: LSN
    private var isSending = false
    private var isWanted = false
    private var wantsReply = false

    init(_ connection: PostgresConnection, position: LSN) {
        self.connection = connection
        self.position = position
        stored = position
    }

    /// Whether the state says of everything up to a position that it is stored.
    func isStored(_ lsn: LSN) -> Bool { lsn <= stored }

    /// Moves the position forward without sending it: the state says that everything before it is stored.
    func advance(to lsn: LSN) {
        stored = max(stored, lsn)
        position = max(position, lsn)
    }

    /// Moves the position forward without sending it, although not everything before it is stored.
    ///
    /// If that does not follow, the slot is found further than the state.
    func promise(_ lsn: LSN) { position = max(position, lsn) }

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
