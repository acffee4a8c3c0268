import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine

/// Compares the source with what the state was made from, at each start and each link.
package struct SourceCheck {
    let source: SourceDatabase
    let store: ServiceStore
    /// Is told of heads that are lowered; nil as long as there are no streams.
    var publisher: Publisher?

    /// Asks the source who it is and where it stands, and notes that if the state is new or goes on.
    ///
    /// - Parameter replication: A connection for replication.
    /// - Returns: Whether the state is one of this source.
    /// - Throws: `ReplicationError` of `.standby` or `.otherServer`, which say nothing of the state; `PostgresError`,
    ///   `SQLiteError`.
    func isOurs(_ replication: PostgresConnection) async throws -> Bool {
        // Before the position of now, which then lies behind them if both are of one log: a former configuration that is
        // served meanwhile stores on.
        let head = try await store.furthestHead()
        let furthest = try await store.furthestLSN()
        let known = try await store.source()
        let (now, position) = try await identity(replication)
        guard let known else {
            try await store.note(now)
            return true
        }
        var history = ""
        if now.timeline > known.timeline {
            let found = try await replication.script("TIMELINE_HISTORY \(now.timeline)").first
            history = found?[0, "content"] ?? ""
        }
        if now.continues(known, upTo: furthest, position: position, history: history) {
            // Another link may have found a promoted server meanwhile.
            guard try await store.note(now, hasCrashed: now.countersSince != known.countersSince) else {
                throw LinkedServers.otherServer
            }
            if head > position {
                try await store.lowerHeads(upTo: head, to: position)
                publisher?.lowerHeads(upTo: head, to: position)
            }
            return true
        }
        guard try await !store.isReplicated() else { return false }
        try await store.note(now, isOther: true)
        return true
    }

    /// Refuses a standby: what it has is behind what is known, and it has none of the slots.
    ///
    /// - Parameter connection: A connection to it.
    /// - Returns: Where the log ends.
    /// - Throws: `ReplicationError` of `.standby`, `PostgresError`.
    @discardableResult
    package static func position(_ connection: PostgresConnection) async throws -> LSN {
        let text = try await connection.script(
            "SELECT CASE WHEN NOT pg_is_in_recovery() THEN pg_current_wal_insert_lsn() END"
        ).first?.scalar
        guard let position = text.flatMap({ LSN(text: $0) }) else {
            throw ReplicationError(
                .standby,
                "The server is a standby, or has not recovered yet: replication needs the primary. If the address names "
                    + "several servers, add target_session_attrs=read-write.")
        }
        return position
    }

    private func identity(
        _ replication: PostgresConnection
    ) async throws -> (source: SourceIdentity, position: LSN) {
        let position = try await Self.position(replication)
        let system = try await replication.script("IDENTIFY_SYSTEM").first
        let rest = try await replication.script(
            "SELECT oid, coalesce((SELECT stats_reset::text FROM pg_stat_bgwriter), '') "
                + "FROM pg_database WHERE datname = current_database()"
        ).first
        guard let systemID = system?[0, "systemid"],
            let timeline = system?[0, "timeline"].flatMap({ Int64($0) }),
            let oid = rest?[0, 0].flatMap({ Int64($0) }), let countersSince = rest?[0, 1]
        else { throw ReplicationError(.unexpected, "IDENTIFY_SYSTEM gave no identity.") }
        let source = SourceIdentity(
            systemID: systemID, timeline: timeline, databaseOID: oid, address: self.source.address,
            countersSince: countersSince)
        return (source, position)
    }
}

extension SourceDatabase {
    /// The configuration's words for the database, hashed and without user and password.
    package var address: String {
        var words = uri
        if let start = words.firstRange(of: "://")?.upperBound {
            let authority = words[start...].prefix { $0 != "/" && $0 != "?" }
            if let at = authority.lastIndex(of: "@") { words.removeSubrange(start...at) }
        }
        return Hexadecimal.encode(Digest.sha256(Array(words.utf8)))
    }
}
