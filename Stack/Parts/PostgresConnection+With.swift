import PowerSyncPostgres
import PowerSyncSystem

extension PostgresConnection {
    /// Connects, gives the connection to `body` and closes it, however `body` ends.
    ///
    /// A server that has just been started may take long on a machine that is busy.
    @discardableResult
    package static func with<Result: Sendable>(
        _ uri: String, parameters: [String: String] = [:], poller: Poller,
        _ body: (PostgresConnection) async throws -> Result
    ) async throws -> Result {
        let connection = try await connect(
            uri, parameters: parameters, poller: poller, deadline: .seconds(60))
        do {
            let result = try await body(connection)
            await connection.close()
            return result
        } catch {
            await connection.close()
            throw error
        }
    }
}
