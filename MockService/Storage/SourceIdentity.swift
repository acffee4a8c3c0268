import PowerSyncPostgres
import PowerSyncSQLite

/// Which database a state was made from.
///
/// Rows, positions of the log and write checkpoints mean nothing with any other: not with another database of the same
/// cluster, nor with a cluster that took the place of a former one.
package struct SourceIdentity: Sendable, Hashable {
    /// What `initdb` drew for the cluster.
    package let systemID: String
    /// The timeline of its log, which grows by one with each promotion or recovery to a point in time.
    package let timeline: Int64
    /// The id of the database in the cluster.
    package let databaseOID: Int64
    /// The configuration's words for it, hashed and without user and password.
    package let address: String

    /// Makes an identity of its parts.
    package init(systemID: String, timeline: Int64, databaseOID: Int64, address: String) {
        self.systemID = systemID
        self.timeline = timeline
        self.databaseOID = databaseOID
        self.address = address
    }

    /// Whether a state of `known` is one of this source.
    ///
    /// - Parameters:
    ///   - known: What the state was made from.
    ///   - hasSlot: Whether a slot of the state lives on the source: then its log goes on, also on a later timeline.
    /// - Returns: Whether the state may be served and go on.
    package func continues(_ known: SourceIdentity, hasSlot: Bool) -> Bool {
        guard systemID == known.systemID, databaseOID == known.databaseOID else { return false }
        return timeline == known.timeline || (timeline > known.timeline && hasSlot)
    }
}

extension ServiceStore {
    /// What the state was made from; nil for a new one.
    package func source() async throws -> SourceIdentity? {
        try await pool.read { connection in
            try connection.one("SELECT system_id, timeline, database_oid, address FROM source") { row in
                SourceIdentity(
                    systemID: row.string(0), timeline: row.int64(1), databaseOID: row.int64(2),
                    address: row.string(3))
            }
        }
    }

    /// The furthest position of the source's log that anything here is of.
    package func furthestLSN() async throws -> LSN {
        try await pool.read { connection in
            try connection.query("SELECT applied_lsn, checkpoint_lsn FROM replication_stream") { row in
                max(Self.lsn(row.int64(0)), Self.lsn(row.int64(1)))
            }.max() ?? .zero
        }
    }

    /// Notes what the state is made from.
    package func note(_ source: SourceIdentity) async throws {
        try await pool.write { connection in
            try connection.run(
                "INSERT OR REPLACE INTO source(one, system_id, timeline, database_oid, address) VALUES (1, ?, ?, ?, ?)",
                [
                    .text(source.systemID), .integer(source.timeline), .integer(source.databaseOID),
                    .text(source.address),
                ])
        }
    }
}
