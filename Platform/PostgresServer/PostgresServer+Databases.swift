import PowerSyncPostgres
import PowerSyncSystem

extension PostgresServer {
    /// No network is in the way, so that only a machine that stands still needs longer than a moment.
    private static let connectDeadline = Duration.seconds(60)

    /// Makes an empty database and returns its URI.
    ///
    /// Its files are copied: through the log, which is the way of Postgres 15 and newer unless told otherwise, it takes twice
    /// the time, and every reader of a replication slot passes over megabytes of it.
    @discardableResult
    package func createDatabase(_ name: String, poller: Poller) async throws -> String {
        let connection = try await PostgresConnection.connect(
            uri(), poller: poller, deadline: Self.connectDeadline)
        let way = await connection.serverVersion >= 150_000 ? " STRATEGY file_copy" : ""
        try await connection.script("CREATE DATABASE \(quoteIdentifier(name))\(way)")
        await connection.close()
        return uri(database: name)
    }

    /// Removes a database with its replication slots, ending the sessions that use them; nothing if it is not there.
    package func dropDatabase(_ name: String, poller: Poller) async throws {
        let connection = try await PostgresConnection.connect(
            uri(), poller: poller, deadline: Self.connectDeadline)
        try await connection.query(
            """
            SELECT pg_terminate_backend(active_pid, 5000) FROM pg_replication_slots
            WHERE database = $1 AND active_pid IS NOT NULL
            """, [name])
        try await connection.query(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = $1", [name]
        )
        try await connection.script("DROP DATABASE IF EXISTS \(quoteIdentifier(name)) WITH (FORCE)")
        await connection.close()
    }
}
