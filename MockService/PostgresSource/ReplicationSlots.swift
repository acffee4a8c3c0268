import PowerSyncCrypto
import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncServiceEngine
import PowerSyncSystem

/// Names, finds and drops replication slots (service 7.2).
package enum ReplicationSlots {
    /// What a slot is good for.
    enum State: Equatable {
        case missing
        /// It is being made, or whoever made it has gone: nothing is kept for it yet.
        case unfinished
        /// It goes on behind a position: what lies before was confirmed to be stored.
        case usable(LSN)
        /// Postgres has given up what it had to keep; the reason in its words.
        case lost(String)
    }

    /// A name that hardly another slot has: prefix, stream number and four random digits.
    static func name(prefix: String, stream: StreamNumber) -> String {
        "\(prefix)\(stream)_\(Hexadecimal.encode(randomBytes(2)))"
    }

    static func state(of slot: String, _ connection: PostgresConnection) async throws -> State {
        let version = await connection.serverVersion
        let status = version >= 130_000 ? "wal_status" : "NULL"
        let reason = version >= 170_000 ? "invalidation_reason" : "NULL"
        let result = try await connection.query(
            "SELECT \(status), \(reason), confirmed_flush_lsn FROM pg_replication_slots "
                + "WHERE slot_name = $1 AND database = current_database() AND plugin = 'pgoutput'", [slot])
        guard result.rowCount == 1 else { return .missing }
        if result[0, 0] == "lost" { return .lost(result[0, 1] ?? "wal_removed") }
        return result[0, 2].flatMap { LSN(text: $0) }.map { .usable($0) } ?? .unfinished
    }

    /// Makes a slot that goes on where another does, which waits for nobody (version 12 and later).
    ///
    /// - Parameters:
    ///   - slot: The other one.
    ///   - name: The name of the new one.
    ///   - connection: A connection to the database.
    /// - Returns: Where it begins.
    /// - Throws: `PostgresError`.
    static func copy(_ slot: String, as name: String, _ connection: PostgresConnection) async throws -> LSN {
        let text = try await connection.query(
            "SELECT lsn FROM pg_copy_logical_replication_slot($1, $2)", [slot, name]
        ).scalar
        guard let lsn = text.flatMap({ LSN(text: $0) }) else {
            throw ReplicationError(.unexpected, "pg_copy_logical_replication_slot() gave no position.")
        }
        return lsn
    }

    /// Ends whoever uses a slot of ours and drops it, so that one of the name can be made.
    ///
    /// - Parameters:
    ///   - slot: Its name; it may be missing.
    ///   - connection: A connection to the database.
    ///   - patience: How long the one who uses it may take to end.
    /// - Throws: `PostgresError`.
    static func clear(
        _ slot: String, _ connection: PostgresConnection, within patience: Duration
    ) async throws {
        let end = ContinuousClock.now + patience
        while try await state(of: slot, connection) != .missing {
            try await endSession(of: slot, connection)
            try await drop(slot, connection)
            guard ContinuousClock.now < end else {
                throw PostgresError(
                    .timedOut, "replication slot \(slot) is in use and its session does not end")
            }
            try await connection.query("SELECT pg_sleep(0.02)")
        }
    }

    /// What a slot costs, and how far it is behind (service 1.10); what the server does not know is nil.
    package struct Usage: Sendable, Equatable {
        /// Bytes of the log behind what was confirmed.
        package let lag: Int64?
        /// What has become of the log that it needs, in a word of Postgres.
        package let status: String?
        /// Bytes that can still be written before it may lose that.
        package let safeSize: Int64?
        /// Bytes that are kept for it at most.
        package let limit: Int64?
    }

    /// What a slot costs; nil if it is not there.
    package static func usage(of slot: String, _ connection: PostgresConnection) async throws -> Usage? {
        let columns = await connection.serverVersion >= 130_000 ? "wal_status, safe_wal_size" : "NULL, NULL"
        let found = try await connection.query(
            """
            SELECT CASE WHEN NOT pg_is_in_recovery() THEN
                greatest(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn), 0)::bigint END, \(columns),
                (SELECT setting::bigint * 1048576 FROM pg_settings
                    WHERE name = 'max_slot_wal_keep_size' AND setting <> '-1')
            FROM pg_replication_slots WHERE slot_name = $1 AND database = current_database()
            """, [slot])
        guard found.rowCount == 1 else { return nil }
        return Usage(
            lag: found[0, 0].flatMap { Int64($0) }, status: found[0, 1],
            safeSize: found[0, 2].flatMap { Int64($0) }, limit: found[0, 3].flatMap { Int64($0) })
    }

    /// A slot that begins as ours do and is in nobody's use, and what it costs.
    struct Stray: Sendable, Equatable {
        let name: String
        /// The log that Postgres keeps for it, in words such as `16 MB`.
        let keeps: String
    }

    /// The slots of this database that begin with a prefix, are not in use and are none of these.
    static func strays(
        prefix: String, except known: [String], _ connection: PostgresConnection
    ) async throws -> [Stray] {
        let found = try await connection.query(
            "SELECT slot_name, coalesce(pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn)), 'nothing') "
                + "FROM pg_replication_slots WHERE NOT active AND database = current_database() "
                + "AND starts_with(slot_name, $1) ORDER BY slot_name", [prefix])
        return (0..<found.rowCount).compactMap { row in
            found[row, 0].map { Stray(name: $0, keeps: found[row, 1] ?? "") }
        }.filter { !known.contains($0.name) }
    }

    /// The session that uses a slot; nil if none does.
    static func session(of slot: String, _ connection: PostgresConnection) async throws -> Int32? {
        try await connection.query(
            "SELECT active_pid FROM pg_replication_slots WHERE slot_name = $1 AND active", [slot]
        ).scalar.flatMap { Int32($0) }
    }

    /// Ends the session that uses a slot of ours: the one of a link that was lost and is not noticed there yet.
    static func endSession(of slot: String, _ connection: PostgresConnection) async throws {
        try await connection.query(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = $1 AND active",
            [slot])
    }

    /// What the making of a slot waits for: the oldest transaction, in words; nil if there is none.
    static func oldestTransaction(_ connection: PostgresConnection) async throws -> String? {
        let found = try await connection.query(
            """
            SELECT who || ', open for ' || date_trunc('second', clock_timestamp() - since) || CASE WHEN event = 'SyncRep'
                THEN ', whose commit waits for a synchronous standby: bring it back, or empty synchronous_standby_names'
                ELSE '' END FROM (
                SELECT 'process ' || pid AS who, xact_start AS since, wait_event AS event FROM pg_stat_activity
                WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
                UNION ALL SELECT 'the prepared transaction ' || quote_literal(gid), prepared, ''
                FROM pg_prepared_xacts
            ) waiting ORDER BY since LIMIT 1
            """)
        return found.rowCount > 0 ? found[0, 0] : nil
    }

    /// Drops a slot that nobody is using; one that is missing is fine.
    static func drop(_ slot: String, _ connection: PostgresConnection) async throws {
        try await connection.query(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1 AND NOT active",
            [slot])
    }

    /// Drops the slots of a database whose names begin with a prefix and that nobody is using.
    ///
    /// For whoever throws a service's state away: a slot that stays behind makes Postgres keep its log for
    /// ever.
    ///
    /// - Parameters:
    ///   - uri: The database.
    ///   - prefix: What the names begin with.
    ///   - poller: Waits for the server.
    /// - Returns: The names that were dropped.
    /// - Throws: `PostgresError`.
    package static func dropInactive(
        uri: String, prefix: String = "powersync_", poller: Poller
    ) async throws -> [String] {
        let connection = try await PostgresConnection.connect(uri, poller: poller)
        do {
            let found = try await connection.query(
                "SELECT slot_name FROM pg_replication_slots WHERE NOT active AND database = current_database() "
                    + "AND starts_with(slot_name, $1)", [prefix])
            let names = (0..<found.rowCount).compactMap { found[$0, 0] }
            for name in names { try await drop(name, connection) }
            await connection.close()
            return names
        } catch {
            await connection.close()
            throw error
        }
    }
}
