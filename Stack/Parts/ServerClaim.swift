import PowerSyncPostgres
import PowerSyncSystem

/// A connection whose name tells every run on the server that this one lives (`OwnedNames`).
///
/// It is looked after: lost by a restart of the server or by the network, that is noticed within three seconds, and it
/// is made again as soon as the server takes connections. `LeftOvers` waits for longer before it drops anything: a run
/// that cannot connect for ten seconds has lost what it had there.
final class ServerClaim: Sendable {
    private static let interval = Duration.seconds(1)
    private static let retry = Duration.milliseconds(250)
    /// A peer that has vanished without a word is noticed after some seconds (libpq, "Connection Control Functions").
    private static let liveness = [
        "keepalives_idle": "1", "keepalives_interval": "1", "keepalives_count": "2",
        "tcp_user_timeout": "2000",
    ]

    private let keeper: Task<Void, Never>

    /// Makes the claim.
    ///
    /// - Parameters:
    ///   - uri: any database of the server.
    ///   - name: the `application_name`.
    ///   - poller: the poller of the program.
    /// - Returns: the claim, which holds until `release`.
    /// - Throws: `PostgresError` if the server cannot be reached now.
    static func make(_ uri: String, name: String, poller: Poller) async throws -> ServerClaim {
        let first = try await connect(uri, name, poller, within: .seconds(60))
        return ServerClaim(
            Task {
                var connection = first
                while !Task.isCancelled {
                    do {
                        try await poller.sleep(until: .now + interval)
                        _ = try await connection.query("SELECT")
                    } catch {
                        await connection.close()
                        if let again = await reconnect(uri, name, poller) { connection = again }
                    }
                }
                await connection.close()
            })
    }

    private init(_ keeper: Task<Void, Never>) { self.keeper = keeper }

    /// Gives the claim up.
    func release() async {
        keeper.cancel()
        await keeper.value
    }

    deinit { keeper.cancel() }

    /// Tries until it succeeds; nil once the claim is given up.
    private static func reconnect(_ uri: String, _ name: String, _ poller: Poller) async
        -> PostgresConnection?
    {
        while !Task.isCancelled {
            // Whatever is wrong with the server, the parts' own errors say it.
            if let connection = try? await connect(uri, name, poller, within: .seconds(3)) {
                return connection
            }
            if (try? await poller.sleep(until: .now + retry)) == nil { break }
        }
        return nil
    }

    private static func connect(
        _ uri: String, _ name: String, _ poller: Poller, within deadline: Duration
    ) async throws -> PostgresConnection {
        try await PostgresConnection.connect(
            uri, parameters: liveness.merging(["application_name": name]) { $1 }, poller: poller,
            deadline: deadline)
    }
}
