import PowerSyncCrypto
import PowerSyncPostgres

/// Compares the source with what the state was made from.
struct SourceCheck {
    let source: SourceDatabase
    let store: ServiceStore

    /// Asks the source who it is, and notes that if the state is new or goes on.
    ///
    /// - Parameter replication: A connection for replication.
    /// - Returns: Whether the state is one of this source.
    /// - Throws: `PostgresError`, `SQLiteError`.
    func isOurs(_ replication: PostgresConnection) async throws -> Bool {
        let now = try await identity(replication)
        if let known = try await store.source() {
            var hasSlot = false
            if known.timeline != now.source.timeline {
                let names = try await store.slots().map { quoteLiteral($0) }.joined(separator: ", ")
                let living = try await replication.script(
                    "SELECT count(*) FROM pg_replication_slots WHERE slot_name IN (\(names.isEmpty ? "''" : names)) "
                        + "AND database = current_database()")
                hasSlot = living.first?[0, 0] != "0"
            }
            guard now.source.continues(known, hasSlot: hasSlot) else { return false }
            // A volume or a machine that was set back has the same identity and the same slot, and a log that ends before
            // what is known: what it writes from now on would be taken for what was applied long ago.
            guard try await store.furthestLSN() <= now.position else { return false }
        }
        try await store.note(now.source)
        return true
    }

    private func identity(
        _ replication: PostgresConnection
    ) async throws -> (source: SourceIdentity, position: LSN) {
        let system = try await replication.script("IDENTIFY_SYSTEM").first
        let database = try await replication.script(
            "SELECT oid FROM pg_database WHERE datname = current_database()"
        ).first
        guard let systemID = system?[0, "systemid"],
            let timeline = system?[0, "timeline"].flatMap({ Int64($0) }),
            let position = system?[0, "xlogpos"].flatMap({ LSN(text: $0) }),
            let oid = database?[0, 0].flatMap({ Int64($0) })
        else { throw ReplicationError(.unexpected, "IDENTIFY_SYSTEM gave no identity.") }
        let source = SourceIdentity(
            systemID: systemID, timeline: timeline, databaseOID: oid, address: self.source.address)
        return (source, position)
    }
}

extension SourceDatabase {
    /// The configuration's words for the database, hashed and without user and password.
    var address: String {
        var words = uri
        if let start = words.firstRange(of: "://")?.upperBound {
            let authority = words[start...].prefix { $0 != "/" && $0 != "?" }
            if let at = authority.lastIndex(of: "@") { words.removeSubrange(start...at) }
        }
        return Hexadecimal.encode(Digest.sha256(Array(words.utf8)))
    }
}
