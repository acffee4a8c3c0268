import PowerSyncPostgres

/// The settings that decide what a value means and how long a statement may take (backend 2.4, 8.2).
///
/// They are asked for when a connection is made, and said again in each transaction: a pooler may drop what was asked for,
/// and one in transaction mode hands out another connection each time.
package struct SessionSettings: Sendable, Hashable {
    private let names: [String]
    private let values: [String]
    private let sql: String
    private let parameters: PostgresParameters

    /// Makes the settings of limits.
    ///
    /// The schema `public` stays visible because the triggers of applications count on it. Behind `pg_catalog` it hides
    /// nothing, but a function for exactly the types of a call is taken before one for any type, wherever it lies: of those
    /// the backend's own statements name the schema.
    ///
    /// - Parameters:
    ///   - statementTimeout: how long a statement may take.
    ///   - lockTimeout: how long a statement may wait for a lock.
    package init(statementTimeout: Duration, lockTimeout: Duration) {
        let settings: KeyValuePairs = [
            "TimeZone": "UTC", "DateStyle": "ISO,MDY", "IntervalStyle": "iso_8601",
            "extra_float_digits": "1", "array_nulls": "on",
            "standard_conforming_strings": "on", "search_path": "pg_catalog,public,pg_temp",
            "synchronous_commit": "on", "statement_timeout": String(statementTimeout.milliseconds),
            "lock_timeout": String(lockTimeout.milliseconds),
            "idle_in_transaction_session_timeout": "15000",
        ]
        names = settings.map(\.key)
        values = settings.map(\.value)
        let calls = (names + ["client_encoding"]).enumerated().map { index, name in
            "pg_catalog.set_config('\(name)', $\(index + 1)::text, true)"
        }
        sql = "SELECT " + calls.joined(separator: ", ")
        parameters = PostgresParameters(values + ["UTF8"])
    }

    /// What asks for them when a connection is made.
    var options: String { zip(names, values).map { "-c \($0)=\($1)" }.joined(separator: " ") }

    /// The statement that sets them for the rest of its transaction, the client's encoding besides.
    ///
    /// The values are parameters, so that a connection that prepares statements parses and plans it once.
    var statement: PostgresStatement { PostgresStatement(sql, parameters, keepsRows: false) }

    /// Which of them a connection does not have.
    ///
    /// - Parameter connection: outside a transaction.
    /// - Returns: the names, in order.
    /// - Throws: `PostgresError`, `CancellationError`.
    func missing(on connection: PostgresConnection) async throws -> [String] {
        let set = try await connection.query(
            """
            SELECT s.name FROM pg_catalog.pg_settings s
            JOIN unnest($1::text[], $2::text[]) AS e(name, setting) ON e.name = s.name
            WHERE pg_catalog.replace(s.setting, ' ', '') <> e.setting ORDER BY s.name
            """, [arrayLiteral(names), arrayLiteral(values)])
        return set.firstColumn
    }
}
