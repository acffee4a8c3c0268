import PowerSyncPostgresValues
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
    /// Since when it counts what it does, in its words: it begins anew after each crash.
    package let countersSince: String

    /// Makes an identity of its parts.
    package init(
        systemID: String, timeline: Int64, databaseOID: Int64, address: String, countersSince: String = ""
    ) {
        self.systemID = systemID
        self.timeline = timeline
        self.databaseOID = databaseOID
        self.address = address
        self.countersSince = countersSince
    }

    /// Whether a state of `known` is one of this source.
    ///
    /// A volume or a machine that was set back has the same identity and a log that ends before what is known; a standby
    /// that took the place of its primary may have branched off before that. What such a source writes from now on would be
    /// taken for what was applied long ago.
    ///
    /// - Parameters:
    ///   - known: What the state was made from.
    ///   - furthest: The furthest position of the log that anything in the state is of.
    ///   - position: Where the log of this source ends.
    ///   - history: Where earlier timelines ended, as Postgres spells it; needed on another timeline than the known one.
    /// - Returns: Whether the state may be served and go on.
    package func continues(
        _ known: SourceIdentity, upTo furthest: LSN, position: LSN, history: String = ""
    ) -> Bool {
        guard systemID == known.systemID, databaseOID == known.databaseOID, furthest <= position else {
            return false
        }
        if timeline == known.timeline { return true }
        let ends = history.split(whereSeparator: \.isNewline).compactMap { line -> LSN? in
            let fields = line.split(whereSeparator: \.isWhitespace)
            guard fields.count >= 2, Int64(fields[0]) == known.timeline else { return nil }
            return LSN(text: fields[1])
        }
        return ends.contains { furthest <= $0 }
    }
}

extension ServiceStore {
    /// What the state was made from; nil for a new one.
    package func source() async throws -> SourceIdentity? {
        try await pool.write { connection in
            try connection.one(
                "SELECT system_id, timeline, database_oid, address, counters_since FROM source"
            ) { row in
                SourceIdentity(
                    systemID: row.string(0), timeline: row.int64(1), databaseOID: row.int64(2),
                    address: row.string(3), countersSince: row.string(4))
            }
        }
    }

    /// The furthest position of the source's log that anything here is of, be it told by the log or read from tables.
    ///
    /// A transaction of which a part is stored is of a log that goes beyond the beginning of its commit.
    package func furthestLSN() async throws -> LSN {
        try await pool.write { connection in
            let furthest = try connection.one(
                "SELECT max(max(applied_lsn, partial_lsn + 1, checkpoint_lsn, no_checkpoint_before)) "
                    + "FROM replication_stream"
            ) { $0.int64(0) }
            return Self.lsn(furthest ?? 0)
        }
    }

    /// Whether anything was made from the source yet, other than slots.
    package func isReplicated() async throws -> Bool {
        try await pool.write { connection in
            try connection.one("SELECT 1 FROM replication_stream WHERE state <> 'stopped' LIMIT 1") { _ in
                true
            } ?? false
        }
    }

    /// Notes what the state is made from.
    ///
    /// - Parameters:
    ///   - source: What it is.
    ///   - hasCrashed: Whether it has crashed since it was noted last: what was read of a table that is not finished may
    ///     never have been, so the table is read anew.
    ///   - isOther: Whether it is another one, and the slots of the state are none of it.
    /// - Returns: Whether it was noted; one that goes on is not if a later timeline of it is known.
    /// - Throws: `SQLiteError`.
    @discardableResult
    package func note(
        _ source: SourceIdentity, hasCrashed: Bool = false, isOther: Bool = false
    ) async throws -> Bool {
        try await pool.write { connection in
            try connection.transaction {
                let known = try connection.one("SELECT timeline FROM source") { $0.int64(0) }
                guard isOther || known ?? 0 <= source.timeline else { return false }
                if hasCrashed {
                    // No table has this identity.
                    try connection.run(
                        "UPDATE source_table SET identity = 'unfinished' "
                            + "WHERE snapshot_done = 0 AND seen IS NOT NULL")
                }
                if isOther { try connection.run("UPDATE replication_stream SET slot = ''") }
                try connection.run(
                    "INSERT OR REPLACE INTO source(one, system_id, timeline, database_oid, address, counters_since) "
                        + "VALUES (1, ?, ?, ?, ?, ?)",
                    [
                        .text(source.systemID), .integer(source.timeline), .integer(source.databaseOID),
                        .text(source.address), .text(source.countersSince),
                    ])
                return true
            }
        }
    }
}
