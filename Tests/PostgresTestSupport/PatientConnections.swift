import PowerSyncPostgres
import PowerSyncSystem
import PowerSyncTestSupport

extension PostgresConnection {
    /// Connects with the deadline of everything that tests wait for, where a test names none.
    ///
    /// A machine that stands still does not connect within the ten seconds of production, nor does it stop within five what
    /// a cancelled call has left behind.
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
        let connection = try await connect(
            uri, parameters: parameters, poller: poller, deadline: TestOptions.deadline)
        await connection.setRecoveryTime(TestOptions.deadline)
        return connection
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

extension PostgresPool.Limits {
    /// Limits with that deadline in place of every time of production.
    ///
    /// - Parameter size: Connections at most.
    /// - Returns: The limits.
    package static func patient(size: Int) -> Self {
        var limits = Self(
            size: size, acquireTimeout: TestOptions.deadline, connectTimeout: TestOptions.deadline)
        limits.rollbackTimeout = TestOptions.deadline
        return limits
    }
}
