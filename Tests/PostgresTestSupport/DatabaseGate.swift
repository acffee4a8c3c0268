import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport
import Testing

/// Holds sessions of a database until the test opens it, and tells when they have come.
///
/// Who comes is certainly on the server and in the middle of its statement, which the client's end cannot tell.
package struct DatabaseGate: Sendable {
    /// What a statement or a trigger calls to come to the gate; the lock ends with its transaction.
    package static let passage = "pg_advisory_xact_lock_shared(7)"

    private let connection: PostgresConnection
    private let key: Int

    /// Closes the gate of a database; it opens at the latest with the last reference.
    ///
    /// - Parameters:
    ///   - uri: The database.
    ///   - poller: Watches the connection that holds the gate.
    ///   - key: The advisory lock that holds up, below 2³², if not that of `passage`.
    /// - Throws: `PostgresError`.
    package init(_ uri: String, _ poller: Poller, key: Int = 7) async throws {
        self.key = key
        connection = try await PostgresConnection.connect(uri, poller: poller)
        try await connection.query("SELECT pg_advisory_lock($1::bigint)", [String(key)])
    }

    /// Waits until so many sessions are held.
    package func waitForArrivals(
        _ count: Int = 1, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await wait(
            for: "\(count) sessions at the gate", sourceLocation: sourceLocation,
            read: {
                try await connection.query(
                    """
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
                        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                    """, [String(key)]
                ).scalar
            }, until: { $0 == String(count) })
    }

    /// Lets everybody through, those who wait and those who come later.
    package func open() async throws {
        try await connection.query("SELECT pg_advisory_unlock_all()")
        await connection.close()
    }
}
