import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport

extension PostgresConnection {
    /// Connects with the deadline of everything that tests wait for, where a test names none.
    ///
    /// A machine that stands still does not connect within the ten seconds of production.
    ///
    /// - Parameters:
    ///   - uri: As for `connect(_:parameters:addresses:poller:deadline:)`.
    ///   - parameters: Likewise.
    ///   - poller: Likewise.
    /// - Returns: The connection.
    /// - Throws: `PostgresError` or `CancellationError`.
    package static func connect(
        _ uri: String, parameters: [String: String], poller: Poller
    ) async throws -> PostgresConnection {
        try await connect(uri, parameters: parameters, poller: poller, deadline: TestOptions.deadline)
    }

    /// Connects with that deadline and without further parameters.
    ///
    /// - Parameters:
    ///   - uri: As for `connect(_:parameters:addresses:poller:deadline:)`.
    ///   - poller: Likewise.
    /// - Returns: The connection.
    /// - Throws: `PostgresError` or `CancellationError`.
    package static func connect(_ uri: String, poller: Poller) async throws -> PostgresConnection {
        try await connect(uri, parameters: [:], poller: poller)
    }
}
