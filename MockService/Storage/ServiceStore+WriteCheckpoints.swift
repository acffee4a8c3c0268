import PowerSyncPostgres
import PowerSyncSQLite

extension ServiceStore {
    /// Takes the next write checkpoint of a client (service 1.8).
    ///
    /// - Parameters:
    ///   - key: User and client.
    ///   - head: The position of the source's log, read before this call.
    ///   - published: The position of the newest checkpoint.
    /// - Returns: The id: 1 at first, then one more than the last, whatever happened in between. There is none behind
    ///   9223372036854775807, which a client may have named: it is given again, for the new position.
    /// - Throws: `SQLiteError`.
    package func nextWriteCheckpoint(key: String, head: LSN, published: LSN) async throws -> Int64 {
        try await setWriteCheckpoint(key: key, requested: nil, head: head, published: published)
    }

    /// Takes a write checkpoint that the client named; an id that is not larger than the stored one changes
    /// nothing.
    ///
    /// - Parameters:
    ///   - key: User and client.
    ///   - requested: The id, 1 or more.
    ///   - head: The position of the source's log, read before this call.
    ///   - published: The position of the newest checkpoint.
    /// - Returns: The stored id.
    /// - Throws: `SQLiteError`.
    package func requestWriteCheckpoint(
        key: String, requested: Int64, head: LSN, published: LSN
    ) async throws -> Int64 {
        try await setWriteCheckpoint(key: key, requested: requested, head: head, published: published)
    }

    private func setWriteCheckpoint(
        key: String, requested: Int64?, head: LSN, published: LSN
    ) async throws -> Int64 {
        try await pool.write { connection in
            try connection.transaction {
                let stored = try connection.one(
                    "SELECT id, head, reached FROM write_checkpoint WHERE key = ?", [.text(key)]
                ) { (id: $0.int64(0), head: Self.lsn($0.int64(1)), reached: $0.integer(2)) }
                let last = stored?.id ?? 0
                if let requested, requested <= last { return last }
                let id = requested ?? (last < .max ? last + 1 : last)
                // An id that is given again is not reached before its new position is.
                let reached = stored.flatMap { $0.head <= published && $0.id < id ? $0.id : $0.reached }
                try connection.run(
                    "INSERT OR REPLACE INTO write_checkpoint(key, id, head, reached) VALUES (?, ?, ?, ?)",
                    [.text(key), .integer(id), Self.value(head), SQLiteValue(reached)])
                return id
            }
        }
    }

    /// The newest write checkpoint of a client that a checkpoint includes; nil if there is none.
    package func writeCheckpoint(key: String, at lsn: LSN) async throws -> Int64? {
        try await pool.read { connection in
            try connection.one("SELECT id, head, reached FROM write_checkpoint WHERE key = ?", [.text(key)]) {
                row in
                Self.lsn(row.int64(1)) <= lsn ? row.int64(0) : row.integer(2)
            } ?? nil
        }
    }
}
