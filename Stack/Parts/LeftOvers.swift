import PowerSyncPostgres
import PowerSyncSystem

/// Drops what killed runs left on a server: slots and databases with a name of ours.
///
/// Nothing is dropped that is in use, and nothing whose run lives: its claim must be missing for the whole of `grace`,
/// in which a living run that lost its connection has made it again (`ServerClaim`).
enum LeftOvers {
    /// How long a run's claim must be missing.
    static let grace = Duration.seconds(10)
    /// How long to wait for sessions that a killed run left behind, which the server notices by itself.
    private static let patience = Duration.seconds(15)
    /// How long between two looks.
    private static let pause = Duration.milliseconds(250)

    /// A slot or database of a run, by its name.
    private struct Item: Hashable {
        let name: String
        /// The database of a slot; nil for a database.
        let slotDatabase: String?
        /// Whether a slot is; of a database only dropping it tells, since other roles' sessions are not shown.
        let isInUse: Bool
    }

    /// Looks through the server and drops what belongs to no living run.
    ///
    /// - Parameters:
    ///   - uri: any database of the server.
    ///   - poller: the poller of the program.
    ///   - warn: gets what could not be dropped, and why.
    /// - Returns: the names of what was dropped.
    /// - Throws: `PostgresError`.
    @discardableResult
    static func drop(
        uri: String, poller: Poller, warn: @Sendable (String) -> Void
    ) async throws -> [String] {
        try await PostgresConnection.with(uri, poller: poller) { connection in
            var left = try await ownerless(connection)
            if left.isEmpty { return [] }
            warn(
                "an earlier run may have left \(left.map(\.name).joined(separator: ", ")) on the server: waiting "
                    + "\(grace.components.seconds) s to see whether it lives")
            // Counted in pauses: while a machine stands still, as with its lid closed, nobody makes a claim or leaves.
            var waited = Duration.zero
            while true {
                // What is claimed once is left alone for good.
                let names = Set(left.map(\.name))
                left = try await ownerless(connection).filter { names.contains($0.name) }
                let isSettled = !left.contains(where: \.isInUse)
                if left.isEmpty || (waited >= grace && isSettled) || waited >= patience { break }
                try await poller.sleep(until: .now + pause)
                waited += pause
            }
            var dropped: [String] = []
            // Slots first: a database is not dropped while it has slots in use.
            for item in left.sorted(by: { $0.slotDatabase != nil && $1.slotDatabase == nil }) {
                do {
                    if try await drop(item, connection, uri: uri, poller: poller) {
                        dropped.append(item.name)
                        continue
                    }
                } catch let error as PostgresError where error.sqlstate != "55006" {
                    // What another role owns stays, which is no reason not to start.
                    warn("\(item.name), which an earlier run left on the server, cannot be dropped: \(error)")
                    continue
                } catch is PostgresError {
                    // object_in_use, told below.
                }
                warn("\(item.name), which an earlier run left on the server, is still in use and stays")
            }
            return dropped
        }
    }

    /// What carries a name of ours whose run has no claim at this moment.
    private static func ownerless(_ connection: PostgresConnection) async throws -> [Item] {
        let result = try await connection.query(
            """
            SELECT slot_name, database, active FROM pg_replication_slots WHERE starts_with(slot_name, $1)
            UNION ALL
            SELECT datname, NULL, NULL FROM pg_database WHERE starts_with(datname, $1)
            """, [OwnedNames.prefix])
        let claims = try await connection.query(
            "SELECT DISTINCT application_name FROM pg_stat_activity WHERE starts_with(application_name, $1)",
            [OwnedNames.applicationPrefix])
        let living = Set((0..<claims.rowCount).compactMap { claims[$0, 0] })
        return (0..<result.rowCount).compactMap { row in
            guard let name = result[row, 0], let owner = OwnedNames(reading: name),
                !living.contains(owner.applicationName)
            else { return nil }
            let slotDatabase = result[row, 1]
            // A database of ours has nothing behind the token: with more it is a copy that somebody made.
            guard slotDatabase != nil || name == owner.database else { return nil }
            return Item(name: name, slotDatabase: slotDatabase, isInUse: result[row, 2] == "t")
        }
    }

    /// Drops one item; false if somebody uses it.
    private static func drop(
        _ item: Item, _ connection: PostgresConnection, uri: String, poller: Poller
    ) async throws -> Bool {
        guard let database = item.slotDatabase else {
            _ = try await connection.script("DROP DATABASE IF EXISTS \(quoteIdentifier(item.name))")
            return true
        }
        if item.isInUse { return false }
        // A logical slot is dropped from its own database, which may be anybody's: in the text of the connection its name
        // could lead the user's password elsewhere, and its search_path could lead to functions of its owner.
        return try await PostgresConnection.with(uri, parameters: ["dbname": database], poller: poller) {
            owner in
            try await owner.query(
                """
                SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots
                WHERE slot_name OPERATOR(pg_catalog.=) $1 AND NOT active
                """, [item.name]
            ).rowCount > 0
        }
    }
}
