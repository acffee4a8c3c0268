import PowerSyncPostgresValues
import PowerSyncSQLite
import PowerSyncWire

/// Thrown to a client for which there is no place among those of its user.
package struct TooManyClients: Error, Sendable, Equatable {
    /// How many a user may have.
    package let limit: Int

    /// Makes an error.
    package init(limit: Int) { self.limit = limit }
}

/// The newest write checkpoint of a client that asked for it, and the newest one that was surely reached before it was taken.
package struct StoredWriteCheckpoint: Sendable, Equatable {
    /// Its id.
    package let id: Int64
    /// The position that the log has to reach, as all that came before it.
    package let head: LSN
    let reached: Int64?
    let reachedHead: LSN
    let isRequested: Bool

    /// The newest one that a checkpoint includes; nil if there is none.
    ///
    /// - Parameter position: The position of the checkpoint.
    /// - Returns: The id.
    package func reached(at position: LSN) -> Int64? {
        if head <= position { return id }
        return reachedHead <= position ? reached : nil
    }
}

extension ServiceStore {
    /// Takes the next write checkpoint of a client (service 1.8).
    ///
    /// - Parameters:
    ///   - key: User and client.
    ///   - head: The position of the source's log, read before this call.
    ///   - published: The position of the newest checkpoint.
    ///   - clients: How many clients the user may have.
    /// - Returns: What is stored now. The id is 1 at first, then one more than the last, whatever happened in between.
    ///   There is none behind 9223372036854775807, which a client may have named: it is given again, for the new
    ///   position.
    /// - Throws: `SQLiteError`, `TooManyClients`.
    package func nextWriteCheckpoint(
        key: String, head: LSN, published: LSN, clients: Int = .max
    ) async throws -> StoredWriteCheckpoint {
        try await pool.write { connection in
            try connection.transaction {
                let stored = try Self.stored(key, clients, connection)
                let id = stored.map { $0.id < .max ? $0.id + 1 : $0.id } ?? 1
                return try Self.set(key, id, head, published, stored, requestedAt: nil, connection)
            }
        }
    }

    /// Takes a write checkpoint that the client named; an id that is not larger than the stored one changes nothing.
    ///
    /// - Parameters:
    ///   - key: User and client.
    ///   - requested: The id, 1 or more.
    ///   - head: The position of the source's log, read before this call.
    ///   - published: The position of the newest checkpoint.
    ///   - clients: How many clients the user may have.
    ///   - time: Seconds since 1970.
    /// - Returns: What is stored now.
    /// - Throws: `SQLiteError`, `TooManyClients`.
    package func requestWriteCheckpoint(
        key: String, requested: Int64, head: LSN, published: LSN, clients: Int = .max, at time: Double
    ) async throws -> StoredWriteCheckpoint {
        let time = Int64(time)
        return try await pool.write { connection in
            try connection.transaction {
                let stored = try Self.stored(key, clients, connection)
                if let stored, requested <= stored.id {
                    try connection.run(
                        "UPDATE write_checkpoint SET requested_at = ? "
                            + "WHERE key = ? AND id = ? AND requested_at IS NOT NULL",
                        [.integer(time), .text(key), .integer(requested)])
                    return stored
                }
                // Where an id was given once, the next one must follow it.
                let wasGiven = stored.map { !$0.isRequested } ?? false
                return try Self.set(
                    key, requested, head, published, stored, requestedAt: wasGiven ? nil : time, connection)
            }
        }
    }

    /// The furthest position that a client waits for; zero if there is none.
    package func furthestHead() async throws -> LSN {
        try await pool.write { connection in
            let furthest = try connection.one("SELECT max(head) FROM write_checkpoint") { $0.int64(0) }
            return Self.lsn(furthest ?? 0)
        }
    }

    /// Lowers heads behind the end of the log: what lay there was lost in a failover or a crash, and does not come.
    ///
    /// - Parameters:
    ///   - furthest: The furthest of them; heads that were read meanwhile may be further.
    ///   - end: Where the log ended.
    /// - Throws: `SQLiteError`.
    package func lowerHeads(upTo furthest: LSN, to end: LSN) async throws {
        try await pool.write { connection in
            try connection.run(
                "UPDATE write_checkpoint SET head = ?1 WHERE head > ?1 AND head <= ?2",
                [Self.value(end), Self.value(furthest)])
        }
    }

    /// What is stored of a client; of one that is new, that there is a place for it.
    private static func stored(
        _ key: String, _ clients: Int, _ connection: SQLiteConnection
    ) throws -> StoredWriteCheckpoint? {
        if let stored = try writeCheckpoint(key: key, connection) { return stored }
        // The user ends where the first "/" stands, behind which "0" comes.
        let user = String(decoding: key.utf8.prefix { $0 != 0x2F }, as: UTF8.self)
        let count = try connection.one(
            "SELECT count(*) FROM (SELECT 1 FROM write_checkpoint WHERE key >= ? AND key < ? LIMIT ?)",
            [.text("\(user)/"), .text("\(user)0"), .integer(Int64(clients))]
        ) { $0.int64(0) }
        guard count ?? 0 < clients else { throw TooManyClients(limit: clients) }
        return nil
    }

    private static func set(
        _ key: String, _ id: Int64, _ head: LSN, _ published: LSN, _ stored: StoredWriteCheckpoint?,
        requestedAt: Int64?, _ connection: SQLiteConnection
    ) throws -> StoredWriteCheckpoint {
        // Heads may arrive in another order than they were read in, and a larger id tells of everything before it.
        let head = max(head, stored?.head ?? .zero)
        // An id that is given again is not reached before its new position is.
        let isReached = stored.map { $0.head <= published && $0.id < id } ?? false
        let taken = StoredWriteCheckpoint(
            id: id, head: head, reached: isReached ? stored?.id : stored?.reached,
            reachedHead: (isReached ? stored?.head : stored?.reachedHead) ?? .zero,
            isRequested: requestedAt != nil)
        try connection.run(
            "INSERT OR REPLACE INTO write_checkpoint(key, id, head, reached, reached_head, requested_at) "
                + "VALUES (?, ?, ?, ?, ?, ?)",
            [
                .text(key), .integer(id), value(head), SQLiteValue(taken.reached), value(taken.reachedHead),
                SQLiteValue(requestedAt),
            ])
        return taken
    }

    /// Deletes ids that clients named long ago and that every stream has been told since (service 10.1), in pieces between
    /// which others write.
    ///
    /// Ids that were given stay: the next one has to follow them.
    ///
    /// - Parameters:
    ///   - time: Since when a client must have named its id for it to stay, in seconds since 1970.
    ///   - published: The position of the newest checkpoint.
    /// - Returns: How many there were.
    /// - Throws: `SQLiteError`.
    package func removeWriteCheckpoints(requestedBefore time: Double, published: LSN) async throws -> Int64 {
        var removed: Int64 = 0
        var last: String? = ""
        while let key = last {
            let piece = try await pool.write { connection in
                try Self.removePiece(behind: key, requestedBefore: time, published: published, connection)
            }
            removed += piece.removed
            last = piece.last
        }
        return removed
    }

    /// Looks at the next clients in the order of their keys, and deletes what is to go of them.
    ///
    /// - Parameters:
    ///   - key: The last one that was looked at; empty at first.
    ///   - clients: How many are looked at.
    ///   - time: As in `removeWriteCheckpoints`.
    ///   - published: As there.
    ///   - connection: The one that writes.
    /// - Returns: How many are deleted, and behind which key the rest lies; nil if there is none.
    /// - Throws: `SQLiteError`.
    package static func removePiece(
        behind key: String, clients: Int64 = 10_000, requestedBefore time: Double, published: LSN,
        _ connection: SQLiteConnection
    ) throws -> (removed: Int64, last: String?) {
        let last = try connection.one(
            "SELECT key FROM write_checkpoint WHERE key > ? ORDER BY key LIMIT 1 OFFSET ?",
            [.text(key), .integer(clients - 1)]
        ) { $0.string(0) }
        // A blob is larger than all texts.
        let end = last.map { SQLiteValue.text($0) } ?? .blob([])
        try connection.run(
            "DELETE FROM write_checkpoint WHERE key > ? AND key <= ? AND requested_at < ? AND head <= ?",
            [.text(key), end, .integer(Int64(time)), value(published)])
        return (connection.changes, last)
    }

    /// What a client may be told at a checkpoint of a stream.
    ///
    /// - Parameters:
    ///   - key: User and client.
    ///   - isCustom: Whether rows of the source set its write checkpoints: then none that it asked for is told.
    ///   - stream: The stream.
    ///   - operation: The last operation of the checkpoint.
    ///   - connection: One that reads.
    /// - Returns: What is stored of the client; nil if there is nothing.
    /// - Throws: `SQLiteError`.
    static func writeCheckpoint(
        key: String, isCustom: Bool, of stream: StreamNumber, at operation: OperationID,
        _ connection: SQLiteConnection
    ) throws -> StoredWriteCheckpoint? {
        guard isCustom else { return try writeCheckpoint(key: key, connection) }
        let id = try CustomWriteCheckpointVersions(connection).newest(of: key, in: stream, upTo: operation)
        // What the checkpoint covers is reached.
        return id.map {
            StoredWriteCheckpoint(id: $0, head: .zero, reached: nil, reachedHead: .zero, isRequested: false)
        }
    }

    /// What is stored of a client; nil if it has asked for none.
    static func writeCheckpoint(
        key: String, _ connection: SQLiteConnection
    ) throws -> StoredWriteCheckpoint? {
        try connection.one(
            "SELECT id, head, reached, reached_head, requested_at FROM write_checkpoint WHERE key = ?",
            [.text(key)]
        ) {
            StoredWriteCheckpoint(
                id: $0.int64(0), head: lsn($0.int64(1)), reached: $0.integer(2),
                reachedHead: lsn($0.int64(3)), isRequested: $0.integer(4) != nil)
        }
    }
}
