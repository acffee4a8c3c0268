import PowerSyncPostgres
import PowerSyncPostgresValues
import PowerSyncSystem

/// The server that each link leads to, so that rows and positions are taken from no other.
///
/// An address can lead to one server now and to another a moment later: to a former primary that still answers, or
/// through a proxy in the midst of a failover. What is read of the one means nothing in the log of the other.
final class LinkedServers: Sendable {
    /// When the server of each link was started: no two were at the same microsecond.
    private let starts = Lock<[String: String]>([:])

    /// Begins a link if both of its connections lead to the same run of the same server, as those of the other links do.
    ///
    /// - Parameters:
    ///   - link: Its name.
    ///   - connection: The connection for statements.
    ///   - replication: The connection for replication.
    /// - Throws: `ReplicationError` of `.otherServer`, `PostgresError`.
    func begin(
        _ link: String, _ connection: PostgresConnection, _ replication: PostgresConnection
    ) async throws {
        guard let start = try await connection.script(Self.question).first?.scalar,
            try await replication.script(Self.question).first?.scalar == start
        else { throw Self.otherServer }
        let isSame = starts.withLock { starts in
            guard starts.allSatisfy({ $0.key == link || $0.value == start }) else { return false }
            starts[link] = start
            return true
        }
        guard isSame else { throw Self.otherServer }
    }

    /// Ends a link: until it begins again any server may be asked.
    func end(_ link: String) { starts.withLock { $0[link] = nil } }

    /// The position of the log now, on a connection that is none of a link's.
    ///
    /// - Parameter connection: The connection; it is closed if it leads to another server than the links do.
    /// - Returns: The position.
    /// - Throws: `ReplicationError` of `.otherServer`, `PostgresError`.
    func position(_ connection: PostgresConnection) async throws -> LSN {
        let position = try await SourceCatalog.position(connection)
        let start = try await connection.query(Self.question).scalar ?? ""
        let linked = starts.withLock { Set($0.values) }
        guard linked.isEmpty || linked.contains(start) else {
            await connection.close()
            throw Self.otherServer
        }
        return position
    }

    private static let question = "SELECT pg_postmaster_start_time()"

    /// The address leads to another server than it did.
    static let otherServer = ReplicationError(
        .otherServer,
        "The address of the source leads to different servers, or to one that has just been started again. Of several "
            + "primaries one alone may answer.")
}
