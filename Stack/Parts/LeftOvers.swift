import PowerSyncPostgres
import PowerSyncSystem

/// Drops what killed runs left on a server: inactive slots and databases with a name of ours.
enum LeftOvers {
    /// Looks through the server and drops what belongs to no living run.
    ///
    /// - Parameters:
    ///   - uri: any database of the server.
    ///   - poller: the poller of the program.
    /// - Returns: the names of what was dropped.
    /// - Throws: `PostgresError`.
    static func drop(uri: String, poller: Poller) async throws -> [String] {
        try await PostgresConnection.with(uri, poller: poller) { connection in
            try await drop(uri: uri, poller: poller, connection)
        }
    }

    private static func drop(
        uri: String, poller: Poller, _ connection: PostgresConnection
    ) async throws -> [String] {
        let living = Set(
            try await texts(
                connection,
                "SELECT DISTINCT application_name FROM pg_stat_activity WHERE application_name LIKE $1",
                [OwnedNames.applicationPrefix + "%"]))
        let isLeft = { (name: String) in
            OwnedNames(reading: name).map { !living.contains($0.applicationName) } ?? false
        }
        var dropped: [String] = []
        let slots = try await connection.query(
            "SELECT slot_name, database FROM pg_replication_slots WHERE NOT active AND starts_with(slot_name, $1)",
            [OwnedNames.prefix])
        for row in 0..<slots.rowCount {
            guard let slot = slots[row, 0], let database = slots[row, 1], isLeft(slot) else { continue }
            try await dropSlot(slot, in: database, uri: uri, poller: poller)
            dropped.append(slot)
        }
        let databases = try await texts(
            connection, "SELECT datname FROM pg_database WHERE starts_with(datname, $1)", [OwnedNames.prefix])
        for database in databases where isLeft(database) {
            _ = try await connection.script(
                "DROP DATABASE IF EXISTS \(quoteIdentifier(database)) WITH (FORCE)")
            dropped.append(database)
        }
        return dropped
    }

    /// Drops one slot if it is still there and inactive; a logical slot is dropped from its own database.
    static func dropSlot(_ slot: String, in database: String, uri: String, poller: Poller) async throws {
        let own = try PostgresURI.replacingDatabase(of: uri, with: database)
        _ = try await PostgresConnection.with(own, poller: poller) { owner in
            try await owner.query(
                """
                SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
                WHERE slot_name = $1 AND NOT active
                """, [slot])
        }
    }

    private static func texts(
        _ connection: PostgresConnection, _ sql: String, _ parameters: [String?]
    ) async throws -> [String] {
        let result = try await connection.query(sql, parameters)
        return (0..<result.rowCount).compactMap { result[$0, 0] }
    }
}
